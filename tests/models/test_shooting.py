"""Paths through windows, found over all intervals at once."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window
from greymatch.models.network import Network
from greymatch.models.shooting import Guess, Shooting
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal

Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]
LONG = 24


def shooting_of(network: Network, data: Trajectories, each: int = 8) -> Shooting:
    """From the first point of the first windows, where starts are to be found within one unit."""
    window = last_window(data.first(LONG), LONG)
    return through(network, window, each)


def through(network: Network, window: Window, each: int, phases: torch.Tensor | None = None) -> Shooting:
    phases = window.values if phases is None else phases
    reach, noise = torch.ones_like(phases[:, 0]), torch.ones_like(window.values[:, 0])
    return Shooting.of(deepcopy(network.dynamics).double(), network.scales, window, noise, phases, reach, each)


def true_latents(k: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    return torch.stack([(k - 2) / 0.4, 2 * d - 1], 1)


def test_of_a_linear_field_the_path_is_right_however_far_the_nodes_are_from_it(known: Damped, seed: int):
    network, data, k, d = known
    shooting = shooting_of(network, data)
    noise = torch.randn(12, LONG, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    noise[:, 0] = 0.0
    nodes = (data.values[:, :LONG] + noise - shooting.center) / shooting.unit
    guess = Guess(true_latents(k, d), nodes)
    path = shooting.path(guess)
    wrong, _ = shooting.misfit(path)
    assert float(wrong.abs().max()) < 1e-6
    assert float(path.bend.min()) > 1.0
    again = shooting.path(Guess(guess.latents, path.nodes))
    assert float(again.bend.max()) < 1e-12


def test_it_moves_with_latents_and_starts_as_its_slopes_say(known: Damped, seed: int):
    network, data, k, d = known
    shooting = shooting_of(network, data)
    guess = shooting.guess(true_latents(k, d))
    path = shooting.path(guess)
    step = 1e-3 * torch.randn(12, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    moved = shooting.after(guess, path, step)
    torch.testing.assert_close(shooting.unknown(moved), shooting.unknown(guess) + step, atol=1e-6, rtol=0)
    solved = Guess(moved.latents, torch.cat([moved.nodes[:, :1], guess.nodes[:, 1:]], 1))
    torch.testing.assert_close(shooting.path(solved).nodes, moved.nodes, atol=1e-5, rtol=0)


def test_errors_fall_with_the_sixth_power_of_the_steps(known: Damped):
    network, data, k, d = known
    wide = Trajectories(data.states, data.times[:, ::8], data.values[:, ::8], data.mask[:, ::8], data.labels)
    errors = []
    for each in (1, 2, 4):
        window = last_window(wide, wide.times.shape[1])
        shooting = through(network, window, each)
        wrong, _ = shooting.misfit(shooting.path(shooting.guess(true_latents(k, d))))
        errors.append(float(wrong.abs().max()))
    assert 40 < errors[0] / errors[1] < 100
    assert 40 < errors[1] / errors[2] < 100


def test_a_field_that_is_not_linear_is_found_by_moving_its_nodes(greybox):
    """x' = -k x^3, whose solution is x / sqrt(1 + 2 k x^2 t)."""
    k, times = torch.tensor([0.5, 1.5], dtype=torch.float64), torch.arange(12).double().repeat(2, 1) * 0.2
    values = (2 / (1 + 8 * k[:, None] * times).sqrt())[..., None]
    data = Trajectories(("x",), times, values, torch.ones_like(values, dtype=torch.bool), np.arange(2))
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x**3}, ["x"], {"k": Normal(1.0, 0.5)}, complete=("x",))
    network, window = greybox(physics, data, window=8).network, last_window(data, 12)
    shooting = through(network, window, 32, values * torch.linspace(1, 1.5, 12)[:, None])
    latents = torch.nn.functional.pad(((k - 1) / 0.5)[:, None], (0, network.settings.encoder.latents))
    guess = shooting.guess(latents)
    path = shooting.path(guess)
    assert float(path.bend.max()) > 0.01
    for _ in range(4):
        guess = Guess(latents, path.nodes)
        path = shooting.path(guess)
    assert float(path.bend.max()) < 1e-12
    assert float(shooting.misfit(path)[0].abs().max()) < 1e-6
