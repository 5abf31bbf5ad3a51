"""`greymatch weather`: archives of weather, fetched or simulated, and models that learn from them."""

from __future__ import annotations

import typer

from greymatch.cli.weather import bench, evaluate, fetch, forecast, monthly, report, simulate, train

app = typer.Typer(no_args_is_help=True, help="Weather on the globe: archives, models, forecasts and scores.")
for module in (fetch, simulate, train, forecast, evaluate, report, bench, monthly):
    app.command(module.__name__.rpartition(".")[2], epilog=module.EXAMPLE)(module.command)

__all__ = ["app"]
