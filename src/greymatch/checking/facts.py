"""What was understood of the data, in words."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.noise import assumed_noise
from greymatch.data.trajectories import Trajectories
from greymatch.settings import Settings

EVEN = 1e-3  # steps that differ by less than this are the same


def facts(data: Trajectories, settings: Settings | None) -> dict[str, str]:
    """Each thing that is worth a look, by name."""
    found = {"trajectories": _trajectories(data), "times": _times(data), "gaps": _gaps(data)}
    if data.grid:
        sizes = zip(data.grid, data.values.shape[3:], strict=True)
        found["grid"] = ", ".join(f"{name} {size}" for name, size in sizes)
    noise = assumed_noise(settings.data.noise if settings else "auto", data)
    found |= {f"state {name}": _state(data, i, noise.get(name)) for i, name in enumerate(data.states)}
    if data.inputs:
        found |= {f"input {name}": _input(data, i) for i, name in enumerate(data.inputs.names)}
    return found | ({"window": _window(data, settings)} if settings else {})


def _trajectories(data: Trajectories) -> str:
    shortest, longest = int(data.lengths.min()), int(data.lengths.max())
    points = f"{shortest} points each" if shortest == longest else f"{shortest} to {longest} points"
    return f"{len(data)}, {points}"


def _times(data: Trajectories) -> str:
    clock, steps = data.times[data.times.isfinite()], data.times.diff(dim=1)
    steps = steps[steps.isfinite()]
    span = f"{float(clock.min()):.4g} to {float(clock.max()):.4g}{_unit(data, 'time')}"
    if not len(steps):
        return f"{span}, one point each"
    low, high = float(steps.min()), float(steps.max())
    if high - low <= EVEN * high:
        return f"{span}, step {high:.4g}"
    return f"{span}, uneven steps of {low:.3g} to {high:.3g}, usually {data.step:.3g}"


def _gaps(data: Trajectories) -> str:
    inside = data.times.isfinite().reshape(*data.times.shape, *(1,) * (data.mask.ndim - 2))
    lost = (inside & ~data.mask).movedim(2, 0).flatten(1).sum(1)
    if not int(lost.sum()):
        return "none"
    share = lost / inside.expand_as(data.mask).movedim(2, 0).flatten(1).sum(1)
    parts = [f"{name} {100 * float(part):.2g} %" for name, part in zip(data.states, share, strict=True)]
    return f"missing values: {', '.join(parts)}"


def _state(data: Trajectories, index: int, noise: float | None) -> str:
    seen = data.values[:, :, index][data.mask[:, :, index]].double()
    told = _numbers(seen) + _unit(data, data.states[index])
    return f"{told}, noise about {noise:.2g}" if noise else told


def _input(data: Trajectories, index: int) -> str:
    assert data.inputs is not None
    seen = data.inputs.values[..., index][data.inputs.seen[..., index]].double()
    return f"{_numbers(seen)}{_unit(data, data.inputs.names[index])}, {data.inputs.kind} between samples"


def _numbers(seen: Tensor) -> str:
    if not len(seen):
        return "never observed"
    low, high = float(seen.min()), float(seen.max())
    return f"{low:.3g} to {high:.3g}, mean {float(seen.mean()):.3g}, spread {float(seen.std(unbiased=False)):.3g}"


def _unit(data: Trajectories, name: str) -> str:
    unit = data.units.get(name, "")
    return f" {unit}" if unit else ""


def _window(data: Trajectories, settings: Settings) -> str:
    """How much time a history covers, and how far beyond it the model learns."""
    duration = (torch.where(data.times.isfinite(), data.times, -torch.inf).amax(1) - data.times[:, 0]).median()
    covered = _covered(data, settings.window)
    beyond = max(0.0, float(duration) - covered)
    horizon = settings.matching.horizon
    beyond = beyond if horizon is None else min(beyond, horizon)
    return f"{settings.window} points, about {covered:.3g} of time; forecasts are learned up to {beyond:.3g} beyond it"


def _covered(data: Trajectories, window: int) -> float:
    """The time that so many points usually take: where steps are uneven, not so many usual steps."""
    spans = data.times[:, window - 1 :] - data.times[:, : max(0, data.times.shape[1] - window + 1)]
    spans = spans[spans.isfinite()]
    return float(spans.median()) if len(spans) else (window - 1) * data.step
