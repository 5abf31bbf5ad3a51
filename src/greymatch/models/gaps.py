"""Gaps in a window, bridged: by what the observations on both sides say where a gap is short, by a line where not."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.matching.lagrange_weights import value_weights

NODES = 6  # observations that bridge a gap, as many on either side where the window has them
LONGEST = 4.0  # of a gap that is short, in steps of the window


class Bridged(NamedTuple):
    """`values` (B, W, S, *grid) without gaps, and where they are `known`: observed, or in a short gap."""

    values: Tensor
    known: Tensor


def bridged(window: Window, nodes: int = NODES) -> Bridged:
    """By polynomials through `nodes` observations; what is known does not depend on how many."""
    if bool(window.mask.all()):
        return Bridged(window.values, window.mask)
    values, known = lines(window), window.mask.clone()
    mask, observed = (part.movedim(1, -1) for part in (window.mask, window.values))
    row, *channel, at = (~mask).nonzero(as_tuple=True)
    place = (row, *channel)
    seen, times = mask[place], window.times[row]
    around, sound = _around(seen, times, at, nodes)
    offsets = times.gather(1, around) - times.gather(1, at[:, None])
    found = (value_weights(offsets) * observed[place].gather(1, around).to(offsets)).sum(1)
    whole = values.movedim(1, -1)
    whole[(*place, at)] = torch.where(sound, found.to(values.dtype), whole[(*place, at)])
    known.movedim(1, -1)[(*place, at)] = sound
    return Bridged(values, known)


def _around(seen: Tensor, times: Tensor, at: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    """The observations (M, nodes) around places `at` (M,) of rows `seen` (M, W); whether they bridge a short gap."""
    length = seen.shape[1]
    index = torch.arange(length, device=seen.device)
    ordered = torch.where(seen, index, length + index).argsort(1)  # those observed, in time, then the others
    before = (seen & (index < at[:, None])).sum(1)
    count = seen.sum(1)
    first = (before - nodes // 2).clamp_min(0).minimum((count - nodes).clamp_min(0))
    around = ordered.gather(1, (first[:, None] + torch.arange(nodes, device=seen.device)).clamp_max(length - 1))
    left, right = (ordered.gather(1, side.clamp(0, length - 1)[:, None]) for side in (before - 1, before))
    gap = (times.gather(1, right) - times.gather(1, left))[:, 0]
    step = (times[:, -1] - times[:, 0]) / (length - 1)
    return around, (before > 0) & (before < count) & (count >= NODES) & (gap <= LONGEST * step)


def lines(window: Window) -> Tensor:
    """The window's values with gaps bridged by lines between observed neighbours, held at the ends."""
    count = window.mask.shape[1]
    shape = (1, count) + (1,) * (window.mask.ndim - 2)
    index = torch.arange(count, device=window.mask.device).reshape(shape).expand(window.mask.shape)
    before = torch.where(window.mask, index, -1).cummax(1).values
    after = torch.where(window.mask, index, count).flip(1).cummin(1).values.flip(1)
    left = torch.where(before >= 0, before, after.clamp_max(count - 1))
    right = torch.where(after < count, after, left)
    times = window.times.reshape(*window.times.shape, *shape[2:]).expand(window.mask.shape)
    start, stop = times.gather(1, left), times.gather(1, right)
    part = ((times - start) / (stop - start).clamp_min(1e-300)).clamp(0, 1)
    low, high = window.values.gather(1, left), window.values.gather(1, right)
    return low + (high - low) * part.to(low.dtype)
