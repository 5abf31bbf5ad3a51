from __future__ import annotations

import re

import pytest

from greymatch.report.chosen import spread_over_errors
from greymatch.report.fans import fans
from greymatch.report.figures import style


def plate_of(evaluation, count=2):
    with style():
        return fans(evaluation, spread_over_errors(evaluation, count))


def test_a_fan_shows_the_state_with_its_unit_and_bands(make) -> None:
    plate = plate_of(make(units={"angle": "rad", "time": "s"}))
    assert len(plate.panels) == 2
    for text in ("angle (rad)", "time (s)", "minus truth"):
        assert f">{text}<" in plate.panels[0].svg
    labels = [key.label for key in plate.legend]
    assert labels[-2:] == ["50 % band", "90 % band"]


def test_one_panel_holds_up_to_three_states(make) -> None:
    plate = plate_of(make(states=("a", "b", "c", "d")), 1)
    shown = re.findall(r">([abcd])</text>", plate.panels[0].svg)
    assert shown == ["a", "b", "c"]
    assert "first 3 of 4 states" in plate.caption


def test_a_single_draw_has_no_bands(make) -> None:
    plate = plate_of(make(draws=1), 1)
    assert "90 % band" not in [key.label for key in plate.legend]


@pytest.mark.parametrize("case", [{"ragged": True}, {"failed": 30}, {"trajectories": 1}, {"noise": 1e6}])
def test_odd_forecasts_can_be_drawn(make, case) -> None:
    plate = plate_of(make(**case), 6)
    assert len(plate.panels) == min(6, case.get("trajectories", 9))
    assert all("nan" not in panel.svg for panel in plate.panels)
