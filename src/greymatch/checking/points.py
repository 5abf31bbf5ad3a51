"""Points on the recorded motion, at which the known physics is asked."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.matching.observed import interpolated
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

MOST_ROWS, MOST_POINTS = 48, 64
MOST_NUMBERS = 2**18
EDGE = 2  # points at each end, where interpolants err


@dataclass(frozen=True)
class Points:
    """N trajectories at M times: phase (N, M, order*S, *grid), its highest derivative, and where both are sound.

    All but `times` and `phase` are in units of the data: derivatives of their scales, inputs of their spread.
    """

    physics: Physics
    times: Tensor
    phase: Tensor
    top: Tensor
    sound: Tensor
    inputs: Tensor | None
    scales: Scales

    @staticmethod
    def of(physics: Physics, data: Trajectories, settings: Settings) -> Points:
        """Points of some trajectories, as many as can be asked in a second or two."""
        data = _some(data)
        path = interpolated(data, settings, physics.order)
        scales = Scales.of(data, path)
        rows, times = torch.arange(len(data)), _times(data)
        matched = path.at(rows, times)
        highest = matched.acceleration if physics.order == 2 else matched.velocity
        assert highest is not None  # `interpolated` asks for a path that bends
        unit = _channels(scales.top(physics.order), len(physics.grid))
        sound = _channels(path.trust(rows, times, physics.order), len(physics.grid)).expand(highest.shape)
        return Points(
            physics=physics,
            times=times,
            phase=torch.cat([matched.position] + [matched.velocity] * (physics.order - 1), 2).float(),
            top=(highest / unit).double(),
            sound=sound & highest.isfinite(),
            inputs=data.inputs.at(rows, times).float() if data.inputs else None,
            scales=scales,
        )

    def known(self, eps: Tensor) -> Tensor:
        """What the physics gives (N, M, S, *grid) with latent parameters (N, L)."""
        theta = self.physics.push(eps)[:, None].expand(-1, self.times.shape[1], -1)
        value = self.physics.evaluate(self.times, self.phase, theta, self.inputs)
        return value / _channels(self.scales.top(self.physics.order), len(self.physics.grid))

    def slopes(self, eps: Tensor) -> list[Tensor]:
        """How each parameter moves that, for one standard deviation of its prior: (N, M, S, *grid) each."""
        with torch.enable_grad():
            at = eps.detach().requires_grad_()
            value = self.known(at)
            if not value.requires_grad:
                return [torch.zeros_like(value).double() for _ in range(eps.shape[1])]
            # what goes back is linear in the weights of the values, and its own derivative goes forwards
            weights = torch.zeros_like(value, requires_grad=True)
            back = _slope((weights * value).sum(), at)
            return [_slope(one, weights).detach().double() for one in back.sum(0).unbind()]

    def middle(self) -> Tensor:
        """The latent parameters (N, L) of the prior's middle."""
        return torch.zeros(len(self.times), len(self.physics.free))

    def drawn(self, seed: int = 0) -> Tensor:
        """Latent parameters (N, L) from the prior."""
        return torch.randn(self.middle().shape, generator=torch.Generator().manual_seed(seed))

    def size(self, values: Tensor) -> Tensor:
        """Root mean square (S,) of (N, M, S, *grid) over all that is sound."""
        squares, count = (values.square() * self.sound).movedim(2, 0), self.sound.movedim(2, 0).flatten(1).sum(1)
        return (squares.flatten(1).sum(1) / count.clamp_min(1)).sqrt()

    def flat(self, values: Tensor) -> Tensor:
        """(N, R) of (N, M, S, *grid): all that is sound of a trajectory in a row, and zero elsewhere."""
        return (values * self.sound).flatten(1).double()


def _slope(value: Tensor, at: Tensor) -> Tensor:
    """Of one number, to be differentiated again; zero where it does not move with that, or in steps alone, as a sign
    does."""
    if not value.requires_grad:
        return torch.zeros_like(at)
    (found,) = torch.autograd.grad(value, at, create_graph=True, allow_unused=True, materialize_grads=True)
    return found


def _some(data: Trajectories) -> Trajectories:
    each = max(1, data.values[0].numel())
    count = min(MOST_ROWS, len(data), max(4, MOST_NUMBERS // each))
    return data.select(torch.linspace(0, len(data) - 1, count).long().unique())


def _times(data: Trajectories) -> Tensor:
    """Observed times (N, M), evenly along each trajectory but for its ends."""
    pixels = data.values[0, 0].numel()
    count = min(MOST_POINTS, max(8, MOST_NUMBERS // (pixels * len(data))), int(data.lengths.max()))
    edge = ((data.lengths - 1) // 4).clamp_max(EDGE)
    part = torch.linspace(0, 1, count, dtype=torch.float64)
    index = edge[:, None] + part * (data.lengths - 1 - 2 * edge)[:, None]
    return data.times.gather(1, index.round().long())


def _channels(values: Tensor, axes: int) -> Tensor:
    return values.reshape(*values.shape, *(1,) * axes)
