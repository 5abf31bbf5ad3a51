"""Settings as a tree: frozen sections, changed by dotted keys; an unknown key is an error."""

from __future__ import annotations

from typing import Any, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from greymatch.errors import GreymatchError, did_you_mean


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Tree(Section):
    """The whole of what a run can be told."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise GreymatchError(_readable(error, known_keys(type(self)))) from None

    def updated(self, changes: dict[str, Any]) -> Self:
        """A copy with dotted keys or nested sections changed and checked."""
        tree = self.model_dump()
        for key, value in flat(changes).items():
            _put(tree, key, value, _fields(type(self)))
        return type(self)(**tree)


def known_keys(section: type[BaseModel]) -> dict[str, str]:
    """Every dotted key with its description."""
    return {key: info.description or "" for key, info in _fields(section).items()}


def _fields(section: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    found: dict[str, FieldInfo] = {}
    for name, info in section.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= _fields(inner, f"{prefix}{name}.")
        else:
            found[prefix + name] = info
    return found


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested tree by dotted keys."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def _put(tree: dict[str, Any], key: str, value: Any, known: dict[str, FieldInfo]) -> None:
    table, _, name = key.rpartition(".")
    if table in known and _is_table(known[table]):
        # one entry, such as data.noise.STATE: what was said of the others stays
        _put(tree, table, {**_entries(tree, table), name: value}, known)
        return
    if key not in known:
        ending = [name for name in known if name.split(".")[-1] == key.split(".")[-1]]
        hint = did_you_mean(key, known) or (f" Did you mean {ending[0]!r}?" if ending else "")
        raise GreymatchError(f"unknown setting {key!r}.{hint} `greymatch settings` lists them all.")
    _section(tree, key)[key.split(".")[-1]] = value


def _is_table(info: FieldInfo) -> bool:
    return any(get_origin(kind) is dict for kind in (info.annotation, *get_args(info.annotation)))


def _entries(tree: dict[str, Any], key: str) -> dict[str, Any]:
    value = _section(tree, key)[key.split(".")[-1]]
    return value if isinstance(value, dict) else {}


def _section(tree: dict[str, Any], key: str) -> dict[str, Any]:
    for section in key.split(".")[:-1]:
        tree = tree[section]
    return tree


def _readable(error: ValidationError, known: dict[str, str]) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"unknown setting {key!r}.{did_you_mean(key, known)}")
        elif problem["type"] == "value_error":  # a rule about several settings says itself which
            lines.append(problem["msg"].removeprefix("Value error, "))
        else:
            lines.append(f"setting {key!r}: {problem['msg']}; got {problem['input']!r}.")
    return "\n".join(lines)
