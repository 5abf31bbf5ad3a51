"""`greymatch settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from greymatch.cli.options import Json
from greymatch.cli.output import Output

if TYPE_CHECKING:
    from pydantic import BaseModel

EXAMPLE = "Example: greymatch settings; greymatch fit --system pendulum --set residual.width=32"


def command(as_json: Json = False) -> None:
    """List every setting with its default; change them with --set KEY=VALUE or in a --config file."""
    from rich.table import Table

    from greymatch.settings import Settings
    from greymatch.settings_tree import known_keys

    table = Table(title="Settings", title_justify="left")
    table.add_column("key", no_wrap=True)
    table.add_column("default")
    table.add_column("meaning")
    rows = {key: {**_field(key), "description": text} for key, text in known_keys(Settings).items()}
    for key, row in rows.items():
        choices = " | ".join(row["choices"])
        table.add_row(key, _text(row["default"]), "; ".join(part for part in (row["description"], choices) if part))
    output = Output(as_json=as_json)
    if not as_json:
        output.show(table)
    output.finish({"settings": rows})


def _field(key: str) -> dict[str, Any]:
    """Default and choices of a dotted key."""
    from greymatch.settings import Settings

    section: type[BaseModel] = Settings
    *outer, last = key.split(".")
    for name in outer:
        section = section.model_fields[name].annotation  # pyright: ignore[reportAssignmentType]
    field = section.model_fields[last]
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return {"default": field.default, "choices": list(choices)}


def _text(default: Any) -> str:
    return "none" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
