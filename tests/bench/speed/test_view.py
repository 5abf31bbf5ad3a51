from __future__ import annotations

from pathlib import Path

from greymatch.bench.speed.reaching import Reached
from greymatch.bench.speed.suite import Found
from greymatch.bench.speed.timing import Curve, Measured
from greymatch.bench.speed.view import view
from greymatch.bench.view import write_sheets

FAST = Measured(
    "training", "spring", "windows / s", 100, [1.0, 1.0, 2.0], [6.0, 7.0, 8.0], "a loop", goal=6.0, note="so"
)
SLOW = Measured("start-up", "compiling", "s", 1, [7.0], most=5.0)
FOUND = Found(
    [FAST, SLOW],
    [Curve("draws", [1, 2, 4], [1.0, 1.5, 2.25], 1.0), Curve("states", [1, 2], [1.0, 4.0])],
)
REACHED = [Reached("lorenz", 0.468, 3, [7.0, 9.0])]


def test_rates_stand_beside_the_ratio_and_its_spread() -> None:
    first, second = view(FOUND).sheets["speed"].rows
    assert (first["ours"], first["plain"], first["ratio"], first["spread"]) == (100.0, 100 / 7, 6.0, "4.00 to 7.00")
    assert (first["goal"], first["reached"]) == (6.0, "yes")
    assert (second["ours"], second["ratio"], second["goal"], second["reached"]) == (7.0, None, "at most 5 s", "no")


def test_slopes_are_judged_where_cost_should_stay_in_proportion() -> None:
    rows = view(FOUND).sheets["scaling"].rows
    assert [row.get("reached") for row in rows] == [None, None, "yes", None, ""]


def test_everything_is_written(tmp_path: Path) -> None:
    written = write_sheets("speed", view(FOUND, REACHED), tmp_path, {"command": "greymatch bench speed"})
    assert {path.name for path in written.files} == {
        "speed.json", "speed.md", "speed.csv", "speed-scaling.csv", "speed-errors.csv", "speed.png",
    }  # fmt: skip
    assert written.content["errors"][0]["reached"] == "2 of 3"
    assert "training, spring: so." in written.content["notes"]
    assert "slope" in (tmp_path / "speed.md").read_text()
