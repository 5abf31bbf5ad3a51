from __future__ import annotations

from greymatch.report.figures import style
from greymatch.report.leads import leads


def plate_of(evaluation):
    with style():
        return leads(evaluation)


def test_every_forecast_has_a_line_and_every_state_a_panel(make) -> None:
    evaluation = make(states=("a", "b", "c", "d"))
    plate = plate_of(evaluation)
    headings = [panel.heading for panel in plate.panels]
    assert headings == ["RMSE of a", "RMSE of b", "RMSE of c", "Coverage of the 90 % bands"]
    assert [key.label for key in plate.legend] == ["vgb-dm (the model)", "hold", "zero"]
    for key in plate.legend:
        assert key.colour.lower() in plate.panels[0].svg.lower()
    assert "first 3 of 4 states" in plate.caption


def test_a_single_draw_has_no_coverage(make) -> None:
    assert [panel.heading for panel in plate_of(make(draws=1)).panels] == ["RMSE of angle"]


def test_infinite_errors_are_told(make) -> None:
    assert "infinite (vgb-dm)" in plate_of(make(failed=30)).caption
