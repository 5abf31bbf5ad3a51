from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from greymatch.training.progress import Bar, Lines, Moment, Silent, meter


def moment(**changes: object) -> Moment:
    values = {
        "step": 120,
        "fraction": 0.25,
        "elapsed": 30.0,
        "rate": 41.7,
        "terms": {"total": 12.345, "matching": 1e-7},
        "validation": 0.00123,
        "validated": True,
    }
    return Moment(**(values | changes))  # pyright: ignore[reportArgumentType]


def test_the_time_left_goes_by_the_part_of_the_budget_used():
    assert moment().left == pytest.approx(90.0)
    assert moment(fraction=1.0).left == 0.0
    assert math.isnan(moment(fraction=0.0).left)


def test_a_line_says_where_the_run_stands():
    line = moment().line()
    for part in (
        "step    120",
        " 25 %",
        "42 steps/s",
        "1:30 left",
        "total 12.3",
        "matching 1e-07",
        "forecast MSE 1.230e-03",
    ):
        assert part in line
    assert "MSE" not in moment(validation=None).line()
    assert "--:-- left" in moment(fraction=0.0).line()


def test_lines_are_written_at_validations_only_and_to_standard_error(capsys: pytest.CaptureFixture[str]):
    lines = Lines()
    lines.show(moment(validated=False))
    lines.show(moment())
    lines.say("stopped")
    lines.close()
    out, error = capsys.readouterr()
    assert out == ""
    assert error.splitlines() == [moment().line(), "stopped"]


def test_silent_says_nothing(capsys: pytest.CaptureFixture[str]):
    silent = Silent()
    silent.show(moment())
    silent.say("stopped")
    silent.close()
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_rate_time_left_and_terms():
    screen = io.StringIO()
    bar = Bar(Console(file=screen, force_terminal=True, width=160, color_system=None))
    bar.show(moment())
    bar.say("kept")
    bar.close()
    bar.close()  # a second time does no harm
    shown = screen.getvalue()
    for part in ("25 %", "42", "1:30 left", "loss 12", "forecast MSE 1.2e-03", "kept"):
        assert part in shown


def test_the_meter_suits_its_surroundings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert isinstance(meter(quiet=True), Silent)
    assert isinstance(meter(), Lines), "standard error is no terminal under test"
    monkeypatch.setenv("FORCE_COLOR", "1")
    bar = meter()
    bar.close()
    assert isinstance(bar, Bar)
