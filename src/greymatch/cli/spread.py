"""Options that several commands share, written once as the fields of a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that takes records have their fields, and those of records in them, as options."""
    signature = inspect.signature(command)
    records = {name: hint for name, hint in _hints(command).items() if is_dataclass(hint) and isinstance(hint, type)}

    @wraps(command)
    def run(**asked: Any) -> None:
        made = {name: _made(record, asked) for name, record in records.items()}
        command(**asked, **made)

    options = list(_options(command, signature, records))
    run.__dict__.pop("__wrapped__")  # else its own parameters would be read, not these
    run.__signature__ = signature.replace(parameters=options)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _hints(thing: Any) -> dict[str, Any]:
    return get_type_hints(thing, include_extras=True)


def _options(
    command: Callable[..., None], signature: inspect.Signature, records: dict[str, type]
) -> Iterator[inspect.Parameter]:
    for name, parameter in signature.parameters.items():
        if name in records:
            yield from _fields(records[name])
        else:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=_hints(command)[name])


def _fields(record: Any) -> Iterator[inspect.Parameter]:
    for item in fields(record):
        hint = _hints(record)[item.name]
        if is_dataclass(hint):
            yield from _fields(hint)
        else:
            yield inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default, annotation=hint)


def _made(record: Any, asked: dict[str, Any]) -> Any:
    """The record of what was asked, which is taken out."""
    hints = _hints(record)
    values = {
        item.name: _made(hints[item.name], asked) if is_dataclass(hints[item.name]) else asked.pop(item.name)
        for item in fields(record)
    }
    return record(**values)
