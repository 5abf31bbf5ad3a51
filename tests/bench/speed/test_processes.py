from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from greymatch.bench.speed import maps
from greymatch.bench.speed import processes as module
from greymatch.bench.speed.processes import COUNT, FIELD, paced, processes
from greymatch.bench.speed.sizes import Sizes
from greymatch.errors import GreymatchError
from greymatch.training.launch import Ended


def test_both_numbers_of_processes_take_their_steps(tiny: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def launch(words: Sequence[str], count: int, folder: Path) -> Ended:
        """In this process; how several of them train together is tested with `fit`."""
        asked.append(count)
        exec(words[1])
        return Ended([0] * count, None, None)

    monkeypatch.setattr(module, "launch", launch)
    monkeypatch.setattr(module, "TRAJECTORIES", 2)
    monkeypatch.setattr(module, "WARM", 0)
    (found,) = processes(tiny, [FIELD])
    assert asked == [COUNT, 1]
    assert f"{COUNT} processes" in found.case
    assert min(*found.ours, *found.plain) > 0


def test_a_process_that_fell_is_told_of(tiny: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "launch", lambda *_: Ended([0, 3], 1, None))
    with pytest.raises(GreymatchError, match="process 2 of 2 ended with code 3"):
        list(processes(tiny))


def test_maps_of_nothing_set_the_pace_of_the_weather_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WARM", 0)
    monkeypatch.setattr(maps, "LATITUDES", 16)
    monkeypatch.setattr(maps, "LONGITUDES", 32)
    paced("weather", 1, str(tmp_path / "took.json"))
    assert json.loads((tmp_path / "took.json").read_text()) > 0
