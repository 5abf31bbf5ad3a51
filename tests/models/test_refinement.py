"""The z that explains a window, found through a residual whose form is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows, last_window
from greymatch.matching.interpolants import interpolant
from greymatch.models import refinement
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.probe import Probe
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings


def oscillation(t, x, p):
    return {"a": x.b, "b": -p.k * x.a}


@pytest.fixture
def damped() -> tuple[Network, Trajectories, torch.Tensor, torch.Tensor]:
    """b' = -k a - d b: the physics misses the damping d, which differs between trajectories."""
    generator = torch.Generator().manual_seed(0)
    k, d = 2 + 0.4 * torch.randn(12, generator=generator).double(), torch.rand(12, generator=generator).double()
    t = torch.arange(30, dtype=torch.float64) * 0.1
    root = (k - d**2 / 4).sqrt()[:, None]
    rate = d[:, None] / 2
    a = (-rate * t).exp() * ((root * t).cos() + rate / root * (root * t).sin())
    b = -(-rate * t).exp() * (k[:, None] / root) * (root * t).sin()
    values = torch.stack([a, b], -1)
    data = Trajectories(("a", "b"), t.repeat(12, 1), values, torch.ones_like(values, dtype=torch.bool), np.arange(12))
    physics = Physics(oscillation, ["a", "b"], {"k": Normal(2.0, 0.4)}, complete=("a",))
    settings = Settings(window=12).updated({"encoder.latents": 1, "residual.depth": 1})
    scales = Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))
    network = Network.fitting(physics, settings, scales, Windows.of(data, 12).gather(torch.zeros(1, dtype=torch.long)))
    return network, data, k, d


class Known(nn.Module):
    """The true residual in the nets' own units: -(0.5 + z / 2) b in the second equation."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        dynamics = network.dynamics
        self.center, self.spread, self.top = (
            dynamics.scales_center[1],
            dynamics.scales_spread[1],
            dynamics.scales_top[1],
        )

    def forward(self, state: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        b = self.center + self.spread * state[..., 1]
        pull = -(0.5 + 0.5 * extra[..., 0]) * b / self.top
        return torch.stack([torch.zeros_like(pull), pull], -1)


def _know(network: Network) -> None:
    network.dynamics.field = Known(network)  # pyright: ignore[reportAttributeAccessIssue]


def test_finds_z_and_theta_of_each_window_through_the_residual(damped):
    network, data, k, d = damped
    _know(network)
    features = network.features(last_window(data.first(15), 12))
    facts = network.informed(features).summary[:, features.summary.shape[1] :]
    torch.testing.assert_close(2.0 + 0.4 * facts[:, 0].double(), k, atol=0.01, rtol=0)
    torch.testing.assert_close(0.5 + 0.5 * facts[:, 1].double(), d, atol=0.02, rtol=0)
    assert facts.shape[1] == refinement.size(1, 1)


def test_the_true_residual_in_the_fixture_is_what_it_says(damped):
    network, data, k, d = damped
    _know(network)
    z = (2 * d - 1).float()[:, None]
    eps = ((k - 2) / 0.4).float()[:, None]
    phase = data.values[:, 3].float()
    velocity = network.dynamics.velocity(data.times[:, 3], phase, Latents(eps, z))
    expected = torch.stack([phase[:, 1], -k.float() * phase[:, 0] - d.float() * phase[:, 1]], 1)
    torch.testing.assert_close(velocity, expected, atol=1e-4, rtol=1e-4)


def test_a_residual_of_zero_leaves_z_at_its_prior(damped):
    network, data, _, _ = damped
    features = network.features(last_window(data.first(15), 12))
    facts = network.informed(features).summary[:, features.summary.shape[1] :]
    assert facts[:, 1].abs().max() == 0
    torch.testing.assert_close(facts[:, 3], torch.zeros(len(data)))  # a precision of 1, the prior's


def test_no_gradient_passes(damped):
    network, data, _, _ = damped
    features = network.features(last_window(data.first(15), 12))
    assert not network.informed(features).summary.requires_grad


def test_a_probe_survives_packing(damped):
    network, data, _, _ = damped
    probe = Probe.unpacked(network.features(last_window(data.first(15), 12)).probe, network.physics)
    again = Probe.unpacked(probe.packed(), network.physics)
    for name in ("time", "phase", "known", "defect", "slopes", "seen"):
        torch.testing.assert_close(getattr(again, name), getattr(probe, name))
