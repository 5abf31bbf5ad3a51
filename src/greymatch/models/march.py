"""Forecasting by naming the next point: interval by interval, the memory shifted by what was named."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.models.latents import Members
from greymatch.models.memory import Memory
from greymatch.models.network import Network
from greymatch.models.next_point import NextPoint
from greymatch.simulation.solve import Solution
from greymatch.simulation.start import Start
from greymatch.simulation.status import Status

SLACK = 1e-3  # of a typical step: times so close are the same


@dataclass(frozen=True)
class Clock:
    """Where each member stands: at `now` (B,), with the times (B, T) that are `left` to be reached.

    Intervals are like those that were learned from: one ends at the last time asked for that is at least `shortest`
    and at most one `step` ahead, or else after a step.
    """

    now: Tensor
    times: Tensor
    left: Tensor
    step: Tensor
    shortest: Tensor

    def end(self) -> Tensor:
        """The end of the interval (B,) that starts now."""
        ahead = self.times - self.now[:, None]
        near = self.left & (ahead >= self.shortest - SLACK * self.step) & (ahead <= (1 + SLACK) * self.step)
        last = ahead.masked_fill(~near, 0.0).amax(1)
        return self.now + torch.where(last > 0, last, self.step)

    def passed(self, end: Tensor) -> Tensor:
        """The times (B, T) within the interval."""
        return self.left & (self.times <= end[:, None] + SLACK * self.step)

    def after(self, end: Tensor) -> Clock:
        return replace(self, now=end, left=self.left & ~self.passed(end))


@dataclass(frozen=True)
class Drive:
    """Inputs in units of their spread; none is asked beyond the last time of the forecast (B,), where none is known."""

    network: Network
    signals: Signals | None
    last: Tensor

    def over(self, now: Tensor, end: Tensor) -> Tensor:
        """In the middle and at the end of the interval (B, 2, U)."""
        if self.signals is None:
            return now.new_zeros(len(now), 2, 0, dtype=torch.float32)
        times = torch.stack([0.5 * (now + end), end], 1).minimum(self.last[:, None])
        return self.network.scales.of_inputs(self.signals.at(torch.arange(len(now), device=now.device), times).float())


def march(
    network: Network,
    start: Start,
    members: Members,
    times: Tensor,
    signals: Signals | None = None,
    max_intervals: int = 10_000,
) -> Solution:
    """States (B, T, S, *grid) at `times` (B, T), from one observation to the next that is named."""
    scales, net, memory = network.scales, network.next_point, members.recalled()
    spread, center = (_over_grid(part, memory.last) for part in (scales.spread, scales.center))
    kick = _over_grid(members.kick * scales.step / scales.spread, memory.last)
    now, asked = start.time.to(times), times.isfinite()
    drive = Drive(network, signals, times.masked_fill(~asked, -torch.inf).amax(1).maximum(now))
    clock = Clock(now, times, asked, scales.step.to(times), net.shortest.to(times) * scales.step)
    values = memory.values.new_full((*times.shape, *memory.last.shape[1:]), torch.nan)
    used = 0
    while bool(clock.left.any()) and used < max_intervals:
        end, used = clock.end(), used + 1
        steps, ahead = ((end - clock.now) / clock.step).float(), drive.over(clock.now, end)
        way = follow(net, memory, steps, ahead, kick, network.settings.memory.substeps)
        _write(values, way, clock, end)
        memory, clock = memory.shifted(way[:, -1], steps, ahead[:, 1]), clock.after(end)
    return Solution(center + values * spread, _status(values, asked, clock.left), used)


def follow(net: NextPoint, memory: Memory, steps: Tensor, ahead: Tensor, kick: Tensor, parts: int) -> Tensor:
    """The way to the next observation (B, parts + 1, S, *grid), by dx/dt = (x_next - x) / (t_next - t).

    Each part goes straight to where the velocity at its start leads: exact wherever the same point is named all the
    way, and the last part ends in the point named, so that the pole there does no harm.
    """
    way = [memory.last]
    for index in range(parts):
        part = torch.full_like(steps, index / parts)
        named = net(way[-1], part, steps, memory, ahead) + kick * steps.reshape(-1, *(1,) * (kick.ndim - 1))
        way.append(way[-1] + (named - way[-1]) / (parts - index))
    return torch.stack(way, 1)


def _write(values: Tensor, way: Tensor, clock: Clock, end: Tensor) -> None:
    """Put the way's values at the times within the interval into `values` (B, T, S, *grid)."""
    passed, parts = clock.passed(end), way.shape[1] - 1
    rows = torch.arange(len(way), device=way.device)
    for column in passed.any(0).nonzero()[:, 0].tolist():
        place = parts * ((clock.times[:, column] - clock.now) / (end - clock.now)).clamp(0, 1)
        left = place.long().clamp_max(parts - 1)
        rest = _over_grid((place - left).to(way)[:, None], way[:, 0])
        # a start is where it is, whatever comes after it
        here = torch.where(rest == 0, way[rows, left], torch.lerp(way[rows, left], way[rows, left + 1], rest))
        chosen = passed[:, column].reshape(-1, *(1,) * (here.ndim - 1))
        values[:, column] = torch.where(chosen, here, values[:, column])


def _status(values: Tensor, asked: Tensor, left: Tensor) -> Tensor:
    lost = (asked & ~left & ~values.flatten(2).isfinite().all(2)).any(1)
    status = torch.where(left.any(1), Status.TOO_MANY_STEPS, Status.SOLVED)
    return torch.where(lost, Status.NOT_FINITE, status)


def _over_grid(part: Tensor, like: Tensor) -> Tensor:
    """(..., S) shaped to broadcast over (..., S, *grid) of `like` (B, S, *grid)."""
    return part.reshape(*part.shape, *(1,) * (like.ndim - 2))
