"""What the columns of a data file are, as the command line names them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.store import Store
    from greymatch.data.trajectories import Trajectories
    from greymatch.physics.physics import Physics

COMMAND = "command.json"


@dataclass(frozen=True)
class Columns:
    """Names, renamings and units; None is what was not said."""

    trajectory: Annotated[str | None, typer.Option(metavar="COL", help="Name of the trajectory column.")] = None
    time: Annotated[str | None, typer.Option(metavar="COL", help="Name of the time column.")] = None
    states: Annotated[
        str | None, typer.Option(metavar="A,B=COL", help="State columns, NEW=COL to rename; else those of the physics.")
    ] = None
    inputs: Annotated[
        str | None, typer.Option(metavar="U=COL", help="Input columns, NEW=COL to rename; else those of the physics.")
    ] = None
    input_kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Between samples of an input: hold, linear, cubic (default) ...")
    ] = None
    units: Annotated[
        str | None,
        typer.Option(metavar="A=UNIT,B=UNIT", help="Units to keep and show; dates count in time=UNIT."),
    ] = None

    def said(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def read(self, physics: Physics | None, path: str | Path, lazy: bool = False) -> Trajectories | Store:
        """The states and inputs of `physics` from a data file; without, what is said, or all there is."""
        from greymatch.data.read import read

        return read(
            path,
            states=_renamed("--states", self.states, physics.states if physics else ()) or None,
            inputs=_renamed("--inputs", self.inputs, physics.inputs if physics else ()),
            trajectory=self.trajectory or "trajectory",
            time=self.time or "time",
            input_kind=self.input_kind,
            units=_pairs("--units", self.units) or None,
            lazy=lazy,
        )

    def in_memory(self, physics: Physics | None, path: str | Path) -> Trajectories:
        from greymatch.data.trajectories import Trajectories

        data = self.read(physics, path)
        assert isinstance(data, Trajectories), "not asked to be lazy"
        return data

    def as_fitted(self, model: Path, path: Path) -> Columns:
        """What was not said is as it was in the `fit` that left the model there, if that read a file of this kind."""
        try:
            tree = json.loads(model.with_name(COMMAND).read_text())
            alike = Path(tree["data"]).suffix.lower() == path.suffix.lower()
            known = Columns.of(tree).said() if alike else {}
        except (OSError, ValueError, TypeError, KeyError):  # not what `fit` wrote: then nothing is known
            return self
        return replace(self, **{name: value for name, value in known.items() if name not in self.said()})

    @staticmethod
    def of(tree: dict[str, Any]) -> Columns:
        return Columns(**{item.name: tree.get(item.name) for item in fields(Columns)})


def _renamed(option: str, text: str | None, known: Sequence[str]) -> dict[str, str]:
    """Columns by their new names: those of the physics, where no others are said."""
    asked = _pairs(option, text, alone=True)
    kept = known if asked.keys() & set(known) or not asked else ()
    return {name: asked.get(name, name) for name in kept} | asked


def _pairs(option: str, text: str | None, alone: bool = False) -> dict[str, str]:
    """A=B,C=D as {A: B, C: D}; a name `alone` stands for itself."""
    found: dict[str, str] = {}
    for part in (text or "").split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name and not equals:
            continue
        if not name or not (value or (alone and not equals)):
            raise GreymatchError(f"`{option}` must be written NAME=VALUE, with commas between; got {part.strip()!r}.")
        if name in found:
            raise GreymatchError(f"a name must stand once in `{option}`; {name!r} stands twice.")
        found[name] = value or name
    return found
