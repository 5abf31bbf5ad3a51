"""The one error type for input that cannot be used as given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GreymatchError(ValueError):
    """Bad input: the message names the argument, the rule, the value got and the likely fix."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint such as ` Did you mean 'omega'?`, or nothing when no known name is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
