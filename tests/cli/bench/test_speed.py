from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench.speed import sizes, starting


def test_what_was_measured_is_shown_and_written(greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "QUICK", sizes.Sizes(turns=1, rows=1000))
    done = greymatch("bench", "speed", "--parts", "reading", "--quick", "--out", tmp_path, "--json")
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "quick" / "speed.json").read_text()) == done.json
    assert [row["case"] for row in done.json["speed"]] == ["csv, 1000 rows", "parquet, 1000 rows"]
    assert done.json["parts"].keys() == {"reading"}
    assert done.json["parts"]["reading"]["sizes"]["rows"] == 1000
    assert {"command", "machine", "commit"} <= done.json["parts"]["reading"].keys()


def test_parts_may_be_measured_one_by_one(greymatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "WHOLE", sizes.Sizes(turns=1, rows=1000, starts=1))
    monkeypatch.setattr(starting, "FIRST", 'print(\'{"until": 1.0, "first": 0.2, "later": 0.1}\')')
    monkeypatch.setattr(starting, "spent", lambda words: float(len(words)))
    for part in ("reading", "start-up"):
        done = greymatch("bench", "speed", "--parts", part, "--out", tmp_path, "--json")
        assert done.code == 0, done.err
    assert done.json["parts"].keys() == {"reading", "start-up"}
    assert [row["part"] for row in done.json["speed"]] == 2 * ["reading"] + 4 * ["start-up"]


def test_an_unknown_part_is_wrong_input(greymatch, tmp_path: Path) -> None:
    done = greymatch("bench", "speed", "--parts", "cooking", "--out", tmp_path)
    assert done.code == 2
    assert "cooking" in done.err
