from __future__ import annotations

from dataclasses import replace

import torch

from greymatch.diagnostics.verdict import Verdict
from greymatch.report.figures import style
from greymatch.report.trust import Trust, trust


def of(evaluation) -> Trust:
    with style():
        return trust(evaluation)


def narrowed(evaluation, factor: float):
    """Truths drawn like the draws, which then are pulled together."""
    forecast = evaluation.forecast
    draws = torch.randn(forecast.draws.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    truth = torch.randn(forecast.draws.shape[1:], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    values = torch.cat([evaluation.test.values[:, :8], truth], 1)
    return replace(
        evaluation,
        test=replace(evaluation.test, values=values),
        forecast=replace(forecast, draws=factor * draws),
    )


def test_narrow_bands_are_told_in_words_and_figures(make) -> None:
    evaluation = narrowed(make(trajectories=40), 0.5)
    found = of(evaluation)
    finding = next(one for one in found.findings if one.name == "forecast of angle")
    assert finding.bad
    assert finding.text.startswith("Over-confident: intervals of 90 % hold")
    row = next(row for row in found.table.rows if row.name == "forecast of angle")
    share = evaluation.calibration().forecasts["angle"].at(0.9)
    assert row.cells[0] == Verdict.OVER_CONFIDENT
    assert row.cells[3] == f"{100 * share:.0f} %"


def test_honest_bands_do_not_stand_out(make) -> None:
    found = of(narrowed(make(trajectories=40), 1.0))
    finding = next(one for one in found.findings if one.name == "forecast of angle")
    assert not finding.bad
    assert finding.text.startswith("Honest")


def test_every_kind_of_picture_for_every_quantity(make) -> None:
    found = of(make(states=("a", "b", "c", "d")))
    quantities = ["omega", "forecast of a", "forecast of b", "forecast of c", "forecast of all"]
    for plate in found.plates[:3]:
        assert [panel.heading for panel in plate.panels] == quantities
        assert plate.caption
    assert [panel.heading for panel in found.plates[3].panels] == [
        "Coverage by lead time",
        "Spread and error by lead time",
    ]
    assert [finding.name for finding in found.findings] == quantities


def test_the_parameter_is_drawn_as_it_is(make) -> None:
    """The intervals of omega lie half a standard deviation too high, and hold less than they should."""
    evaluation = make(trajectories=60)
    found = of(evaluation)
    share = evaluation.calibration().parameters["omega"].at(0.9)
    assert found.plates[0].panels[0].remark == f"90 % intervals hold {100 * share:.0f} %"
    assert "pull to one side" in found.findings[0].text


def test_a_single_draw_has_words_and_no_pictures(make) -> None:
    found = of(make(draws=1, known=False))
    assert found.plates == ()
    assert [finding.text for finding in found.findings] == ["A single draw has no spread, so nothing can be told."]
    assert "–" in found.table.rows[0].cells


def test_a_black_box_and_members_that_failed(make) -> None:
    found = of(make(method="vbb-dm", failed=30, ragged=True))
    assert [finding.name for finding in found.findings] == ["forecast of angle"]
    assert len(found.plates) == 4
