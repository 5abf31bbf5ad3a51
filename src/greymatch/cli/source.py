"""What a run is fitted to, as the command line names it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.cli.physics_file import load_physics
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
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
    data: Trajectories
    validation: Trajectories | None
    settings: Settings
    choices: list[Choice] = field(default_factory=list)

    def chosen(self, told: dict[str, Any]) -> list[Choice]:
        """What was chosen from the data and not overruled by the user."""
        from greymatch.settings_tree import flat

        return [choice for choice in self.choices if choice.key not in flat(told)]


@dataclass(frozen=True)
class Source:
    """A built-in system, or the user's physics and data files; None is what was not said."""

    system: str | None = None
    physics: str | None = None
    data: str | None = None
    validation: str | None = None
    states: str | None = None
    inputs: str | None = None
    trajectory: str | None = None
    time: str | None = None
    start: str | None = None

    def said(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def absolute(self) -> Source:
        """The same from whatever folder it is read."""
        paths = {name: str(Path(value).resolve()) for name, value in self.said().items() if name in _FILES}
        if self.physics and ".py:" in self.physics:
            file, _, name = self.physics.rpartition(":")
            paths["physics"] = f"{Path(file).resolve()}:{name}"
        return replace(self, **paths)

    @property
    def name(self) -> str:
        """A name for the run's folder."""
        return self.system or Path((self.physics or "run").rpartition(":")[0]).stem

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
        from greymatch.training.suited import choose

        physics = load_physics(str(self.physics))
        data = self._read(str(self.data), physics)
        validation = self._read(self.validation, physics) if self.validation else None
        found = choose(physics, data, self._warm())
        return Problem(physics, data, validation, found.settings, found.choices)

    def _warm(self) -> Warm | None:
        from greymatch.models.warm import Warm

        return None if self.start is None else Warm.of(self.start)

    def _read(self, path: str, physics: Physics) -> Trajectories:
        from greymatch.data.read import read

        return read(
            path,
            states=_names(self.states) or physics.states,
            inputs=_names(self.inputs) or physics.inputs,
            trajectory=self.trajectory or "trajectory",
            time=self.time or "time",
        )

    @staticmethod
    def of(tree: dict[str, Any]) -> Source:
        return Source(**{item.name: tree.get(item.name) for item in fields(Source)})


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
