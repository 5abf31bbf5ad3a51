"""All that is needed to make the model again."""

from __future__ import annotations

import inspect
import json
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import greymatch
from greymatch.evaluation import Evaluation
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.systems.system import System

_PACKAGES = ("torch", "lightning-fabric", "numpy", "scipy", "xarray", "pandas", "pydantic", "matplotlib")


@dataclass(frozen=True)
class Remake:
    """Blocks of text, each as it would be typed; an empty one is left out."""

    command: str
    settings: str
    physics: str
    seeds: str
    record: str
    versions: str


def remake(evaluation: Evaluation, system: System | None, command: str | None) -> Remake:
    model = evaluation.model
    return Remake(
        command=command or "",
        settings=as_toml(model.settings),
        physics=_physics(model.physics),
        seeds=_seeds(model.settings, system),
        record=_lines(model.record),
        versions=_versions(),
    )


def as_toml(settings: Settings) -> str:
    """Every setting, ready to be read back; those that are not set stand as comments."""
    tree = settings.model_dump()
    top = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    sections = [f"[{key}]\n{_pairs(value)}" for key, value in tree.items() if isinstance(value, dict)]
    return "\n\n".join([_pairs(top), *sections])


def _pairs(values: dict[str, Any]) -> str:
    return "\n".join(
        f"# {key} is not set" if value is None else f"{key} = {_value(value)}" for key, value in values.items()
    )


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def _physics(physics: Physics) -> str:
    """Priors and, where Python can still see it, the function itself."""
    try:
        source = inspect.getsource(physics.function).rstrip() + "\n\n"
    except (OSError, TypeError):  # typed at a prompt, or not written in Python
        source = ""
    return source + _lines({key: value for key, value in physics.describe().items() if value not in ([], {})})


def _seeds(settings: Settings, system: System | None) -> str:
    training = f"training: {settings.training.seed}"
    if system is None:
        return training
    splits = [f"{name}: {split.seed} ({split.trajectories} trajectories)" for name, split in system.splits.items()]
    return "\n".join([training, f"# the protocol of {system.name}", *splits])


def _lines(tree: dict[str, Any], prefix: str = "") -> str:
    """One `key = value` a line, nested keys joined with dots."""
    lines = []
    for key, value in tree.items():
        nested = isinstance(value, dict)
        lines.append(
            _lines(value, f"{prefix}{key}.") if nested else f"{prefix}{key} = {json.dumps(value, default=str)}"
        )
    return "\n".join(filter(None, lines))


def _versions() -> str:
    lines = [f"greymatch {greymatch.__version__}", f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return "\n".join([*lines, f"{platform.system()} {platform.machine()}"])
