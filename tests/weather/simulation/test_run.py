from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("dinosaur")

from greymatch.errors import GreymatchError
from greymatch.weather.fields import FIELDS
from greymatch.weather.read import read
from greymatch.weather.simulation import run
from greymatch.weather.simulation.run import Recipe, simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
RECIPE = Recipe(seed=1, spin_up=2)
BOTH = ("wb1", "wb2")


def silent(year: int, day: int, days: int) -> None:
    return None


@pytest.fixture(autouse=True)
def years_of_two_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "days_in", lambda year: 2)


def test_both_layouts_are_written_and_labelled(tmp_path: Path) -> None:
    assert simulate(tmp_path, range(2016, 2018), BOTH, RECIPE, silent) == [2016, 2017]
    one, other = (read(place, fields=list(FIELDS)) for place in (tmp_path, tmp_path / run.STORE))
    assert one.simulated
    assert other.simulated
    assert [str(time)[:10] for time in one.times[[0, 8]]] == ["2016-01-01", "2017-01-01"]
    for name in FIELDS:
        np.testing.assert_array_equal(one.fields[name].values, other.fields[name].values)
    np.testing.assert_allclose(one.constants["land"].values, other.constants["land"].values)


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, halting = tmp_path / "whole", tmp_path / "halting"
    simulate(whole, range(2016, 2019), BOTH, RECIPE, silent)

    def stop(year: int, day: int, days: int) -> None:
        if (year, day) == (2017, 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(halting, range(2016, 2019), BOTH, RECIPE, stop)
    assert simulate(halting, range(2016, 2019), BOTH, RECIPE, silent) == [2017, 2018]
    assert simulate(halting, range(2016, 2019), BOTH, RECIPE, silent) == []
    for place in ("", run.STORE):
        np.testing.assert_array_equal(
            read(whole / place).fields["z500"].values, read(halting / place).fields["z500"].values
        )


def test_the_other_layout_can_follow_later(tmp_path: Path) -> None:
    simulate(tmp_path, range(2016, 2018), ["wb1"], RECIPE, silent)
    assert simulate(tmp_path, range(2016, 2018), BOTH, RECIPE, silent) == [2016, 2017]
    one, other = read(tmp_path), read(tmp_path / run.STORE)
    np.testing.assert_array_equal(one.fields["t2m"].values, other.fields["t2m"].values)


def test_another_recipe_needs_another_folder(tmp_path: Path) -> None:
    simulate(tmp_path, [2016], ["wb1"], RECIPE, silent)
    with pytest.raises(GreymatchError, match="holds another simulation"):
        simulate(tmp_path, [2016, 2017], ["wb1"], Recipe(seed=2, spin_up=2), silent)
