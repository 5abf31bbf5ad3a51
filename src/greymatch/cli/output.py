"""Where a command's words go."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from greymatch.bench.result import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH = 140  # of tables that go to a file or a pipe


@dataclass(frozen=True)
class Output:
    """People read tables on standard output; with `as_json` that holds one JSON object and nothing else."""

    quiet: bool = False
    as_json: bool = False

    def show(self, *parts: RenderableType) -> None:
        """Tables and texts for people."""
        if self.quiet:
            return
        console = _console(stderr=self.as_json)
        for part in parts:
            console.print(part, highlight=False, markup=False, soft_wrap=isinstance(part, str))

    def note(self, text: str) -> None:
        """What goes on, beside the result."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def finish(self, result: dict[str, Any]) -> None:
        """The result, for programs."""
        if self.as_json:
            print(json.dumps(plain(result), indent=2, allow_nan=False))


def typed(without: Collection[str] = ()) -> str:
    """The command line as it was typed, less some flags."""
    return shlex.join(["greymatch", *(word for word in sys.argv[1:] if word not in without)])


def _console(stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=WIDTH)
