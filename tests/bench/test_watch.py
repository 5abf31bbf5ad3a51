from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from greymatch.bench.plan import Run
from greymatch.bench.watch import Bars, Lines, number, standing

RUN = Run("pendulum", "gb-dm", 0, {"training.steps": 200, "training.minutes": 1.0})
RESULT = {"scores": {"mse": 1.5e-3}}


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.0, "0"), (1.234e-3, "1.23e-03"), (0.1234, "0.123"), (12.34, "12.3")]
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


def test_standing_is_the_part_of_the_budget_used(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert standing(RUN, path) == (0.0, "starting")
    lines = [{"step": 10, "elapsed": 6.0, "forecast_mse": 0.5}, {"step": 150, "elapsed": 30.0}]
    path.write_text("\n".join(json.dumps(line) for line in lines) + '\n{"step": 160, "ela')
    assert standing(RUN, path) == (0.75, "forecast MSE 0.5")
    path.write_text(json.dumps({"step": 10, "elapsed": 54.0}) + "\n")
    assert standing(RUN, path) == (0.9, "training")


def test_lines_tell_starts_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Lines()
    watch.begin(3, 1)
    watch.started(RUN)
    watch.ended(RUN, RESULT)
    watch.ended(RUN, None)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "3 runs, 1 of them already there"
    assert told[2].startswith("[2/3] pendulum-gb-dm-0: forecast MSE 1.50e-03")
    assert told[3].startswith("[3/3] pendulum-gb-dm-0: failed")


def test_bars_show_each_run_while_it_lasts(tmp_path: Path) -> None:
    console = Console(force_terminal=True, width=100, record=True, file=(tmp_path / "screen").open("w"))
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 100, "elapsed": 1.0}) + "\n")
    watch = Bars(console)
    watch.begin(1, 0)
    watch.started(RUN)
    watch.tick([(RUN, tmp_path)])
    watch.ended(RUN, RESULT)
    watch.close()
    assert "pendulum-gb-dm-0: forecast MSE 1.50e-03" in console.export_text()
    console.file.close()
