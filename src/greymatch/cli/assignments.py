"""Settings from --set and --config."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from greymatch.errors import GreymatchError

_BARE = re.compile(r"[A-Za-z][\w.:+-]*")
BUDGET = ("training.minutes", "training.steps")


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """`["residual.width=32", "method=gb-dm"]` as {"residual.width": 32, "method": "gb-dm"}; no key twice."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals):
            raise GreymatchError(f"`--set` must be KEY=VALUE, such as residual.width=32; got {text!r}.")
        if key in found:
            raise GreymatchError(f"`--set {key}` stands twice; give it once.")
        found[key] = scalar(key, value)
    return found


def scalar(key: str, text: str) -> Any:
    """A TOML scalar; a bare word is a text, which a shell would rob of its quotes, and `none` is no value."""
    try:
        tree = tomllib.loads(f"value = {text}\n")
    except tomllib.TOMLDecodeError:
        if not _BARE.fullmatch(text):
            raise GreymatchError(
                f"`--set {key}` must be a TOML scalar: 3, 0.1, true, a word or none; got {text!r}."
            ) from None
        return None if text.lower() == "none" else text
    value = tree.pop("value")
    if tree or isinstance(value, dict | list):
        raise GreymatchError(f"`--set {key}` must be one value; got {text!r}. Set each key by itself.")
    return value


def chosen(texts: Sequence[str], **options: Any) -> dict[str, Any]:
    """--set and the options that stand for a setting, together; an option and a --set of the same key clash."""
    found = assignments(texts)
    named = {key.replace("__", "."): value for key, value in options.items() if value is not None}
    for key in named:
        if key in found:
            raise GreymatchError(f"`--set {key}` and --{key.split('.')[-1]} say the same; give one of them.")
    return found | named


def with_budget(changes: dict[str, Any]) -> dict[str, Any]:
    """A budget on the command line, in steps or minutes, replaces the whole budget that stood before."""
    given = [key for key in BUDGET if key in changes]
    return dict.fromkeys(BUDGET) | changes if given else changes


def config(path: Path | None) -> dict[str, Any]:
    """The settings in a TOML file."""
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise GreymatchError(f"`--config` must be a TOML file that can be read; {str(path)!r}: {error}.") from None
