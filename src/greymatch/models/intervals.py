"""What noisy fields show from each frame to the next.

Smoothing a cell along time takes fast decay for noise, and what it leaves is wrong in all trajectories alike. A solver
is not: from a frame as it was observed, the field as it is known so far and a constant r lead to the next one,

    dx/dt = f(x) + r,    x(t_before) = x_before,    x(t_after) = x_after,

so that f + r is shown at the middle of the interval, up to the square of its length, with the noise of two frames,
which is white and known. What f says already r need not, so the more is known the less is left to err.
"""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.matching.path import widen
from greymatch.models.dynamics import Dynamics
from greymatch.models.evidence import Evidence
from greymatch.models.flow import Flow
from greymatch.models.latents import Latents
from greymatch.models.steps import Steps
from greymatch.simulation.sixth import PARTS, stepped

STEPS = 2  # over a window's usual spacing: one to the middle, one from there
TURNS = 2  # in which what is lacking is found
TOGETHER = 2**17  # numbers that are followed at once


@torch.no_grad()
def shown_between(dynamics: Dynamics, window: Window, noise: Tensor, latents: Latents) -> Evidence:
    """What windows (B, W, ...) with observations of standard deviation `noise` (S,) show of a first-order field between
    their frames, by what is known of it with `latents` (B, ...)."""
    at_once = max(1, TOGETHER // window.values[0].numel())
    rows = torch.arange(len(window.times), device=window.times.device).split(at_once)
    parts = [_between(dynamics, window.select(some), noise, latents.select(some)) for some in rows]
    return Evidence.joined(parts)


def _between(dynamics: Dynamics, window: Window, noise: Tensor, latents: Latents) -> Evidence:
    assert window.smooth is not None, "only noisy windows have been smoothed"
    steps = Steps.of(window, STEPS)
    half = steps.stages.shape[2] // 2
    values = window.values.where(window.mask, window.smooth.values).float()
    over = latents.over(steps.stages.shape[1])
    step = widen(window.times.diff(dim=1), values).to(values)
    middle, lacking = values[:, :-1], torch.zeros_like(values[:, 1:])
    for _ in range(TURNS):
        middle = _moved(dynamics, steps, slice(0, half + 1), values[:, :-1], over, lacking)
        lacking = lacking + (values[:, 1:] - _moved(dynamics, steps, slice(half, None), middle, over, lacking)) / step
    times = steps.stages[:, :, half]
    inputs = None if steps.inputs is None else steps.inputs[:, :, half].float()
    top = dynamics.parts(times, middle, over, inputs).total + lacking
    doubt = 2**0.5 * widen(noise.to(values), values[0, 0]) / step
    seen = (window.mask[:, 1:] & window.mask[:, :-1]).all(2, keepdim=True).to(values)
    return Evidence(times, middle, top, doubt.expand_as(top), seen, inputs, alone=True)


def _moved(dynamics: Dynamics, steps: Steps, part: slice, states: Tensor, over: Latents, lacking: Tensor) -> Tensor:
    """Over a `part` of each interval, from states (B, W - 1, S, *grid) on, with latents (B, W - 1, ...), where so much
    of the velocity is `lacking`."""
    clock = steps.stages[:, :, part].flatten(0, 1)
    inputs = None if steps.inputs is None else steps.inputs[:, :, part].flatten(0, 1)
    count = (clock.shape[1] - 1) // PARTS
    flow = Flow.of(dynamics, Latents(over.eps.flatten(0, 1), over.z.flatten(0, 1)))
    size = ((clock[:, -1] - clock[:, 0]) / count).to(states)[:, None]
    state, beside = (states.flatten(0, 1) - flow.center) / flow.unit, lacking.flatten(0, 1) / flow.unit

    def slope(stage: int, state: Tensor) -> Tensor:
        return flow(clock[:, stage], state, None if inputs is None else inputs[:, stage].to(state)) + beside

    for begin in range(0, PARTS * count, PARTS):
        state = stepped(lambda stage, x, begin=begin: slope(begin + stage, x), size, state)
    return (flow.center + state * flow.unit).reshape(states.shape)
