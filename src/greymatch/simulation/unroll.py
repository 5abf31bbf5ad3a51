"""A rollout that gradients pass through: fixed steps, every member on its own times."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.path import widen

DrivenField = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def stage_times(start: Tensor, times: Tensor, substeps: int = 1) -> Tensor:
    """Where `unroll` asks the field (B, 2 T substeps + 1): ends and middles of all steps from `start` (B,) on.

    `times` (B, T) increase; those that are not asked for are inf and cost no step: the last time is repeated.
    """
    if substeps < 1:
        raise GreymatchError(f"`substeps` must be at least 1; got {substeps!r}.")
    marks = torch.cat([start[:, None].to(times), times.masked_fill(~times.isfinite(), -torch.inf)], 1).cummax(1).values
    part = torch.arange(2 * substeps, device=times.device, dtype=times.dtype) / (2 * substeps)
    inner = marks[:, :-1, None] + marks.diff(dim=1)[..., None] * part
    return torch.cat([inner.flatten(1), marks[:, -1:]], 1)


def unroll(
    field: DrivenField, start: Tensor, stages: Tensor, substeps: int = 1, inputs: Tensor | None = None
) -> Tensor:
    """States (B, T, *state) by Runge-Kutta 4, `substeps` steps from each observation to the next.

        stages = stage_times(start_time, times)                       # times (B, T), each member its own
        states = unroll(lambda t, x, u: -x, start, stages)            # start (B, *state)

    `field` gets times (B,), states (B, *state) and `inputs` (B, M, U) at the stages, or None. The error falls with
    the fourth power of the step. Not for forecasts: nothing controls the error; use `solve`.
    """
    clock = stages.unbind(1)
    driven = inputs.unbind(1) if inputs is not None else (None,) * len(clock)
    steps = (stages[:, 2::2] - stages[:, :-2:2]).to(start.dtype).unbind(1)
    state, found = start, []
    for index, step in enumerate(steps):
        at = [(clock[stage], driven[stage]) for stage in range(2 * index, 2 * index + 3)]
        state = _step(field, at, widen(step, start), state)
        found.append(state)
    return torch.stack(found[substeps - 1 :: substeps], 1)


def _step(field: DrivenField, at: list[tuple[Tensor, Tensor | None]], step: Tensor, state: Tensor) -> Tensor:
    """One step through its three stages: left, middle and right."""
    (t0, u0), (t1, u1), (t2, u2) = at
    half = step / 2
    one = field(t0, state, u0)
    two = field(t1, state + half * one, u1)
    three = field(t1, state + half * two, u1)
    four = field(t2, state + step * three, u2)
    return state + step / 6 * (one + 2 * (two + three) + four)
