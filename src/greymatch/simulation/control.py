"""The size of steps: as large as the tolerance allows, each member its own."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.simulation.tsit5 import ORDER, Flat, Step

SAFETY = 0.9
SMALLEST, LARGEST = 0.2, 10.0  # change of the step from one to the next
FIRST = 1e-6  # of the span, where no first step could be estimated


def first_size(field: Flat, t: Tensor, state: Tensor, slope: Tensor, span: Tensor, tolerance: float) -> Tensor:
    """A step (B,) with which an Euler step is hardly wrong, as Hairer, Norsett and Wanner choose it."""
    unit = tolerance * (1 + state.abs())
    large, fast = _norm(state / unit), _norm(slope / unit)
    tried = torch.where((large < 1e-5) | (fast < 1e-5), FIRST, 0.01 * large / fast).to(span).minimum(span)
    ahead = field(t + tried, state + tried.to(state.dtype)[:, None] * slope)
    bent = _norm((ahead - slope) / unit) / tried.to(state.dtype)
    size = torch.minimum(100 * tried, (0.01 / fast.maximum(bent)).pow(1 / ORDER).to(span))
    return torch.where(size.isfinite() & (size > 0), size, FIRST * span).minimum(span)


def judged(step: Step, tolerance: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of each member: whether the step leads to finite numbers, whether it is exact enough, by which factor to change
    its size. A step into NaN or infinity is tried again with a smaller one."""
    unit = tolerance * (1 + torch.maximum(step.before.abs(), step.after.abs()))
    wrong = _norm(step.error() / unit)
    sound = step.after.isfinite().all(1) & wrong.isfinite()
    factor = (SAFETY * wrong.pow(-1 / ORDER)).clamp(SMALLEST, LARGEST)
    return sound, sound & (wrong <= 1), torch.where(sound, factor, SMALLEST)


def _norm(part: Tensor) -> Tensor:
    return part.square().mean(1).sqrt()
