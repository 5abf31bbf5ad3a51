"""What a run is fitted to, as the command line names it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.cli.physics_file import load_physics
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.physics.physics import Physics
    from greymatch.settings import Settings

_FILES = ("data", "validation")


@dataclass(frozen=True)
class Problem:
    """Physics, data and the settings that suit them."""

    physics: Physics
    data: Trajectories
    validation: Trajectories | None
    settings: Settings


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
            extra = [f"--{name}" for name in said if name != "system"]
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

        system = system_named(str(self.system))
        return Problem(system.physics, system.data("train"), system.data("val"), system.settings())

    def _files(self) -> Problem:
        from greymatch.training.fit import suited

        physics = load_physics(str(self.physics))
        data = self._read(str(self.data), physics)
        validation = self._read(self.validation, physics) if self.validation else None
        return Problem(physics, data, validation, suited(physics, data))

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
