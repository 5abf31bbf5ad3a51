from __future__ import annotations

from pathlib import Path

from greymatch.bench.speed.kept import keep, kept
from greymatch.bench.speed.suite import Found
from greymatch.bench.speed.timing import Curve, Measured

FAST = Measured("training", "spring", "windows / s", 100, [1.0, 2.0], [6.0, 7.0], "a loop", goal=6.0, note="so")


def test_parts_come_back_as_they_were_in_the_order_of_the_suite(tmp_path: Path) -> None:
    curve = Curve("draws", [1, 2], [0.5, 1.0], 1.0)
    keep(tmp_path, "scaling", Found(curves=[curve]), {"command": "c"})
    keep(tmp_path, "training", Found(measured=[FAST]), {"command": "a"})
    found, about = kept(tmp_path)
    assert found == Found([FAST], [curve])
    assert list(about.items()) == [("training", {"command": "a"}), ("scaling", {"command": "c"})]


def test_nothing_measured_is_nothing_found(tmp_path: Path) -> None:
    assert kept(tmp_path) == (Found(), {})
