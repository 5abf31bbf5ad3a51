from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from typer.testing import CliRunner

from greymatch.cli.spread import spread


@dataclass(frozen=True)
class Inner:
    unit: Annotated[str | None, typer.Option(help="Its unit.")] = None


@dataclass(frozen=True)
class Outer:
    name: Annotated[str | None, typer.Option("--called")] = None
    inner: Inner = field(default_factory=Inner)


def test_fields_of_records_are_options():
    got: list[Any] = []

    def command(outer: Outer, count: int = 1) -> None:
        """What it does."""
        got.append((outer, count))

    app = typer.Typer()
    app.command()(spread(command))
    result = CliRunner().invoke(app, ["--called", "a", "--unit", "m", "--count", "3"])
    assert result.exit_code == 0, result.output
    assert got == [(Outer("a", Inner("m")), 3)]
    said = CliRunner().invoke(app, ["--help"]).output
    assert "What it does." in said
    assert "Its unit." in said
