"""A table of a benchmark: for people as Markdown, for programs as CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from greymatch.bench.summary import Result, Summary, by_system_and_method
from greymatch.bench.watch import number

Cell = str | int | float | bool | None | Summary
Row = dict[str, Cell]


@dataclass(frozen=True)
class Sheet:
    """Rows of named cells. `heads` are the columns that people see, by key; programs get all of them.

    `bold` are (row, key) of cells to stand out, `marks` texts that follow a cell.
    """

    title: str
    heads: Mapping[str, str]
    rows: Sequence[Mapping[str, Cell]]
    bold: frozenset[tuple[int, str]] = frozenset()
    marks: Mapping[tuple[int, str], str] = field(default_factory=dict)

    def cells(self, row: int) -> list[str]:
        """What people read in a row."""
        return [text(self.rows[row].get(key)) + self.marks.get((row, key), "") for key in self.heads]

    def markdown(self) -> str:
        lines = [list(self.heads.values()), ["---"] * len(self.heads)]
        lines += [
            [
                f"**{cell}**" if (i, key) in self.bold else cell
                for key, cell in zip(self.heads, self.cells(i), strict=True)
            ]
            for i in range(len(self.rows))
        ]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def comma_separated(self) -> str:
        """Every digit; mean and standard deviation in columns of their own."""
        flat = [_flat(row) for row in self.rows]
        columns = list(dict.fromkeys(key for row in flat for key in row))
        out = io.StringIO()
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        return out.getvalue()

    def plain(self) -> list[dict[str, Any]]:
        return [
            {key: asdict(cell) if isinstance(cell, Summary) else cell for key, cell in row.items()} for row in self.rows
        ]


def per_method(results: Sequence[Result], cells: Callable[[str, str, list[Result]], Row]) -> list[Row]:
    """A row for each system and method: whose it is, from how many runs, and what `cells` makes of them."""
    return [
        {"system": system, "method": method, "seeds": len(runs), **cells(system, method, runs)}
        for system, method, runs in by_system_and_method(results)
    ]


def text(cell: Cell) -> str:
    if isinstance(cell, Summary):
        return cell.text()
    if isinstance(cell, bool):
        return "yes" if cell else ""
    if isinstance(cell, float):
        return number(cell)
    return "" if cell is None else str(cell)


def _flat(row: Mapping[str, Cell]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, cell in row.items():
        flat |= {key: cell.mean, f"{key}_std": cell.std} if isinstance(cell, Summary) else {key: cell}
    return flat
