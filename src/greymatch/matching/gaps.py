"""Which stretches between observations are short enough to interpolate."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.errors import GreymatchError

_LONGEST_IN_STEPS = 3.0
_ENOUGH_FOR_OWN_STEP = 4
_ROUNDING = 1 + 1e-9


def check_max_gap(max_gap: float | None) -> None:
    if max_gap is not None and not max_gap > 0:
        raise GreymatchError(
            f"`max_gap` must be positive, in units of time; got {max_gap!r}. "
            "Use None for 3 median steps, or inf to trust every gap."
        )


def shrink_grid(mask: Tensor) -> Tensor:
    """The mask with grid axes of size one where all pixels share their gaps, as they mostly do."""
    first = mask[(slice(None),) * 3 + (slice(0, 1),) * (mask.ndim - 3)]
    return first if bool((mask == first).all()) else mask


def neighbours(times: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """For each interval, the last time observed at or before its start and the first at or after its end.

    -inf and +inf stand where there is none.
    """
    clock = times.reshape(*times.shape, *[1] * (mask.ndim - 2))
    before = torch.where(mask, clock, -torch.inf).cummax(1).values[:, :-1]
    after = torch.where(mask, clock, torch.inf).flip(1).cummin(1).values.flip(1)[:, 1:]
    return before, after


def sound(times: Tensor, mask: Tensor, max_gap: float | None) -> Tensor:
    """Whether each (row, interval, state) lies between observations at most `max_gap` apart, on all pixels.

    None means 3 times the median step of the state's own observations, so that a slow sensor among fast
    ones is not all gap; with fewer than four of them, 3 times the median step of the whole trajectory.
    """
    mask = shrink_grid(mask)
    before, after = neighbours(times, mask)
    gap = after - before
    limit = _default_gap(times, mask, before) if max_gap is None else max_gap
    return (gap.isfinite() & (gap <= limit * _ROUNDING)).flatten(2).unflatten(2, (mask.shape[2], -1)).all(-1)


def _default_gap(times: Tensor, mask: Tensor, before: Tensor) -> Tensor:
    clock = times.reshape(*times.shape, *[1] * (mask.ndim - 2))
    own = torch.where(mask[:, 1:] & before.isfinite(), clock[:, 1:] - before, torch.nan)
    every = torch.where(clock[:, 1:].isfinite(), clock[:, 1:] - clock[:, :-1], torch.nan)
    enough = mask.sum(1, keepdim=True) >= _ENOUGH_FOR_OWN_STEP
    return _LONGEST_IN_STEPS * torch.where(enough, _median(own), _median(every))


def _median(steps: Tensor) -> Tensor:
    return steps.nanmedian(1, keepdim=True).values
