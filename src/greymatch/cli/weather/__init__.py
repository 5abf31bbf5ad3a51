"""`greymatch weather`: archives of weather, fetched or simulated."""

from __future__ import annotations

import typer

from greymatch.cli.weather import fetch, simulate

app = typer.Typer(no_args_is_help=True, help="Weather on the globe: archives to learn from.")
for module in (fetch, simulate):
    app.command(module.__name__.rpartition(".")[2], epilog=module.EXAMPLE)(module.command)

__all__ = ["app"]
