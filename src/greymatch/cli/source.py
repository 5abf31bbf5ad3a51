"""What a run is fitted to, as the command line names it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.columns import Columns
from greymatch.cli.options import PhysicsFile
from greymatch.cli.physics_file import load_physics, parted
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.store import Store
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.warm import Warm
    from greymatch.physics.physics import Physics
    from greymatch.settings import Settings
    from greymatch.training.suited import Choice

_FILES = ("data", "validation", "start")


@dataclass(frozen=True)
class Problem:
    """Physics, data and the settings that suit them."""

    physics: Physics
    data: Trajectories | Store
    validation: Trajectories | Store | None
    settings: Settings
    choices: list[Choice] = field(default_factory=list)

    def chosen(self, told: dict[str, Any]) -> list[Choice]:
        """What was chosen from the data and not overruled by the user."""
        from greymatch.settings_tree import flat

        return [choice for choice in self.choices if choice.key not in flat(told)]


@dataclass(frozen=True)
class Source:
    """A built-in system, or the user's physics and data files; None is what was not said."""

    system: Annotated[str | None, typer.Option(metavar="NAME", help="A built-in system.")] = None
    physics: PhysicsFile = None
    data: Annotated[str | None, typer.Option(metavar="FILE", help="Trajectories to learn from.")] = None
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Trajectories to choose the weights by; else a tenth of --data, of few up to a quarter.",
        ),
    ] = None
    lazy: Annotated[
        bool, typer.Option("--lazy", help="Leave --data on disk, and learn from it in parts (.zarr, .nc).")
    ] = False
    start: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model file to start from: its weights are reused where they fit."),
    ] = None
    columns: Columns = field(default_factory=Columns)

    def said(self) -> dict[str, Any]:
        """Whatever was said, by the names of the options."""
        mine = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "columns"}
        return {name: value for name, value in mine.items() if value not in (None, False)} | self.columns.said()

    def words(self) -> list[str]:
        """The same as they are typed."""
        options = {f"--{name.replace('_', '-')}": value for name, value in self.said().items()}
        return [word for name, value in options.items() for word in ([name] if value is True else [name, value])]

    def absolute(self) -> Source:
        """The same from whatever folder it is read."""
        paths = {name: str(Path(value).resolve()) for name, value in self.said().items() if name in _FILES}
        if self.physics:
            file, name = parted(self.physics)
            paths["physics"] = f"{Path(file).resolve()}:{name}" if name else str(Path(file).resolve())
        return replace(self, **paths)

    @property
    def name(self) -> str:
        """A name for the run's folder."""
        return self.system or Path(parted(self.physics or "run.py")[0]).stem

    def check(self) -> None:
        said = self.said()
        if self.system is not None:
            extra = [f"--{name}" for name in said if name not in ("system", "start")]
            if extra:
                raise GreymatchError(f"`--system` brings its own physics and data; leave out {', '.join(extra)}.")
        elif self.physics is None or self.data is None:
            raise GreymatchError(
                "a fit needs --system NAME, or both --physics FILE.py:NAME and --data FILE; got "
                f"{', '.join(f'--{name}' for name in said) or 'neither'}. `greymatch systems` lists the systems."
            )

    def open(self) -> Problem:
        self.check()
        return self._system() if self.system is not None else self._files()

    def _system(self) -> Problem:
        from greymatch.bench.plan import system_named
        from greymatch.training.suited import choose

        system = system_named(str(self.system))
        train = system.data("train")
        found = choose(system.physics, train, self._warm())
        return Problem(system.physics, train, system.data("val"), found.settings, found.choices)

    def _files(self) -> Problem:
        from greymatch.data.store import sampled
        from greymatch.training.suited import choose

        physics = load_physics(str(self.physics))
        data = self.columns.read(physics, str(self.data), self.lazy)
        validation = self.columns.read(physics, self.validation, self.lazy) if self.validation else None
        found = choose(physics, sampled(data), self._warm())
        return Problem(physics, data, validation, found.settings, found.choices)

    def _warm(self) -> Warm | None:
        from greymatch.models.warm import Warm

        return None if self.start is None else Warm.of(self.start)

    @staticmethod
    def of(tree: dict[str, Any]) -> Source:
        mine = [item.name for item in fields(Source) if item.name != "columns" and item.name in tree]
        return Source(**{name: tree[name] for name in mine}, columns=Columns.of(tree))
