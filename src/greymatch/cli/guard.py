"""Errors that users can mend end in a message and an exit code, without a traceback."""

from __future__ import annotations

import json
from typing import Any

import typer
from typer.core import TyperGroup

from greymatch.errors import GreymatchError

WRONG_INPUT, STOPPED = 2, 130
_JSON = "greymatch.json"


class Guarded(TyperGroup):
    """Bad input ends with code 2, Ctrl-C with 130; anything else is a fault of ours and keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GreymatchError as error:
            _tell(str(error), as_json=ctx.meta.get(_JSON, False))
            raise typer.Exit(WRONG_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(STOPPED) from None


def remember_json(ctx: typer.Context, asked: bool) -> bool:
    """Callback of --json, so that an error knows of it."""
    ctx.meta[_JSON] = asked
    return asked


def _tell(message: str, as_json: bool) -> None:
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(message, err=True)
    if as_json:
        typer.echo(json.dumps({"error": message}))
