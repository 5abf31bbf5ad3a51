"""The model file: one .safetensors with weights, scales, settings and the physics' description; never code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from greymatch.data.scaling import Scales
from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors
from greymatch.models.encoder import Shapes
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.models.residual import FINER
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

FORMAT = 10
PRODUCTS = "coefficients.weight"
KIND = "greybox"


def save_model(model: GreyBox, path: Path) -> Path:
    """Write `model` to `path`, which must end in .safetensors."""
    if path.suffix != ".safetensors":
        raise GreymatchError(f"`path` must end in .safetensors; got {str(path)!r}.")
    tensors = {f"weights.{name}": value for name, value in model.network.state_dict().items()}
    tensors |= {f"scales.{name}": value for name, value in model.network.scales.tensors().items()}
    header = {
        "kind": KIND,
        "format": FORMAT,
        "settings": model.settings.model_dump(),
        "physics": model.physics.describe(),
        "system": _built_in(model.physics),
        "shapes": asdict(model.network.shapes),
        "record": model.record,
    }
    write_tensors(path, tensors, header)
    return path


def load(path: str | Path, physics: Physics | None = None) -> GreyBox:
    """A model from its file. Pass `physics` unless it is one of the built-in systems, which are found by name.

    ```python
    model = load("swing.safetensors", physics=physics)
    ```
    """
    tensors, header = read_tensors(Path(path))
    _check_header(header, path)
    known = _resolved(header, physics, path)
    with _as_described(path):
        parts = _parts(tensors, header)
        shapes = Shapes(**{**header["shapes"], "grid": tuple(header["shapes"]["grid"])})
        _check_fit(known, parts.settings, parts.scales, shapes)
        with torch.random.fork_rng(devices=[]):  # nets start at random, which is no business of the caller's
            network = Network(known, parts.settings, parts.scales, shapes)
        network.load_state_dict(parts.weights)
    return GreyBox(known, network.eval(), header.get("record", {}))


class Parts(NamedTuple):
    """What a model file holds, whatever the physics."""

    weights: dict[str, torch.Tensor]
    scales: Scales
    settings: Settings
    physics: dict[str, Any]


def read_parts(path: Path) -> Parts:
    """Weights, scales, settings and described physics of a model file, for a model that starts from it."""
    tensors, header = read_tensors(path)
    _check_header(header, path)
    with _as_described(path):
        return _parts(tensors, header)


def _parts(tensors: dict[str, torch.Tensor], header: dict[str, Any]) -> Parts:
    settings = Settings(**_migrated(header["settings"], header["format"]))
    weights = _section(tensors, "weights.")
    weights = _added(header, weights) | weights
    if header["format"] < 10:  # paths through clean windows claimed a fixed error, of which these were small parts
        weights |= {name: weights[name].clamp_min(1.0) for name in ("doubt", "widening") if name in weights}
    return Parts(weights, Scales(**_section(tensors, "scales.")), settings, header["physics"])


@contextmanager
def _as_described(path: str | Path) -> Iterator[None]:
    """Whatever does not hold together is an error of the file."""
    try:
        yield
    except (TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise GreymatchError(f"{str(path)!r} does not hold the model its header describes: {error}") from None


def _check_header(header: dict[str, Any], path: str | Path) -> None:
    if header.get("kind") != KIND:
        raise GreymatchError(f"{str(path)!r} holds a {header.get('kind')!r}, not a model. Give the model's own file.")
    if not isinstance(header.get("format"), int) or header["format"] > FORMAT:
        raise GreymatchError(
            f"{str(path)!r} has format {header.get('format')!r}; this version of greymatch reads up to {FORMAT}. "
            "Upgrade it."
        )
    missing = [key for key in ("settings", "physics", "shapes") if not isinstance(header.get(key), dict)]
    if missing:
        raise GreymatchError(f"{str(path)!r} lacks {missing} in its header; save the model again.")


def _migrated(settings: dict[str, Any], written: int) -> dict[str, Any]:
    """Settings of an older format with what later ones added switched off."""
    if written < 2:  # the residual was not solved for z
        settings = {**settings, "encoder": {**settings["encoder"], "probes": 0}}
    if written < 6:  # a net stood alone
        settings = {**settings, "residual": {**settings["residual"], "products": False}}
    if written < 7:  # coefficients did not differ with z
        kind, multiplied = (
            settings["residual"]["kind"],
            settings["residual"]["products"] and settings["method"] != "tfm",
        )
        if kind == "polynomial" or (kind == "mlp" and multiplied):
            raise GreymatchError(
                f"the model was written in format {written}, whose products are not those of later ones. "
                "Fit it again, or use the greymatch that wrote it."
            )
        settings = {**settings, "residual": {**settings["residual"], "products": 0}}
    return settings


def _added(header: dict[str, Any], weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What a file of an older format does not hold, as it was then: a noise of zero meant that no member is kicked."""
    written, states = header["format"], len(header["physics"]["states"])
    added = {"kicked": torch.ones(()), "refined": torch.zeros(())} if written < 3 else {}
    added |= {"usual": torch.zeros(())} if written < 4 else {}
    if written < 5:
        added |= {"observed": torch.zeros(states), "blind": torch.zeros(header["shapes"]["free"])}
    if written < 9:  # coefficients were known in single precision
        products = [name for name in weights if name.endswith(PRODUCTS)]
        added |= {name.removesuffix(PRODUCTS) + FINER: torch.zeros_like(weights[name]) for name in products}
    return added


def _check_fit(physics: Physics, settings: Settings, scales: Scales, shapes: Shapes) -> None:
    wanted: dict[str, tuple[int, ...]] = {"step": (), "time_center": (), "time_spread": ()}
    wanted |= {"input_center": (len(physics.inputs),), "input_spread": (len(physics.inputs),)}
    for name, scale in scales.tensors().items():
        if tuple(scale.shape) != wanted.get(name, (len(physics.states),)):
            raise TypeError(f"scale {name!r} has shape {tuple(scale.shape)}")
    if shapes.window != settings.window:
        raise TypeError(f"its window is {settings.window} points, its encoder reads {shapes.window}")


def _built_in(physics: Physics) -> str | None:
    """The name of the built-in system whose physics this is."""
    from greymatch.systems import SYSTEMS

    return next((name for name, system in SYSTEMS.items() if system.physics == physics), None)


def _resolved(header: dict[str, Any], physics: Physics | None, path: str | Path) -> Physics:
    """The caller's physics, or the built-in one the file names; either must be what the model was trained with."""
    from greymatch.systems import SYSTEMS

    described = header["physics"]
    if physics is None:
        system = SYSTEMS.get(str(header.get("system")))
        if system is None:
            raise GreymatchError(
                f"{str(path)!r} was trained with physics {described.get('name')!r}, which is not built in. "
                f"Pass it: load(path, physics=...). Built in: {list(SYSTEMS)}."
            )
        physics = system.physics
    ours = physics.describe()
    changed = [key for key in ours if key != "name" and ours[key] != described.get(key)]
    if changed:
        lines = "; ".join(f"{key} is {ours[key]!r}, the file has {described.get(key)!r}" for key in changed)
        raise GreymatchError(f"`physics` must be the one {str(path)!r} was trained with: {lines}.")
    return physics


def _section(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
