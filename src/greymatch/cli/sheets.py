"""A sheet of results on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from greymatch.bench.sheet import Sheet


def shown(sheet: Sheet) -> Table:
    """With rows that hold something bold, unless all do, as bold rows."""
    from rich.table import Table

    table = Table(title=sheet.title, title_justify="left")
    for place, head in enumerate(sheet.heads.values()):
        table.add_column(head, justify="left" if place < 2 else "right", no_wrap=not place)
    bold = {row for row, _ in sheet.bold}
    for row in range(len(sheet.rows)):
        table.add_row(*sheet.cells(row), style="bold" if row in bold and len(bold) < len(sheet.rows) else "")
    return table
