"""The data's own units: what nets see and errors are weighed by."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.matching.path import AnyPath

STANDS_STILL = 1e-7


@dataclass(frozen=True)
class Scales:
    """Centre and spread of each state (S,), of its derivatives, of each input (U,), and the median time step.

    Dividing by them makes a fit independent of the user's units.
    """

    center: Tensor
    spread: Tensor
    velocity: Tensor
    acceleration: Tensor
    input_center: Tensor
    input_spread: Tensor
    step: Tensor
    time_center: Tensor
    time_spread: Tensor

    @staticmethod
    def of(data: Trajectories, path: AnyPath) -> Scales:
        seen = data.mask.movedim(2, 0).flatten(1)
        values = data.values.movedim(2, 0).flatten(1)
        center = torch.stack([v[m].mean() for v, m in zip(values, seen, strict=True)])
        spread = torch.stack([v[m].std(unbiased=False) for v, m in zip(values, seen, strict=True)])
        spread = _at_least(spread.double(), torch.where(center == 0, 1.0, center.abs()).double())
        step = data.step
        velocity, acceleration = _derivative_scales(data, path)
        velocity = _at_least(velocity, spread / step)
        return Scales(
            center=center.float(),
            spread=spread.float(),
            velocity=velocity.float(),
            acceleration=_at_least(acceleration, velocity / step).float(),
            step=torch.tensor(step, dtype=torch.float32),
            **_time_scales(data),
            **_input_scales(data),
        )

    def top(self, order: int) -> Tensor:
        """Scale of the highest derivative (S,)."""
        return self.acceleration if order == 2 else self.velocity

    def phase(self, order: int) -> tuple[Tensor, Tensor]:
        """Centre and spread of the full state a solver carries (order*S,)."""
        if order == 1:
            return self.center, self.spread
        return torch.cat([self.center, torch.zeros_like(self.velocity)]), torch.cat([self.spread, self.velocity])

    def of_inputs(self, u: Tensor) -> Tensor:
        """Inputs (..., U) in units of their own spread."""
        return (u - self.input_center) / self.input_spread

    def tensors(self) -> dict[str, Tensor]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def to(self, device: torch.device | str) -> Scales:
        return Scales(**{name: value.to(device) for name, value in self.tensors().items()})


def _at_least(scale: Tensor, natural: Tensor) -> Tensor:
    """The scale, or the natural one where it is mere rounding: a state that stands still must not divide by zero."""
    return torch.where(scale > STANDS_STILL * natural, scale, natural)


def _derivative_scales(data: Trajectories, path: AnyPath) -> tuple[Tensor, Tensor]:
    """Root mean squares of velocity and acceleration in the middle of the trusted intervals."""
    rows = torch.arange(len(data))
    left, right = data.times[:, :-1], data.times[:, 1:]
    middle = torch.where(right.isfinite(), 0.5 * (left + right), data.times[:, :1])
    matched = path.at(rows, middle)
    trusted = path.trust(rows, middle) & right.isfinite()[..., None]
    velocity = _root_mean_square(matched.velocity, trusted)
    if matched.acceleration is None:
        return velocity, velocity / data.step
    return velocity, _root_mean_square(matched.acceleration, trusted)


def _root_mean_square(values: Tensor, trusted: Tensor) -> Tensor:
    squares = values.double().square().flatten(3).mean(-1) if values.ndim > 3 else values.double().square()
    weight = trusted.double()
    return ((squares * weight).sum((0, 1)) / weight.sum((0, 1)).clamp_min(1)).sqrt()


def _time_scales(data: Trajectories) -> dict[str, Tensor]:
    """Centre and spread of all times, for a residual that sees the clock."""
    clock = data.times[data.times.isfinite()]
    spread = clock.std(unbiased=False).clamp_min(torch.finfo(torch.float32).tiny)
    return {"time_center": clock.mean().float(), "time_spread": spread.float()}


def _input_scales(data: Trajectories) -> dict[str, Tensor]:
    if data.inputs is None:
        return {"input_center": torch.zeros(0), "input_spread": torch.ones(0)}
    pairs = zip(data.inputs.values.unbind(-1), data.inputs.seen.unbind(-1), strict=True)
    sampled = [values[seen] for values, seen in pairs]
    spread = torch.stack([values.std(unbiased=False) for values in sampled])
    return {
        "input_center": torch.stack([values.mean() for values in sampled]).float(),
        "input_spread": torch.where(spread > 0, spread, torch.ones_like(spread)).float(),
    }
