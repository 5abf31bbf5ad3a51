from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.stored import StoredForecast
from greymatch.forecast.streaming import JOURNAL, Journal, stream
from greymatch.models import solving
from greymatch.models.greybox import GreyBox
from greymatch.models.solving import Block, Solved


@pytest.fixture
def history(known: Any) -> Trajectories:
    data = known[1]
    return data.until(float(data.times[0, 20]))


@pytest.fixture
def times(history: Trajectories) -> list[float]:
    end = float(history.times[history.times.isfinite()].max())
    return [end + step for step in (0.1, 0.2, 0.5)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few members, so that there are several."""
    monkeypatch.setattr(solving, "MEMBERS_AT_ONCE", 7)


def same(one: Forecast, other: Forecast) -> None:
    xr.testing.assert_identical(one.to_dataset(), other.to_dataset())


@pytest.mark.usefixtures("few")
def test_what_is_streamed_is_the_forecast(asked: GreyBox, history, times, tmp_path: Path) -> None:
    wanted = asked.forecast(history, times, draws=5, seed=3)
    stored = asked.forecast(history, times, draws=5, seed=3, out=tmp_path / "f.zarr")
    assert (stored.draws, len(stored), stored.failed) == (5, len(history), wanted.failed)
    same(stored.read(), wanted)
    same(Forecast.read(tmp_path / "f.zarr"), wanted)
    assert torch.equal(stored.first(2).draws, wanted.draws[:, :2])
    assert [path.name for path in tmp_path.iterdir()] == ["f.zarr"]


@pytest.mark.usefixtures("few")
def test_a_stopped_stream_goes_on_and_solves_nothing_twice(
    asked: GreyBox, history, times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, solved = tmp_path / "f.zarr", list[Block]()
    wanted = asked.forecast(history, times, draws=5)
    usual = solving.Solving.block

    def block(self: solving.Solving, which: Block) -> Solved:
        if len(solved) == 2:
            solved.append(which)
            raise KeyboardInterrupt
        solved.append(which)
        return usual(self, which)

    monkeypatch.setattr(solving.Solving, "block", block)
    with pytest.raises(KeyboardInterrupt):
        asked.forecast(history, times, draws=5, out=out)
    assert not out.exists()
    with pytest.raises(GreymatchError, match="is of another model, history or times"):
        asked.forecast(history, times, draws=5, seed=1, out=out, resume=True)
    stored = asked.forecast(history, times, draws=5, out=out, resume=True)
    assert solved[3] == solved[2]  # the one that was stopped is the only one done again
    assert len(set(map(str, solved))) == len(solved) - 1
    same(stored.read(), wanted)


def test_what_is_complete_is_not_made_again_and_a_new_one_replaces_it(
    asked: GreyBox, history, times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "f.zarr"
    first = asked.forecast(history, times, draws=2, out=out)
    monkeypatch.setattr(solving.Solving, "block", None)
    assert asked.forecast(history, times, draws=2, out=out, resume=True) == first
    monkeypatch.undo()
    assert asked.forecast(history, times, draws=3, out=out).draws == 3


def test_memory_does_not_grow_with_the_number_of_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = [_peak(draws, tmp_path / f"{draws}.zarr", monkeypatch) for draws in (20, 200)]
    whole = 200 * 50 * 100 * 4
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < whole / 2


def _peak(draws: int, out: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes in use while so many draws of 50 trajectories at 100 times are streamed, 10 draws at a time."""

    class Cheap:
        """Members that need no solver."""

        shape = (10, 50)

        def __init__(self) -> None:
            self.draws = draws

        def blocks(self) -> list[Block]:
            return [Block(slice(first, first + 10), slice(0, 50)) for first in range(0, draws, 10)]

        def block(self, which: Block) -> Solved:
            values = torch.from_numpy(np.full((10, 50, 100, 1), float(which.draws.start), dtype=np.float32))
            return Solved(values, torch.zeros(10, 50, dtype=torch.long))

    times = torch.arange(100, dtype=torch.float64).repeat(50, 1)
    labels = {"times": times, "start": torch.zeros(50), "states": ("x",), "labels": np.arange(50)}
    tracemalloc.start()
    try:
        stored = stream(Cheap(), labels, "cheap", out, False)  # pyright: ignore[reportArgumentType]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(stored, StoredForecast)
    assert float(stored.dataset()["x"][draws - 1, 49, 99]) == draws - 10
    return peak


def test_a_line_that_was_cut_short_counts_for_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / JOURNAL)
    journal.begin("a")
    journal.add(4)
    with journal.path.open("a") as file:
        file.write("12")
    assert journal.read() == ("a", {4})
    assert json.loads(journal.path.read_text().splitlines()[0]) == "a"


@pytest.mark.parametrize(
    ("name", "told"), [("f.nc", "must end in .zarr"), ("no/f.zarr", "folder that exists"), ("x.zarr", "something else")]
)
def test_a_place_that_will_not_do_is_refused(
    asked: GreyBox, history, times, tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(GreymatchError, match=told):
        asked.forecast(history, times, out=tmp_path / name)


def test_blocks_of_another_size_do_not_go_on_with_a_store(
    asked: GreyBox, history, times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, put = tmp_path / "f.zarr", Journal.add

    def stopped(self: Journal, number: int) -> None:
        put(self, number)
        raise KeyboardInterrupt

    with monkeypatch.context() as few:
        few.setattr(solving, "MEMBERS_AT_ONCE", 7)
        few.setattr(Journal, "add", stopped)
        with pytest.raises(KeyboardInterrupt):
            asked.forecast(history, times, draws=5, out=out)
    with pytest.raises(GreymatchError):
        asked.forecast(history, times, draws=5, out=out, resume=True)
