"""The z that explains a window, found through a residual whose form is known."""

from __future__ import annotations

import torch

from greymatch.data.windows import last_window
from greymatch.models.hints import count_hints
from greymatch.models.latents import Latents
from greymatch.models.probe import Probe


def test_finds_z_and_theta_of_each_window_through_the_residual(known):
    network, data, k, d = known
    features = network.features(last_window(data.first(15), 12))
    facts = network.informed(features).summary[:, features.summary.shape[1] :]
    torch.testing.assert_close(2.0 + 0.4 * facts[:, 0].double(), k, atol=0.01, rtol=0)
    torch.testing.assert_close(0.5 + 0.5 * facts[:, 1].double(), d, atol=0.02, rtol=0)
    assert facts.shape[1] == count_hints(1, 1)


def test_the_true_residual_in_the_fixture_is_what_it_says(known):
    network, data, k, d = known
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
