from __future__ import annotations

from greymatch.bench.speed.reading import reading, recordings
from greymatch.bench.speed.sizes import Sizes


def test_both_kinds_of_tables_are_read(tiny: Sizes) -> None:
    found = list(reading(tiny))
    assert [one.case for one in found] == ["csv, 2000 rows", "parquet, 2000 rows"]
    assert all(one.amount == 2000 and len(one.ratios) == tiny.turns for one in found)


def test_recordings_have_a_thousand_points_each() -> None:
    assert recordings(3000).groupby("id").size().tolist() == [1000] * 3
