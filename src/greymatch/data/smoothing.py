"""Noisy observations smoothed: the path that noise of a known size leaves most likely.

A state moves as a twice integrated Wiener process, x''' = sqrt(q) w(t) with white w, and is observed with noise. Its
mean given all observations is the quintic smoothing spline; a Kalman filter and a backward pass give it for uneven
times and gaps, with its covariance. The roughness q is the one under which the observations are most likely, for each
trajectory and state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.matching.gaps import shrink_grid

# q in units of noise^2 / step^5, from a parabola to no smoothing at all
ROUGHNESS = tuple(10 ** (0.5 * power) for power in range(-16, 13))
UNKNOWN = 1e10  # variance of position, velocity and acceleration before the first observation, in units of the noise's
POINTS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Smoothed:
    """Values (B, T, S, *grid), with the standard deviations `doubt` (B, T, S, *grid, 3) of position, velocity and
    acceleration there; at each row's last time their means `phase` (B, S, *grid, 3) and `covariance`
    (B, S, *grid, 3, 3). All in the units of the data."""

    values: Tensor
    doubt: Tensor
    phase: Tensor
    covariance: Tensor

    @staticmethod
    def along(values: Tensor, doubt: Tensor) -> Smoothed:
        """Values (B, T, S) found otherwise, each phase as much in `doubt` (B, T, S); where they end, nobody asks."""
        nowhere = values.new_zeros(len(values), 0)
        return Smoothed(values, doubt[..., None].expand(*doubt.shape, 3), nowhere, nowhere)

    def select(self, rows: Tensor) -> Smoothed:
        return Smoothed(self.values[rows], self.doubt[rows], self.phase[rows], self.covariance[rows])

    @staticmethod
    def joined(parts: list[Smoothed]) -> Smoothed:
        return Smoothed(*(torch.cat([getattr(part, one.name) for part in parts]) for one in fields(Smoothed)))


def smooth(times: Tensor, values: Tensor, mask: Tensor, noise: Sequence[float]) -> Smoothed:
    """Rows of observations (B, T, S, *grid) at `times` (B, T), padded with inf, with white noise of size `noise` (S,).

        smooth(times, values, mask, [0.02]).values

    Every noise must be positive. What is not observed is filled in. Each row is smoothed by itself, all pixels of a
    field with the same roughness. Takes time in proportion to T; not for a million points.
    """
    at_once = max(1, POINTS_AT_ONCE // values[0].numel())
    parts = zip(times.split(at_once), values.split(at_once), mask.split(at_once), strict=True)
    return Smoothed.joined([_smoothed(*part, times.new_tensor(noise)) for part in parts])


def _smoothed(times: Tensor, values: Tensor, mask: Tensor, noise: Tensor) -> Smoothed:
    axes = values.ndim - 3
    steps, unit = _steps(times)
    size = noise.reshape(-1, *(1,) * axes)
    series = Series.of(steps, values.to(noise) / size, mask)
    roughness = _likeliest(series, noise.new_tensor(ROUGHNESS))
    course = _backward(series, list(_filter(series, roughness.reshape(*roughness.shape, *(1,) * axes, 1))))
    scale = unit.reshape(-1, *(1,) * (axes + 1), 1) ** -torch.arange(3, device=unit.device) * size[..., None]
    return Smoothed(
        values=(torch.stack(course.positions, 1) * size).to(values.dtype),
        doubt=(torch.stack(course.variances, 1).sqrt() * scale[:, None]).to(values.dtype).expand(*values.shape, 3),
        phase=course.mean * scale,
        covariance=course.covariance * scale[..., None] * scale[..., None, :],
    )


def _likeliest(series: Series, roughness: Tensor) -> Tensor:
    """Of the roughnesses (G,) the one (B, S) under which the observations of all pixels are most likely."""
    found = sum(update.likelihood for update in _filter(series, roughness))
    assert isinstance(found, Tensor), "every row has a point"
    return roughness[(found.flatten(2, -2).sum(2) if found.ndim > 3 else found).argmax(-1)]


def _steps(times: Tensor) -> tuple[Tensor, Tensor]:
    """Steps (B, T - 1) in units (B,) of each row's median one; padding takes no time."""
    steps = times.diff(dim=1)
    steps = torch.where(times[:, 1:].isfinite(), steps, torch.nan)
    unit = steps.nanmedian(1).values.nan_to_num(1.0) if steps.shape[1] else torch.ones_like(times[:, 0])
    return (steps / unit[:, None]).nan_to_num(0.0), unit


class Series(NamedTuple):
    """Observations in units of their noise and step: `values` (B, T, S, *grid), with `steps` (b, T - 1) and `seen`
    (b, T, s, *g) as 0 or 1, each axis of size one where all rows (states, pixels) share it: so they share covariances.
    """

    steps: Tensor
    values: Tensor
    seen: Tensor

    @staticmethod
    def of(steps: Tensor, values: Tensor, mask: Tensor) -> Series:
        mask = shrink_grid(mask)
        alike = torch.allclose(steps, steps[:1].expand_as(steps), rtol=1e-6, atol=0.0)
        if alike and bool((mask == mask[:1]).all()):
            steps, mask = steps[:1], mask[:1]
        if bool((mask == mask[:, :, :1]).all()):
            mask = mask[:, :, :1]
        return Series(steps, values.masked_fill(~mask, 0.0), mask.to(values))


class Update(NamedTuple):
    """A time of the filter: mean and covariance given the observations up to it, and up to the one before (`ahead`);
    `likelihood` is the logarithm of how likely this one was. All have the axes (b, s, *g, G) of G roughnesses."""

    mean: Tensor
    covariance: Tensor
    ahead_mean: Tensor
    ahead_covariance: Tensor
    likelihood: Tensor


def _filter(series: Series, roughness: Tensor) -> Iterator[Update]:
    """Kalman's filter with noise of size one; `roughness` (..., G) must broadcast over (B, S, *grid, G)."""
    values, seen = series.values[..., None], series.seen[..., None]
    mean = (values[:, 0] * torch.ones_like(roughness))[..., None] * values.new_tensor([1.0, 0.0, 0.0])
    start = UNKNOWN * torch.eye(3, dtype=values.dtype, device=values.device)
    spread = start.expand(*torch.broadcast_shapes(seen[:, 0].shape, roughness.shape), 3, 3)
    for index in range(values.shape[1]):
        if index:
            move, jolt = _moves(series.steps[:, index - 1], mean.ndim - 2)
            mean = (move @ mean[..., None])[..., 0]
            spread = move @ spread @ move.mT + roughness[..., None, None] * jolt
        update = _updated(mean, spread, values[:, index], seen[:, index])
        mean, spread = update.mean, update.covariance
        yield update


def _updated(mean: Tensor, spread: Tensor, value: Tensor, seen: Tensor) -> Update:
    wrong, size = value - mean[..., 0], spread[..., 0, 0] + 1
    gain = spread[..., 0] * (seen / size)[..., None]
    after = spread - gain[..., None] * spread[..., :1, :]
    likelihood = -0.5 * seen * (wrong.square() / size + size.log())
    return Update(mean + gain * wrong[..., None], 0.5 * (after + after.mT), mean, spread, likelihood)


def _moves(step: Tensor, axes: int) -> tuple[Tensor, Tensor]:
    """How a phase moves over `step` (b,), and the covariance of what jolts it on the way for a roughness of one."""
    h = step.reshape(-1, *(1,) * axes)
    one, none = torch.ones_like(h), torch.zeros_like(h)
    move = torch.stack([one, h, h**2 / 2, none, one, h, none, none, one], -1).unflatten(-1, (3, 3))
    powers = [h**5 / 20, h**4 / 8, h**3 / 6, h**4 / 8, h**3 / 3, h**2 / 2, h**3 / 6, h**2 / 2, h]
    return move, torch.stack(powers, -1).unflatten(-1, (3, 3))


class Course(NamedTuple):
    """Positions (B, S, *grid) at each time given all observations, and variances (b, s, *g, 3) of the whole phase;
    mean and covariance at the last one."""

    positions: list[Tensor]
    variances: list[Tensor]
    mean: Tensor
    covariance: Tensor


def _backward(series: Series, updates: list[Update]) -> Course:
    """Rauch's, Tung's and Striebel's pass from the last time to the first."""
    last = updates[-1]
    mean, spread = last.mean, last.covariance
    course = [(mean, spread)]
    for index in range(len(updates) - 2, -1, -1):
        here, after = updates[index], updates[index + 1]
        move, _ = _moves(series.steps[:, index], mean.ndim - 2)
        gain = torch.linalg.solve(after.ahead_covariance, move @ here.covariance).mT
        mean = here.mean + (gain @ (mean - after.ahead_mean)[..., None])[..., 0]
        spread = here.covariance + gain @ (spread - after.ahead_covariance) @ gain.mT
        course.append((mean, spread))
    phase = last.mean[..., 0, :]
    return Course(
        positions=[mean[..., 0, 0] for mean, _ in reversed(course)],
        variances=[spread[..., 0, :, :].diagonal(dim1=-2, dim2=-1).clamp_min(0) for _, spread in reversed(course)],
        mean=phase,
        covariance=last.covariance[..., 0, :, :].expand(*phase.shape, 3),
    )
