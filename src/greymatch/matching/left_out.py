"""How well an interpolant knows what it was not shown: whether samples are dense and clean enough for it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.smoothing import smooth
from greymatch.data.trajectories import Trajectories
from greymatch.matching.interpolants import interpolant
from greymatch.matching.path import AnyPath, Matched

MOST_ROWS, MOST_POINTS, MOST_PIXELS = 32, 400, 32


@dataclass(frozen=True)
class _Some:
    """Times (N, T), values and mask (N, T, S, P) of a few trajectories, points and pixels, and their noise."""

    times: Tensor
    values: Tensor
    mask: Tensor
    noise: tuple[float, ...]

    @staticmethod
    def of(data: Trajectories) -> _Some:
        rows = torch.linspace(0, len(data) - 1, min(MOST_ROWS, len(data))).long()
        few = data.select(rows).first(MOST_POINTS).to("cpu")
        flat = [part.reshape(*part.shape[:3], -1) for part in (few.values.double(), few.mask)]
        pixels = torch.linspace(0, flat[0].shape[3] - 1, min(MOST_PIXELS, flat[0].shape[3])).long()
        return _Some(few.times, flat[0][..., pixels], flat[1][..., pixels], data.noise)

    def through(self, name: str, shown: Tensor) -> AnyPath:
        """The path through what is `shown`."""
        values = self.values.masked_fill(~shown, 0.0)
        if self.noise:
            values = smooth(self.times, values, shown, self.noise).values
        return interpolant(name)(self.times, values.masked_fill(~shown, 0.0), shown)


def left_out_error(data: Trajectories, name: str) -> Tensor:
    """The error (S,) with which every second observation tells the others, relative to each state's spread.

    NaN for a state that is observed too seldom to tell. Between all observations the error is smaller, by 2 to the
    power of the interpolant's order where they are dense and clean; noise it shows as it is. Noise that is assumed of
    the data is smoothed away from what is shown.
    """
    some = _Some.of(data)
    shown = _every_second(some.mask)
    path = some.through(name, shown)
    rows = torch.arange(len(some.times))
    error = (path.position(rows, some.times) - some.values).square()
    asked = some.mask & ~shown & path.trust(rows, some.times)[..., None]
    return (_mean(error, asked) / _spread(some.values, some.mask)).sqrt()


def derivative_doubt(data: Trajectories, name: str, order: int) -> Tensor:
    """How much the highest derivative (S,) changes when every second observation is left out, relative to its size.

    Small where samples are dense and clean; about 1 where noise, or too few samples, make most of it. Noise that is
    assumed of the data is smoothed away before.
    """
    some = _Some.of(data)
    rows, middle = torch.arange(len(some.times)), _middles(some.times)
    whole, half = (some.through(name, shown) for shown in (some.mask, _every_second(some.mask)))
    both = (whole.trust(rows, middle, order) & half.trust(rows, middle, order))[..., None]
    found = [_highest(path.at(rows, middle), order) for path in (whole, half)]
    asked = both.expand(found[0].shape)
    return (_mean((found[0] - found[1]).square(), asked) / _mean(found[0].square(), asked)).sqrt()


def _every_second(mask: Tensor) -> Tensor:
    shown = mask.clone()
    shown[:, 1::2] = False
    return shown


def _middles(times: Tensor) -> Tensor:
    """The middle of each step (N, T - 1); the first time where a trajectory has ended."""
    left, right = times[:, :-1], times[:, 1:]
    return torch.where(right.isfinite(), 0.5 * (left + right), times[:, :1])


def _highest(matched: Matched, order: int) -> Tensor:
    found = matched.acceleration if order == 2 else matched.velocity
    return matched.velocity * torch.nan if found is None else found


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    """The mean (S,) over what is chosen; NaN where nothing is."""
    axes = (0, 1, 3)
    return torch.where(chosen, values, 0.0).sum(axes) / chosen.sum(axes)


def _spread(values: Tensor, mask: Tensor) -> Tensor:
    center = _mean(values, mask)[:, None]
    return _mean((values - center).square(), mask)
