"""Latent variables and their posterior q(z | x) q(theta | x, z)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.models.memory import Memory
from greymatch.models.mirrored import mirrored
from greymatch.physics.priors import kl_to_standard_normal


@dataclass(frozen=True)
class Gaussian:
    """A diagonal normal distribution (..., K)."""

    mean: Tensor
    log_std: Tensor

    def sample(self, generator: torch.Generator | None, copies: int = 1) -> Tensor:
        """A draw for each row; rows that are `copies` of others, one after another, are drawn in mirrored pairs."""
        like = self.mean[: len(self.mean) // copies]
        return self.mean + self.log_std.exp() * mirrored(copies, like, generator).flatten(0, 1)

    def widened(self, factor: Tensor | float) -> Gaussian:
        """With standard deviations times `factor`, as far as data made them small; see `Laplace.widened`."""
        if isinstance(factor, float) and factor == 1.0:
            return self
        square = torch.as_tensor(factor).square()
        narrowing = ((square - 1) * (2 * self.log_std).exp().clamp_max(1.0)).log1p() / 2
        return Gaussian(self.mean, self.log_std + square.log() / 2 - narrowing)

    def kl(self) -> Tensor:
        """KL to a standard normal, summed over the last axis."""
        return kl_to_standard_normal(self.mean, self.log_std).sum(-1)


@dataclass(frozen=True)
class Latents:
    """One draw per window: `eps` (B, L), the free parameters' latent coordinates, and `z` (B, Z).

    `start` (B, order*S) is the phase at the window's end that was found with them, NaN or None where it is observed.
    `theta` (B, P) are the parameters in physical units, None until they are worked out, once for many points.
    """

    eps: Tensor
    z: Tensor
    start: Tensor | None = None
    theta: Tensor | None = None

    def repeated(self, draws: int) -> Latents:
        return self.select(torch.arange(len(self.eps), device=self.eps.device).repeat(draws))

    def select(self, members: Tensor) -> Latents:
        start, theta = (part if part is None else part[members] for part in (self.start, self.theta))
        return Latents(self.eps[members], self.z[members], start, theta)

    def double(self) -> Latents:
        """In double; theta is to be worked out anew."""
        return Latents(self.eps.double(), self.z.double(), None if self.start is None else self.start.double())

    def single(self) -> Latents:
        """As a net takes them; a start keeps its digits."""
        return Latents(self.eps.float(), self.z.float(), self.start)

    def started(self, observed: Tensor) -> Tensor:
        """Where they start: what was found with them, and else as `observed` (B, order*S, *grid)."""
        return observed if self.start is None else torch.where(self.start.isnan(), observed, self.start.to(observed))

    def over(self, points: int) -> Latents:
        """The same latents at every one of `points` times: (B, M, L), (B, M, Z) and (B, M, P)."""

        def everywhere(part: Tensor) -> Tensor:
            return part[:, None].expand(-1, points, -1)

        theta = None if self.theta is None else everywhere(self.theta)
        return Latents(everywhere(self.eps), everywhere(self.z), theta=theta)


@dataclass(frozen=True)
class Members:
    """What each member of an ensemble carries through its forecast: latents, and `kick` (B, S), a constant error of
    the highest derivative, as large as what matching left unexplained. A method that recalls its history has it as
    `memory`, once for all draws. `slack` (B, S) is how far off a solution may be, in units of the solver's tolerance
    and of the data; None where one has none."""

    latents: Latents
    kick: Tensor
    memory: Memory | None = None
    slack: Tensor | None = None

    def recalled(self) -> Memory:
        """The memory of every member, draw after draw."""
        assert self.memory is not None, "only a method that recalls its history asks for it"
        return self.memory.repeated(len(self.kick) // len(self.memory))

    def select(self, members: Tensor) -> Members:
        memory = self.memory and self.memory.select(members % len(self.memory))
        slack = None if self.slack is None else self.slack[members]
        return Members(self.latents.select(members), self.kick[members], memory, slack)

    def loosen(self, values: Tensor, tolerance: float) -> None:
        """Make solutions (D, N, T, S, *grid) of members, draw after draw, as far off as each may be."""
        if self.slack is not None:
            values += tolerance * self.slack.reshape(*values.shape[:2], 1, -1, *(1,) * (values.ndim - 4))


@dataclass(frozen=True)
class Encoded:
    """A draw from the posterior with the distributions it came from; theta's depends on the draw of z."""

    latents: Latents
    z: Gaussian
    eps: Gaussian
