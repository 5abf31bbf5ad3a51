"""The command line. Heavy parts are imported by the commands that use them, so that help comes at once."""

from __future__ import annotations

from greymatch.cli.app import app


def main() -> None:
    """The console script `greymatch`."""
    app(prog_name="greymatch")


__all__ = ["app", "main"]
