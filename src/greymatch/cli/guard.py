"""Errors that users can mend end in a message and an exit code, without a traceback."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
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
            with warnings.catch_warnings():
                warnings.showwarning = _teller(warnings.showwarning)
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


def _teller(usual: Callable[..., None]) -> Callable[..., None]:
    """Shows a warning that is meant for users as its text alone, and the same text once."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, UserWarning):
            usual(message, category, *where, **more)
        elif str(message) not in told:
            told.add(str(message))
            typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
            typer.echo(str(message), err=True)

    return show


def _tell(message: str, as_json: bool) -> None:
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(message, err=True)
    if as_json:
        typer.echo(json.dumps({"error": message}))
