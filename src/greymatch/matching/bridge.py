"""Brownian bridges between observations: random paths, for data with noise in the dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.matching.gaps import check_max_gap, neighbours, shrink_grid
from greymatch.matching.linear import Linear
from greymatch.matching.path import Device, Located, Matched, Path, picked, widen
from greymatch.together import normal

Velocity = Literal["drift", "flow"]

# The drift is infinite at the end of a bridge, the flow at both ends.
_EDGE = 1e-3


@dataclass(frozen=True)
class Bridge:
    """x(t) ~ N(m, s^2) with m linear from t0 to t1, and s^2 = sigma^2 (t1 - t) (t - t0) / (t1 - t0).

        path = Bridge(sigma=0.1)(times, values, mask)
        point = path.at(rows, query, generator)     # a new draw with each call

    t0 and t1 are a state's own observations around t. `velocity="drift"` is the drift (x1 - x) / (t1 - t)
    of the bridge's equation dx = drift dt + sigma dW; "flow" is the velocity m' + (s'/s) (x - m) of the
    deterministic flow with the same marginals. Both are m' on average. `sigma`, one number or one for each
    state, is in units of the values per square root of time: over a unit of time this is the variance of
    the paper. `max_gap` as in `Linear`.

    Not for second-order physics (a bridge has no acceleration), nor for clean data, where a spline's target
    has no noise.
    """

    sigma: float | tuple[float, ...]
    velocity: Velocity = "drift"
    max_gap: float | None = None

    def __post_init__(self) -> None:
        check_max_gap(self.max_gap)
        if not all(isinstance(s, (int, float)) and 0 <= s < torch.inf for s in self._sigmas()):
            raise GreymatchError(f"`sigma` must be finite and not negative; got {self.sigma!r}. Try 0.1.")
        if self.velocity not in get_args(Velocity):
            hint = did_you_mean(str(self.velocity), get_args(Velocity))
            raise GreymatchError(f"`velocity` must be 'drift' or 'flow'; got {self.velocity!r}.{hint}")

    def _sigmas(self) -> tuple[float, ...]:
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,)

    @property
    def name(self) -> str:
        return "bridge-" + ",".join(str(s) for s in self._sigmas())

    def __call__(self, times: Tensor, values: Tensor, mask: Tensor) -> BridgePath:
        states = values.shape[2]
        if isinstance(self.sigma, tuple) and len(self.sigma) != states:
            raise GreymatchError(f"`sigma` must be one number or {states}, one per state; got {self.sigma}.")
        line = Linear(self.max_gap)(times, values, mask)
        sigma = torch.tensor(self._sigmas(), dtype=torch.float64).expand(states).clone()
        since, until = _spans(line.breaks, mask.cpu())
        return BridgePath(line, since, until, sigma, self.velocity)


@dataclass(frozen=True, eq=False)
class BridgePath:
    """Bridges with the means of `line`; made by `Bridge`, used like `Path`.

    `since` and `until` (row, interval, state, *grid or ones) are the times from the observation before to
    the left break, and from there to the observation after: a state with gaps has longer bridges.

    Points are kept 1e-3 of an interval away from its ends, where the velocities are infinite;
    `Matched.time` is the time used.
    """

    line: Path
    since: Tensor
    until: Tensor
    sigma: Tensor
    velocity: Velocity

    @property
    def degree(self) -> int:
        return self.line.degree

    def located(self, rows: Tensor, times: Tensor) -> Located:
        return self.line.located(rows, times)

    def at(
        self, rows: Tensor, times: Tensor, generator: torch.Generator | None = None, spot: Located | None = None
    ) -> Matched:
        spot = spot or self.located(rows, times)
        offset = spot.offset.clamp(_EDGE * spot.width, (1 - _EDGE) * spot.width)
        times = times.to(offset) - spot.offset + offset
        mean = self.line.evaluate(spot.place, offset, times)
        behind, ahead = self._sides(spot.place, offset)
        sigma = self.sigma.reshape(-1, *[1] * (mean.position.ndim - 3))
        kick = sigma * normal(mean.position.shape, generator, sigma)
        position = mean.position + kick * (ahead * behind / (ahead + behind)).sqrt()
        return mean._replace(position=position, velocity=mean.velocity + kick * self._pull(behind, ahead))

    def position(self, rows: Tensor, times: Tensor) -> Tensor:
        """The bridge's mean."""
        return self.line.position(rows, times)

    def _sides(self, place: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """The times since the bridge began and until it ends."""
        since, until = picked(self.since, place), picked(self.until, place)
        dt = widen(offset.to(since.dtype), since)
        return since + dt, until - dt

    def _pull(self, behind: Tensor, ahead: Tensor) -> Tensor:
        """The velocity beside the mean's, for each unit of `kick`, where x - m = s kick / sigma."""
        if self.velocity == "drift":
            return -(behind / (ahead * (ahead + behind))).sqrt()
        return (ahead - behind) / (2 * (ahead * behind * (ahead + behind)).sqrt())

    def trust(self, rows: Tensor, times: Tensor, order: int = 1, spot: Located | None = None) -> Tensor:
        return self.line.trust(rows, times, order, spot)

    def to(self, device: Device = None, dtype: torch.dtype | None = None) -> BridgePath:
        line = self.line.to(device, dtype)
        like = line.coefficients
        return BridgePath(line, self.since.to(like), self.until.to(like), self.sigma.to(like), self.velocity)


def _spans(times: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """`since` and `until`; where an observation is missing, the interval's own ends (it is not trusted)."""
    mask = shrink_grid(mask)
    before, after = neighbours(times, mask)
    left, right = (widen(end, before) for end in (times[:, :-1], times[:, 1:]))
    since = torch.where(before.isfinite(), left - before, 0.0)
    until = torch.where(after.isfinite(), after, right) - left
    return since.nan_to_num(0.0, posinf=0.0), until.nan_to_num(1.0, posinf=1.0)
