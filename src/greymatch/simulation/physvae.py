"""PhysVAE's objective (Takeishi and Kalousis, 2021): reconstruction and three regularisers, in its own loss scale."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from greymatch.models.cleansing import CleansingEncoder
from greymatch.models.features import Features
from greymatch.models.latents import Encoded
from greymatch.models.network import Network
from greymatch.simulation.objective import Segment, hybrid, mean_squares, observed, physics_only, scaled


class Loss(NamedTuple):
    """The loss and its terms, averaged over the windows of a batch, each before its weight."""

    total: Tensor
    matching: Tensor
    kl_theta: Tensor
    kl_z: Tensor
    ppc: Tensor
    unmix: Tensor
    augment: Tensor
    errors: Tensor


class PhysVaeObjective(nn.Module):
    """L = sum |observed - solution|^2 + kl (KL(theta) + KL(z)) + ppc R_ppc + unmix R_DA1 + augment R_DA2.

    R_ppc = sum |hybrid - physics only|^2 keeps the residual small. R_DA1 = sum |cleansed window - physics only|^2
    makes the cleansed window one that the physics could have made. R_DA2 = |E_q[eps | simulated] - eps|^2 teaches
    the encoder on windows simulated with parameters of the prior. Sums run over points, states and grid, in units
    of the data and of the window's amplitude; the weights are `settings.simulation`.

    Not balanced by itself: the weights are in units of the sums, which grow with the number of points.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.settings = network.settings.simulation

    @property
    def channels(self) -> int:
        """The noise of each state is told and not used."""
        return len(self.network.physics.states)

    @property
    def encoder(self) -> CleansingEncoder:
        encoder = self.network.encoder
        assert isinstance(encoder, CleansingEncoder), "the method says that its encoder cleanses"
        return encoder

    def counts(self, segment: Segment) -> Tensor:
        """How many numbers of each state (S,) were observed."""
        return observed(segment.future.mask)

    def forward(
        self, segment: Segment, noise: Tensor, generator: torch.Generator | None, counts: Tensor | None = None
    ) -> Loss:
        weights, mask = self.settings, segment.future.mask
        informed = self.network.informed(segment.features)
        encoded = self.encoder(informed, generator)
        found = hybrid(self.network, encoded.latents, segment.future)
        wrong = scaled(self.network, segment.features, found - segment.future.values, mask)
        fit = _sum(wrong)
        kl_theta, kl_z = encoded.eps.kl().mean(), encoded.z.kl().mean()
        ppc = self._ppc(segment, encoded, found) if weights.ppc else fit.new_zeros(())
        unmix = self._unmix(segment, informed, encoded) if weights.unmix else fit.new_zeros(())
        augment = self._augment(segment) if weights.augment else fit.new_zeros(())
        total = fit + weights.kl * (kl_theta + kl_z)
        total = total + weights.ppc * ppc + weights.unmix * unmix + weights.augment * augment
        return Loss(total, fit, kl_theta, kl_z, ppc, unmix, augment, mean_squares(wrong, mask, counts).detach())

    def _ppc(self, segment: Segment, encoded: Encoded, found: Tensor) -> Tensor:
        """What the residual does to the forecast."""
        known = physics_only(self.network, encoded.latents.eps, segment.future)
        return _sum(scaled(self.network, segment.features, found - known, segment.future.mask))

    def _unmix(self, segment: Segment, informed: Features, encoded: Encoded) -> Tensor:
        """How far the cleansed window is from what the physics makes of its first point; only cleansing learns it."""
        assert segment.past is not None, "the sampler gives the window's course to a method that cleanses"
        past = segment.past
        with torch.no_grad():
            known = physics_only(self.network, encoded.latents.eps, past)
        wanted = scaled(self.network, segment.features, known - past.values, past.mask)
        given = self.encoder.correction(informed, encoded.latents.z)[:, -wanted.shape[1] :]
        return _sum((given - wanted).masked_fill(~past.mask, 0.0))

    def _augment(self, segment: Segment) -> Tensor:
        """How well the encoder names the parameters of windows that the physics alone made."""
        assert segment.simulated is not None, "the sampler simulates for a method that cleanses"
        law = self.encoder.of_physics(self.network.informed(segment.simulated.features))
        return (law.mean - segment.simulated.eps).square().sum(-1).mean()


def _sum(wrong: Tensor) -> Tensor:
    """Sum of squares of each window, averaged over the batch."""
    return wrong.square().sum() / len(wrong)
