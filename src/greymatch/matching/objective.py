"""The simulation-free objective: the ELBO of velocities (or accelerations) at points of the window's future."""

from __future__ import annotations

from typing import Any, NamedTuple

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
Point = tuple[Tensor, Tensor, Latents, Tensor | None]  # time, phase, latents and inputs: what the field depends on


class Sample(NamedTuple):
    """A training batch: what the encoder sees of B windows, and M points of each one's future to be matched.

    `trusted` (B, M, S) tells which points are sound, `inputs` (B, M, U) are known there, `rows` (B,) say whose
    window it is. `settled` (B, L + Z) are its latents, once they need not be encoded. `doubt` (B, M, S) is the standard
    deviation that noise leaves to the highest derivative, None without noise.
    """

    features: Features
    matched: Matched
    trusted: Tensor
    inputs: Tensor | None
    rows: Tensor
    settled: Tensor | None = None
    doubt: Tensor | None = None

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

    def forward(self, sample: Sample, noise: Tensor, generator: torch.Generator | None) -> Loss:
        latents, encoded = self._latents(sample, generator)
        point, known, target = self._point(sample, latents, generator)
        parts, sensitivity = self._asked(point, known, generator)
        errors, weights, size = self._errors(sample, parts, target)
        fit = (0.5 * self.evidence * weights / noise * errors).sum()
        total = fit.add(size, alpha=self.evidence * self.settings.size)
        total = total.add(sensitivity, alpha=self.evidence * self.settings.sensitivity)
        kl_theta, kl_z = (encoded.eps.kl().mean(), encoded.z.kl().mean()) if encoded else (None, None)
        if self.variational and kl_theta is not None and kl_z is not None:
            total = total + kl_theta + kl_z
        return Loss(total, fit, kl_theta, kl_z, size, sensitivity, errors.detach())

    def _latents(self, sample: Sample, generator: torch.Generator | None) -> tuple[Latents, Encoded | None]:
        """Those of each window, and where they come from, unless they are settled."""
        settled = sample.latents(self.network.shapes.free)
        if settled is not None:
            return settled, None
        encoded = self.network.encode(sample.features, generator, sample=self.variational)
        return encoded.latents, encoded

    def _point(
        self, sample: Sample, latents: Latents, generator: torch.Generator | None
    ) -> tuple[Point, Tensor, Tensor]:
        """The arguments of the field at the matching points, what the physics says there, and what is to be matched."""
        matched = sample.matched
        second = self.network.physics.order == 2
        phase = torch.cat([matched.position, matched.velocity], 2) if second else matched.position
        latents = self.network.dynamics.pushed(latents).over(matched.time.shape[1])
        known = self.network.dynamics.known(matched.time, phase, latents, sample.inputs)
        phase, known, target = self._pixels((phase, known, self._target(matched)), generator)
        return (matched.time, phase, latents, sample.inputs), known, target

    def _pixels(self, fields: tuple[Tensor, ...], generator: torch.Generator | None) -> tuple[Tensor, ...]:
        """The fields (B, M, C, *grid) at a few random points of the grid (B, M, C, P, 1...), if the residual allows."""
        grid = fields[0].shape[3:]
        if self.settings.pixels >= grid.numel() or not self.network.settings.residual.pointwise:
            return fields
        chosen = torch.randint(grid.numel(), (self.settings.pixels,), generator=generator, device=fields[0].device)
        shape = (self.settings.pixels,) + (1,) * (len(grid) - 1)
        return tuple(field.flatten(3)[..., chosen].unflatten(3, shape) for field in fields)

    def _asked(self, point: Point, known: Tensor, generator: torch.Generator | None) -> tuple[Parts, Tensor]:
        """The field at the points, and how much its residual depends on states and inputs there: sum_i E|dr/dx_i|, by
        moving one x_i at each point.

        The least sensitive residual is the simplest one: it leaves to the physics whatever the physics can say. It is
        asked once, at the points and beside them: many small questions take longer than few large ones.
        """
        dynamics = self.network.dynamics
        if not self.settings.sensitivity:
            parts = dynamics.completed(*point, known)
            return parts, parts.total.new_zeros(())
        beside, step, columns = self._beside(point, generator)
        t, phase, latents, u = (_both(*pair) for pair in zip(point, beside, strict=True))
        seen = torch.cat([known, known], 1) if dynamics.composition.sees_physics else known
        learned, after = dynamics.learned(t, phase, latents, u, seen).chunk(2, 1)
        change = (after - learned) / _over(step.abs().clamp_min(0.1)[..., None], after)
        return dynamics.composed(known, learned), columns * change.abs().mean()

    def _beside(self, point: Point, generator: torch.Generator | None) -> tuple[Point, Tensor, int]:
        """The points with one of their columns moved, by how much of its spread (B, M), and how many columns."""
        t, phase, latents, u = point
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
        return (t, phase + _over(shift, phase), latents, driven), step, columns

    def _errors(self, sample: Sample, parts: Parts, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean squares of the matched channels (C,), their weights (C,) and the mean size of the residual."""
        amplitude, dynamics = sample.features.amplitude[:, None], self.network.dynamics
        unit, trusted = dynamics.scales_top * amplitude, _over(sample.trusted, parts.total)
        share = _share(sample, unit)
        both = torch.stack([parts.total - target, parts.residual]) / _over(unit, parts.total)
        wrong, added = _kept(both, trusted)
        errors, size = _means(wrong.square(), share), _means(added.abs(), share)
        weights = torch.ones_like(errors)
        if self.network.physics.order == 2:
            weights = weights * self.settings.alpha
        if parts.drift is not None:
            # the path's own velocity is the target, so the correction itself is the error
            drift = parts.drift / _over(dynamics.scales_velocity * amplitude, parts.drift)
            errors = torch.cat([_means(_kept(drift, trusted).square(), share), errors])
            weights = torch.cat([torch.ones_like(weights), weights])
        return errors, weights, size.mean()

    def _target(self, matched: Matched) -> Tensor:
        if self.network.physics.order == 1:
            return matched.velocity
        assert matched.acceleration is not None, "fit refuses order 2 with a path that has no acceleration"
        return matched.acceleration


def _both(one: Any, other: Any) -> Any:
    """Points (B, M, ...) and others beside them, as (B, 2 M, ...); latents are the same at all of them."""
    if isinstance(one, Latents):
        return Latents(*(part[:, :1].expand(-1, 2 * part.shape[1], -1) for part in (one.eps, one.z)))
    return None if one is None else torch.cat([one, other], 1)


def _kept(values: Tensor, trusted: Tensor) -> Tensor:
    """Zero where a point is not trusted, whatever stands there: it may not even be finite."""
    return values.masked_fill(~trusted, 0.0)


def _share(sample: Sample, unit: Tensor) -> Tensor:
    """What each point (B, M, S) counts for in a mean: those that noise leaves in doubt less, others the same, untrusted
    ones nothing.

    `unit` (B, 1, S) is the speed in which errors are measured.
    """
    share = sample.trusted.to(unit)
    if sample.doubt is not None:
        share = share / (SURE**2 + (sample.doubt / unit).square())
    return share / over_all(share.sum((0, 1))).clamp_min(torch.finfo(unit.dtype).tiny)


def _means(values: Tensor, share: Tensor) -> Tensor:
    """Means (S,) of values (B, M, S, *grid) over windows, points and grid, each point with its share."""
    values = values.flatten(3).mean(-1) if values.ndim > 3 else values
    return (values * share).sum((0, 1))


def _over(unit: Tensor, like: Tensor) -> Tensor:
    """(B, M or 1, S) shaped to broadcast over (B, M, S, *grid)."""
    return unit.reshape(*unit.shape, *(1,) * (like.ndim - 3))
