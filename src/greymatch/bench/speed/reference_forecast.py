"""What one writes first for an ensemble: all members in one tensor, torchdiffeq's odeint over their shared times."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torchdiffeq import odeint

from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.models.latents import Latents, Members
from greymatch.models.network import Network
from greymatch.simulation.start import Start

TIGHT = 1e-8


@dataclass(frozen=True)
class Ensemble:
    """The members that `model.forecast` would draw, and where they start (draws * N, order * S), with N = `count`."""

    network: Network
    members: Members
    phase: Tensor
    time: Tensor
    count: int

    @staticmethod
    def drawn(model: GreyBox, history: Trajectories, draws: int, seed: int = 0) -> Ensemble:
        network, generator = model.network, torch.Generator().manual_seed(seed)
        with torch.no_grad():
            sight = network.observe(history)
            members = network.draw(sight, draws, generator)
        start = Start.of(history, network.physics.order)
        return Ensemble(network, members, start.phase.float().repeat(draws, 1), start.time[:1], len(history))

    def select(self, draws: Tensor) -> Ensemble:
        """Some draws of every trajectory."""
        members = torch.arange(len(self.phase)).reshape(-1, self.count)[draws].flatten()
        return Ensemble(self.network, self.members.select(members), self.phase[members], self.time, self.count)

    def double(self) -> Ensemble:
        latents = Latents(self.members.latents.eps.double(), self.members.latents.z.double())
        members = Members(latents, self.members.kick.double())
        network = copy.deepcopy(self.network).double()
        return Ensemble(network, members, self.phase.double(), self.time, self.count)


class Field(nn.Module):
    """d(phase)/dt of every member."""

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__()
        self.dynamics = ensemble.network.dynamics
        self.latents = self.dynamics.pushed(ensemble.members.latents)
        physics = ensemble.network.physics
        self.kick = nn.functional.pad(ensemble.members.kick, ((physics.order - 1) * len(physics.states), 0))

    def forward(self, t: Tensor, phase: Tensor) -> Tensor:
        return self.dynamics.velocity(t.expand(len(phase)), phase, self.latents) + self.kick


def plain_rollout(ensemble: Ensemble, times: Tensor, tolerance: float) -> Tensor:
    """States (members, T, S) at `times` (T,)."""
    clock = torch.cat([ensemble.time.double(), times.double()]).to(ensemble.phase.dtype)
    with torch.no_grad():
        phases = odeint(Field(ensemble), ensemble.phase, clock, rtol=tolerance, atol=tolerance, method="dopri5")
    assert isinstance(phases, Tensor), "one tensor went in"
    return phases[1:, :, : len(ensemble.network.physics.states)].transpose(0, 1)


def tight_rollout(ensemble: Ensemble, times: Tensor) -> Tensor:
    """The same in double, so exact that both ways can be judged by it."""
    return plain_rollout(ensemble.double(), times, TIGHT)
