"""Noisy windows of a field that is known, and where its paths end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.noisy import shot
from greymatch.models.shooting import Shooting
from greymatch.simulation.start import Start

SIZE = 0.02
Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]


def noisy_window(data: Trajectories, size: float, seed: int) -> Window:
    noise = torch.randn(data.values.shape, generator=torch.Generator().manual_seed(seed), dtype=data.values.dtype)
    return last_window(replace(data, values=data.values + size * noise, noise=(SIZE, SIZE)).first(24), 24)


def found(network: Network, window: Window) -> Laplace:
    told = Laplace(torch.zeros(12, 2), torch.eye(2).repeat(12, 1, 1), torch.full((12,), torch.nan), free=1)
    with torch.no_grad():
        return shot(network.dynamics, network.scales, window, torch.full((2,), SIZE), told).law


def test_a_window_without_error_tells_latents_and_end(known: Damped):
    network, data, k, d = known
    law = found(network, noisy_window(data, 0.0, 0))
    latents = law.latents()
    assert latents.start is not None
    torch.testing.assert_close(2 + 0.4 * latents.eps[:, 0].double(), k, atol=0.03, rtol=0)
    torch.testing.assert_close(0.5 + 0.5 * latents.z[:, 0].double(), d, atol=0.03, rtol=0)
    torch.testing.assert_close(latents.start.double(), data.values[:, 23], atol=2e-3, rtol=0)


def test_errors_are_as_large_as_the_law_says_and_smaller_than_those_of_smoothing(known: Damped, seed: int):
    network, data, k, d = known
    truth = torch.cat([((k - 2) / 0.4)[:, None], (2 * d - 1)[:, None], data.values[:, 23]], 1)
    misses, ends, smoothed = [], [], []
    for place in range(10):
        window = noisy_window(data, SIZE, seed + place)
        law = found(network, window)
        wrong = law.mean.double() - truth
        misses.append(wrong / (law.root @ law.root.mT).diagonal(dim1=-2, dim2=-1).sqrt())
        ends.append(wrong[:, 2:])
        smoothed.append(Start.of(window, 1).phase - data.values[:, 23])
    scale = torch.cat(misses).square().mean(0).sqrt()
    assert bool(((scale > 0.6) & (scale < 1.3)).all()), scale
    assert float(torch.cat(ends).square().mean()) < 0.7 * float(torch.cat(smoothed).square().mean())


def test_draws_of_the_start_go_with_those_of_the_latents(known: Damped, seed: int):
    network, data, _, _ = known
    law = found(network, noisy_window(data, SIZE, seed))
    drawn = law.sample(2000, torch.Generator().manual_seed(seed))
    assert drawn.start is not None
    assert drawn.start.shape == (24000, 2)
    both = torch.cat([drawn.eps, drawn.z, drawn.start], 1).reshape(2000, 12, 4)[:, 0]
    wanted = (law.root @ law.root.mT)[0]
    assert float((torch.cov(both.T) - wanted).abs().max()) < 0.1 * float(wanted.abs().max())


def test_where_no_path_is_found_smoothing_tells_the_start(known: Damped, monkeypatch: pytest.MonkeyPatch, seed: int):
    network, data, _, _ = known
    window = noisy_window(data, SIZE, seed)
    monkeypatch.setattr(Shooting, "_flown", lambda self, starts, latents, intervals: starts * torch.nan)
    law = found(network, window)
    latents = law.latents()
    assert latents.start is not None
    torch.testing.assert_close(latents.start, Start.of(window, 1).phase, check_dtype=False)
    assert bool((latents.eps == 0).all())


def test_a_start_of_order_two_keeps_positions_before_velocities():
    root = torch.tensor([[[[1.0, 0.0], [2.0, 3.0]], [[4.0, 0.0], [5.0, 6.0]]]])
    start = Start(torch.tensor([[10.0, 20.0, 30.0, 40.0]]), torch.zeros(1), root)
    law = Laplace(torch.zeros(1, 1), torch.ones(1, 1, 1), torch.zeros(1), free=1).starting(start)
    covariance = (law.root @ law.root.mT)[0, 1:, 1:]
    assert law.latents().start is not None
    # a has variance 1 and velocity 13, b 16 and 61; each goes with its own velocity alone
    assert covariance.diagonal().tolist() == [1.0, 16.0, 13.0, 61.0]
    assert (covariance[0].tolist(), covariance[1].tolist()) == ([1.0, 0.0, 2.0, 0.0], [0.0, 16.0, 0.0, 20.0])


def test_a_path_that_leaves_more_than_noise_is_not_taken(known: Damped, seed: int):
    network, data, _, _ = known
    window = noisy_window(data, SIZE, seed)
    wrong = replace(window, values=window.values + 0.3 * (10 * window.times[..., None]).sin())
    assert bool((found(network, wrong).latents().eps == 0).all())
    assert bool((found(network, window).latents().eps != 0).all())


def test_latents_that_are_told_wrong_lead_no_path_astray(hunters: tuple[Network, Trajectories, torch.Tensor]):
    """Solutions over single intervals, put together in first order, went thousands of spreads away here."""
    network, data, _ = hunters
    noise = 0.1 * torch.randn(data.values.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    window = last_window(replace(data, values=data.values + noise, noise=(0.1, 0.1)).first(30), 30)
    mean = torch.zeros(8, 1 + network.settings.encoder.latents).index_fill(1, torch.tensor([0]), 1.5)
    told = Laplace(mean, torch.eye(mean.shape[1]).repeat(8, 1, 1), torch.full((8,), torch.nan), free=1)
    with torch.no_grad():
        law = shot(network.dynamics, network.scales, window, torch.full((2,), 0.1), told).law
    start = law.latents().start
    assert start is not None
    assert float((start - data.values[:, 29]).abs().max()) < 0.2
