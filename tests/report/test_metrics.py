from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.errors import GreymatchError
from greymatch.report.metrics import read_metrics, series


def test_a_line_cut_short_by_a_crash_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "elapsed": 0.5, "total": NaN}\n\n{"step": 2, "elapsed": 1.0, "forecast_mse": 3}\n{"st')
    records = read_metrics(path)
    assert [record["step"] for record in records] == [1, 2]
    assert [part.tolist() for part in series(records, "forecast_mse")] == [[1.0], [3.0]]
    assert len(series(records, "absent")[0]) == 0


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match=r"`metrics` .*gone\.jsonl"):
        read_metrics(tmp_path / "gone.jsonl")
