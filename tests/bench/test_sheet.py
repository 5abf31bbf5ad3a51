from __future__ import annotations

import csv
import io

from greymatch.bench.sheet import Sheet
from greymatch.bench.summary import Summary

SHEET = Sheet(
    "A title",
    {"name": "Name", "error": "Error", "flag": ""},
    [
        {"name": "one", "error": Summary(0.1 + 0.2, 0.5, 2), "flag": True, "more": 7},
        {"name": "two", "error": Summary(None), "flag": False},
    ],
    frozenset({(0, "error")}),
    {(1, "name"): " ≈"},
)


def test_markdown_has_a_cell_under_every_head_and_marks_what_stands_out() -> None:
    lines = SHEET.markdown().splitlines()
    assert lines[0] == "| Name | Error |  |"
    assert lines[2] == "| one | **0.3 ± 0.5** | yes |"
    assert lines[3] == "| two ≈ | – |  |"


def test_csv_keeps_every_digit_and_every_column() -> None:
    first, second = csv.DictReader(io.StringIO(SHEET.comma_separated()))
    assert float(first["error"]) == 0.1 + 0.2
    assert (first["error_std"], first["more"], second["error"], second["more"]) == ("0.5", "7", "", "")


def test_plain_is_for_json() -> None:
    assert SHEET.plain()[0]["error"] == {"mean": 0.1 + 0.2, "std": 0.5, "count": 2}
