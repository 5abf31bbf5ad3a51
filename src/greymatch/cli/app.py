"""The commands, and what becomes of their errors."""

from __future__ import annotations

from typing import Annotated

import typer

from greymatch.cli import (
    bench,
    check,
    data,
    demo,
    explain,
    fit,
    forecast,
    infer,
    init,
    report,
    settings,
    sweep,
    systems,
    weather,
)
from greymatch.cli.guard import Guarded

app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: greymatch demo",
)

for module in (demo, init, check, fit, sweep, forecast, infer, explain, report, systems, data, settings):
    app.command(module.__name__.rpartition(".")[2], epilog=module.EXAMPLE)(module.command)
app.add_typer(bench.app, name="bench")
app.add_typer(weather.app, name="weather")


def _show_version(asked: bool) -> None:
    if asked:
        from greymatch import __version__

        typer.echo(f"greymatch {__version__}")
        raise typer.Exit


@app.callback()
def greymatch(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Learn dynamics when you know half the physics: infer its parameters, learn the rest, forecast."""
