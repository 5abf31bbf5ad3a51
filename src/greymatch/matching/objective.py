"""The simulation-free objective: the ELBO of velocities (or accelerations) at points of the window's future."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.matching.path import Matched, picked
from greymatch.methods import method_named
from greymatch.models.dynamics import Parts
from greymatch.models.features import Features
from greymatch.models.latents import Encoded, Latents
from greymatch.models.network import Network
from greymatch.together import integers, normal, over_all

SURE = 0.1  # relative error of a derivative that is as good as none, as far as points are weighed by it
LEAST = torch.finfo(torch.float32).tiny  # that is counted, where nothing is
SHORTEST = 0.1  # spreads of a state, by which it counts as moved at least


class Posed(NamedTuple):
    """What the field is asked at the matching points, and to say there: all that no net has a part in.

    `known` (B, M, S, *grid) is what the physics says, `target` what is to be matched. The net is asked at `times`
    (B, N), `phase` (B, N, order*S, *grid) and `inputs` (B, N, U): the M points and, if `step` (B, M, 1...) tells how
    far away these are, as many beside them.
    """

    known: Tensor
    target: Tensor
    times: Tensor
    phase: Tensor
    inputs: Tensor | None
    step: Tensor | None


class Sample(NamedTuple):
    """A training batch: what the encoder sees of B windows, and M points of each one's future to be matched.

    `trusted` (B, M, S) tells which points are sound, `inputs` (B, M, U) are known there, `rows` (B,) say whose
    window it is. `settled` (B, L + Z) are its latents, once they need not be encoded. `doubt` (B, M, S) is the standard
    deviation that noise leaves to the highest derivative, None without noise. `posed` is what follows from settled
    latents, if that is worked out already.
    """

    features: Features
    matched: Matched
    trusted: Tensor
    inputs: Tensor | None
    rows: Tensor
    settled: Tensor | None = None
    doubt: Tensor | None = None
    posed: Posed | None = None

    def latents(self, free: int) -> Latents | None:
        """Those that are settled, the first `free` of them of parameters."""
        return None if self.settled is None else Latents(self.settled[:, :free], self.settled[:, free:])


class Loss(NamedTuple):
    """The loss and its terms, averaged over the windows of a batch.

    `errors` (C,) are mean squares in units of the data and of the window's amplitude; they drive the noise. Latents
    that are settled were not encoded, and have no KL.
    """

    total: Tensor
    matching: Tensor
    kl_theta: Tensor | None
    kl_z: Tensor | None
    residual: Tensor
    sensitivity: Tensor
    errors: Tensor


class Objective(nn.Module):
    """L = -n E_q[log N(velocity; model, noise)] + KL(theta) + KL(z) + n (size E|r| + sensitivity sum_i E|dr/dx_i|).

    `noise` (C,) holds the variance that recent batches left unexplained in each channel, so the KL enters with
    weight 1 and needs no tuning. n is the evidence: how many independent velocities the window's future counts
    for. For order 2 the channels are those of the paper's second-order objective, velocity and alpha times
    acceleration. A deterministic method (GB-DM) takes the encoder's means and pays no KL.

    Not an evidence bound of the trajectory itself: velocities at several points are taken as independent.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.settings = network.settings.matching
        self.variational = method_named(network.settings.method).variational
        self.evidence = self.settings.evidence or float(network.settings.window)

    @property
    def channels(self) -> int:
        """How many errors are weighed, each by a noise of its own."""
        return len(self.network.physics.states) * (1 + self.network.dynamics.learns_velocity)

    def counts(self, sample: Sample) -> Tensor:
        """What the points of a batch count for together (S,)."""
        return _worth(sample, self._unit(sample)).sum((0, 1))

    def forward(
        self, sample: Sample, noise: Tensor, generator: torch.Generator | None, counts: Tensor | None = None
    ) -> Loss:
        latents, encoded = self._latents(sample, generator)
        posed = sample.posed or self._posed(sample, latents, generator)
        parts, sensitivity = self._asked(posed, latents)
        errors, weights, size = self._errors(sample, parts, posed.target, counts)
        fit = (0.5 * self.evidence * weights / noise * errors).sum()
        total = fit.add(size, alpha=self.evidence * self.settings.size)
        total = total.add(sensitivity, alpha=self.evidence * self.settings.sensitivity)
        kl_theta, kl_z = (encoded.eps.kl().mean(), encoded.z.kl().mean()) if encoded else (None, None)
        if self.variational and kl_theta is not None and kl_z is not None:
            total = total + kl_theta + kl_z
        return Loss(total, fit, kl_theta, kl_z, size, sensitivity, errors.detach())

    @torch.no_grad()
    def posed(self, sample: Sample, generator: torch.Generator | None) -> Sample:
        """A sample of settled latents with what follows from them: worth it for many batches at once."""
        latents = sample.latents(self.network.shapes.free)
        return sample if latents is None else sample._replace(posed=self._posed(sample, latents, generator))

    def _latents(self, sample: Sample, generator: torch.Generator | None) -> tuple[Latents, Encoded | None]:
        """Those of each window, and where they come from, unless they are settled."""
        settled = sample.latents(self.network.shapes.free)
        if settled is not None:
            return settled, None
        encoded = self.network.encode(sample.features, generator, sample=self.variational)
        return encoded.latents, encoded

    def _posed(self, sample: Sample, latents: Latents, generator: torch.Generator | None) -> Posed:
        matched, u = sample.matched, sample.inputs
        second = self.network.physics.order == 2
        phase = torch.cat([matched.position, matched.velocity], 2) if second else matched.position
        latents = self.network.dynamics.pushed(latents).over(matched.time.shape[1])
        known = self.network.dynamics.known(matched.time, phase, latents, u)
        phase, known, target = self._pixels((phase, known, self._target(matched)), generator)
        if not self.settings.sensitivity:
            return Posed(known, target, matched.time, phase, u, None)
        beside, driven, step = self._beside(phase, u, generator)
        times, phases = (torch.cat(pair, 1) for pair in ((matched.time, matched.time), (phase, beside)))
        inputs = None if u is None or driven is None else torch.cat([u, driven], 1)
        return Posed(known, target, times, phases, inputs, _over(step.abs().clamp_min(SHORTEST)[..., None], phase))

    def _pixels(self, fields: tuple[Tensor, ...], generator: torch.Generator | None) -> tuple[Tensor, ...]:
        """The fields (B, M, C, *grid) at a few random points of the grid (B, M, C, P, 1...), if the residual allows."""
        grid = fields[0].shape[3:]
        if self.settings.pixels >= grid.numel() or not self.network.settings.residual.pointwise:
            return fields
        chosen = torch.randint(grid.numel(), (self.settings.pixels,), generator=generator, device=fields[0].device)
        shape = (self.settings.pixels,) + (1,) * (len(grid) - 1)
        return tuple(field.flatten(3)[..., chosen].unflatten(3, shape) for field in fields)

    def _asked(self, posed: Posed, latents: Latents) -> tuple[Parts, Tensor]:
        """The field at the points, and how much its residual depends on states and inputs there: sum_i E|dr/dx_i|, by
        moving one x_i at each point.

        The least sensitive residual is the simplest one: it leaves to the physics whatever the physics can say. It is
        asked once, at the points and beside them: many small questions take longer than few large ones.
        """
        dynamics, known = self.network.dynamics, posed.known
        both = posed.step is not None and dynamics.composition.sees_physics
        seen = torch.cat([known, known], 1) if both else known
        learned = dynamics.learned(posed.times, posed.phase, latents.over(posed.times.shape[1]), posed.inputs, seen)
        if posed.step is None:
            parts = dynamics.composed(known, learned)
            return parts, parts.total.new_zeros(())
        learned, after = learned.chunk(2, 1)
        columns = posed.phase.shape[2] + (0 if posed.inputs is None else posed.inputs.shape[-1])
        return dynamics.composed(known, learned), columns * ((after - learned) / posed.step).abs().mean()

    def _beside(
        self, phase: Tensor, u: Tensor | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """The phase and the inputs with one of their columns moved, and by how much of its spread (B, M)."""
        dynamics = self.network.dynamics
        columns = phase.shape[2] + (0 if u is None else u.shape[-1])
        shape = phase.shape[:2]
        chosen = integers(columns, shape, generator, phase.device)
        step = normal(shape, generator, phase)
        spread = dynamics.scales_spread
        spread = spread if u is None else torch.cat([spread, dynamics.scales_input_spread])
        move = step[..., None] * picked(torch.diag(spread)[None], chosen)
        shift, push = (move, None) if u is None else move.split([phase.shape[2], u.shape[-1]], -1)
        driven = None if u is None or push is None else u + push
        return phase + _over(shift, phase), driven, step

    def _unit(self, sample: Sample) -> Tensor:
        """The speed (B, 1, S) in which errors are measured."""
        return self.network.dynamics.scales_top * sample.features.amplitude[:, None]

    def _errors(
        self, sample: Sample, parts: Parts, target: Tensor, counts: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Mean squares of the matched channels (C,), their weights (C,) and the mean size of the residual."""
        unit, trusted = self._unit(sample), _over(sample.trusted, parts.total)
        worth = _worth(sample, unit)
        share = worth / (over_all(worth.sum((0, 1))) if counts is None else counts).clamp_min(LEAST)
        both = torch.stack([parts.total - target, parts.residual]) / _over(unit, parts.total)
        wrong, added = _kept(both, trusted)
        errors, size = _means(wrong.square(), share), _means(added.abs(), share)
        weights = torch.ones_like(errors)
        if self.network.physics.order == 2:
            weights = weights * self.settings.alpha
        if parts.drift is not None:
            # the path's own velocity is the target, so the correction itself is the error
            usual = self.network.dynamics.scales_velocity * sample.features.amplitude[:, None]
            drift = parts.drift / _over(usual, parts.drift)
            errors = torch.cat([_means(_kept(drift, trusted).square(), share), errors])
            weights = torch.cat([torch.ones_like(weights), weights])
        return errors, weights, size.mean()

    def _target(self, matched: Matched) -> Tensor:
        if self.network.physics.order == 1:
            return matched.velocity
        assert matched.acceleration is not None, "fit refuses order 2 with a path that has no acceleration"
        return matched.acceleration


def _kept(values: Tensor, trusted: Tensor) -> Tensor:
    """Zero where a point is not trusted, whatever stands there: it may not even be finite."""
    return values.masked_fill(~trusted, 0.0)


def _worth(sample: Sample, unit: Tensor) -> Tensor:
    """What each point (B, M, S) counts for in a mean: those that noise leaves in doubt less, others the same, untrusted
    ones nothing.

    `unit` (B, 1, S) is the speed in which errors are measured.
    """
    worth = sample.trusted.to(unit)
    return worth if sample.doubt is None else worth / (SURE**2 + (sample.doubt / unit).square())


def _means(values: Tensor, share: Tensor) -> Tensor:
    """Means (S,) of values (B, M, S, *grid) over windows, points and grid, each point with its share."""
    values = values.flatten(3).mean(-1) if values.ndim > 3 else values
    return (values * share).sum((0, 1))


def _over(unit: Tensor, like: Tensor) -> Tensor:
    """(B, M or 1, S) shaped to broadcast over (B, M, S, *grid)."""
    return unit.reshape(*unit.shape, *(1,) * (like.ndim - 3))
