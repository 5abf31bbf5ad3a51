"""The objective with a solver in the loop: the ELBO of observed states along the window's future (BB-NODE)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.data.signals import Signals
from greymatch.models.features import Features
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.simulation.simulate import phase_velocity
from greymatch.simulation.start import Start
from greymatch.simulation.unroll import DrivenField, unroll
from greymatch.together import over_all

FARTHEST = 100.0  # spreads of the data from its centre, beyond which the field is held: a rollout must stay finite


class Course(NamedTuple):
    """A stretch of trajectory to be solved: from `phase` (B, order*S, *grid) at time `origin` (B,) on.

    `stages` (B, M) since the origin are where the solver asks, `inputs` (B, M, U) those there. `values` and `mask`
    (B, P, S, *grid) were observed; mask is False where nothing was.
    """

    phase: Tensor
    origin: Tensor
    stages: Tensor
    inputs: Tensor | None
    values: Tensor
    mask: Tensor

    @staticmethod
    def of(start: Start, stages: Tensor, signals: Signals | None, rows: Tensor, values: Tensor, mask: Tensor) -> Course:
        """From absolute stages (B, M), along trajectories `rows` (B,) whose signals are given."""
        since = stages - start.time[:, None]
        inputs = signals.at(rows, stages).float() if signals else None
        return Course(start.phase.float(), start.time, since.float(), inputs, values.float(), mask)


class Simulated(NamedTuple):
    """Windows that the physics alone made, as the encoder sees them, and the parameters' coordinates (B, L)."""

    features: Features
    eps: Tensor


class Segment(NamedTuple):
    """A training batch: what the encoder sees of B windows, and the observations after each one.

    `past` runs through the window from its first point on; `simulated` are other windows; both serve PhysVAE.
    """

    features: Features
    future: Course
    rows: Tensor
    past: Course | None = None
    simulated: Simulated | None = None


class Loss(NamedTuple):
    """The loss and its terms, averaged over the windows of a batch.

    `errors` (S,) are mean squares in units of the data and of the window's amplitude; they drive the noise.
    """

    total: Tensor
    matching: Tensor
    kl_theta: Tensor
    kl_z: Tensor
    errors: Tensor


class Objective(nn.Module):
    """L = -n E_q[log N(observed; solution, noise)] + KL(theta) + KL(z), the solution from the window's last point on.

    `noise` (S,) holds the variance that recent batches left unexplained in each state, so the KL enters with
    weight 1; n is the evidence, as in matching. Every step solves the field and differentiates the solver: slower
    than matching by the number of the solver's stages.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.evidence = network.settings.matching.evidence or float(network.settings.window)

    @property
    def channels(self) -> int:
        """How many errors are weighed, each by a noise of its own."""
        return len(self.network.physics.states)

    def counts(self, segment: Segment) -> Tensor:
        """How many numbers of each state (S,) were observed."""
        return observed(segment.future.mask)

    def forward(
        self, segment: Segment, noise: Tensor, generator: torch.Generator | None, counts: Tensor | None = None
    ) -> Loss:
        encoded = self.network.encode(segment.features, generator)
        found = hybrid(self.network, encoded.latents, segment.future)
        wrong = scaled(self.network, segment.features, found - segment.future.values, segment.future.mask)
        errors = mean_squares(wrong, segment.future.mask, counts)
        fit = 0.5 * self.evidence * (errors / noise).sum()
        kl_theta, kl_z = encoded.eps.kl().mean(), encoded.z.kl().mean()
        return Loss(fit + kl_theta + kl_z, fit, kl_theta, kl_z, errors.detach())


def hybrid(network: Network, latents: Latents, course: Course) -> Tensor:
    """States (B, P, S, *grid) along a course by the whole model."""
    latents = network.dynamics.pushed(latents)

    def field(t: Tensor, phase: Tensor, u: Tensor | None) -> Tensor:
        return network.dynamics.velocity(t, phase, latents, u)

    return solved(network, field, course)


def physics_only(network: Network, eps: Tensor, course: Course) -> Tensor:
    """States (B, P, S, *grid) along a course by the known physics, the residual switched off."""
    physics = network.physics
    theta = physics.push(eps)

    def field(t: Tensor, phase: Tensor, u: Tensor | None) -> Tensor:
        return phase_velocity(physics, t, phase, theta, u)

    return solved(network, field, course)


def solved(network: Network, field: DrivenField, course: Course) -> Tensor:
    """States along a course, solved in units of the data, in which no state can run away from the others."""
    physics, states = network.physics, len(network.physics.states)
    axes = (1,) * len(physics.grid)
    center, unit = (part.reshape(*part.shape, *axes) for part in network.scales.phase(physics.order))

    def bounded(since: Tensor, state: Tensor, u: Tensor | None) -> Tensor:
        return field(course.origin + since, center + state.clamp(-FARTHEST, FARTHEST) * unit, u) / unit

    start = (course.phase - center) / unit
    found = unroll(bounded, start, course.stages, network.settings.simulation.substeps, course.inputs)
    return center[:states] + found[:, :, :states] * unit[:states]


def scaled(network: Network, features: Features, difference: Tensor, mask: Tensor) -> Tensor:
    """A difference of states (B, P, S, *grid) in units of the data and of the window's amplitude, 0 outside `mask`."""
    unit = (network.scales.spread * features.amplitude)[:, None]
    unit = unit.reshape(*unit.shape, *(1,) * (difference.ndim - 3))
    return (difference / unit).masked_fill(~mask, 0.0)


def observed(mask: Tensor) -> Tensor:
    """How many numbers of each state (S,) were."""
    return mask.movedim(2, 0).flatten(1).sum(1)


def mean_squares(wrong: Tensor, mask: Tensor, counts: Tensor | None = None) -> Tensor:
    """Mean square of each state (S,) over what was observed of it; over `counts` if these are told."""
    square = wrong.square().movedim(2, 0).flatten(1).sum(1)
    seen = over_all(observed(mask)) if counts is None else counts
    return square / seen.masked_fill(seen == 0, 1)
