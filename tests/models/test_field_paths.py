"""Noisy fields of a known law, whose paths are waves that can be written down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window
from greymatch.matching.interpolants import interpolant
from greymatch.models.field_paths import followed
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.noisy import Followed
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.simulation.start import Start

ROWS, CELLS, POINTS, SIZE = 24, 16, 8, 0.05
RATE = Normal(0.03, 0.01)
# squares of the wave numbers of a periodic grid of spacing 1 / 2, as differences have them
SQUARES = 4 * (2 - 2 * torch.cos(2 * torch.pi * torch.arange(CELLS, dtype=torch.float64) / CELLS))


def spreading(t, x, p):
    return {"T": p.rate * laplacian(x.T, (0.5,))}


def clock() -> Tensor:
    return 0.5 * torch.arange(POINTS, dtype=torch.float64)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def recorded(values: Tensor, size: float = 0.0, seed: int = 0) -> Trajectories:
    """Fields (N, T, cells) with noise."""
    noisy = (values + size * drawn(seed, *values.shape))[:, :, None]
    mask = torch.ones_like(noisy, dtype=torch.bool)
    noise = (SIZE,) if size else ()
    return Trajectories(
        ("T",), clock().repeat(len(values), 1), noisy, mask, np.arange(len(values)), noise=noise, grid=("x",)
    )


def heat(rates: Tensor, waves: Tensor) -> Tensor:
    """(N, T, cells) from first waves (N, cells)."""
    decay = torch.exp(-rates[:, None, None] * SQUARES * clock()[:, None])
    return torch.fft.ifft(waves[:, None] * decay).real


def network_of(physics: Physics, data: Trajectories) -> Network:
    scales = Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))
    window = last_window(data, POINTS)
    settings = Settings(window=POINTS).updated({"encoder.latents": 0})
    network = Network.fitting(physics, settings, scales, window).requires_grad_(False)
    network.observed.fill_(SIZE)
    return network


class Heated:
    """Fields that cool, and a network that knows how but for the rate."""

    def __init__(self) -> None:
        self.eps = drawn(1, ROWS).clamp(-2, 2)
        self.rates = RATE.mean + RATE.std * self.eps
        self.waves = torch.fft.fft(drawn(2, ROWS, CELLS))
        self.clean = heat(self.rates, self.waves)
        physics = Physics(spreading, ["T"], {"rate": RATE}, grid=["x"], complete=["T"])
        self.network = network_of(physics, recorded(self.clean))

    def window(self, seed: int, size: float = SIZE) -> Window:
        data = recorded(self.clean, size, seed)
        return last_window(replace(data, noise=(SIZE,)), POINTS)

    def found(self, window: Window) -> Followed:
        count = len(window.times)
        told = Laplace(torch.zeros(count, 1), torch.ones(count, 1, 1), torch.full((count,), torch.nan), free=1)
        with torch.no_grad():
            return followed(self.network.dynamics, self.network.scales, window, torch.tensor([SIZE]), told)


@pytest.fixture(scope="module")
def heated() -> Heated:
    return Heated()


def test_without_error_a_path_tells_the_rate_and_where_it_ends(heated: Heated):
    found = heated.found(heated.window(0, size=0.0))
    assert bool(found.sound.all())
    wrong = (found.law.mean[:, 0].double() - heated.eps).abs() / found.law.spread[:, 0]
    assert float(wrong.max()) < 0.3  # the prior's pull
    assert found.start is not None
    assert float((found.start.phase[:, 0] - heated.clean[:, -1]).abs().max()) < 0.1 * SIZE


def test_the_law_is_as_wide_as_fishers_information_of_every_wave(heated: Heated):
    found = heated.found(heated.window(0, size=0.0))
    decay = torch.exp(-heated.rates[:, None, None] * SQUARES * clock()[:, None])
    slope = -RATE.std * SQUARES * clock()[:, None] * decay
    # each wave's amplitude is to be found as well
    left = slope.square().sum(1) - (slope * decay).sum(1).square() / decay.square().sum(1)
    told = (left * heated.waves.abs().square()).sum(1) / CELLS / SIZE**2
    torch.testing.assert_close(found.law.spread[:, 0].double(), (1 + told).rsqrt(), rtol=0.03, atol=0)


def test_errors_are_as_large_as_the_law_says_and_ends_better_than_smoothed_ones(heated: Heated, seed: int):
    misses, ends, smoothed = [], [], []
    for place in range(6):
        window = heated.window(seed + place)
        found = heated.found(window)
        assert bool(found.sound.all())
        misses.append((found.law.mean[:, 0].double() - heated.eps) / found.law.spread[:, 0].double())
        assert found.start is not None
        ends.append(found.start.phase[:, 0] - heated.clean[:, -1])
        smoothed.append(Start.of(window, 1).phase[:, 0] - heated.clean[:, -1])
    assert 0.8 < float(torch.cat(misses).square().mean().sqrt()) < 1.25
    assert float(torch.cat(ends).square().mean()) < 0.5 * float(torch.cat(smoothed).square().mean())


def test_cells_that_were_not_seen_are_told_by_the_others(heated: Heated):
    window = heated.window(0)
    mask = window.mask.clone()
    mask[:, 3:5, :, 4:7] = False
    hidden = replace(window, mask=mask, values=window.values.masked_fill(~mask, torch.nan))
    found, whole = heated.found(hidden), heated.found(window)
    assert bool(found.sound.all())
    assert bool((found.law.spread > 0.99 * whole.law.spread).all())
    assert float(((found.law.mean[:, 0].double() - heated.eps) / found.law.spread[:, 0]).abs().max()) < 4


def test_what_no_path_explains_stays_as_it_was_told(heated: Heated):
    window = heated.window(0)
    wild = replace(window, values=drawn(9, *window.values.shape))
    found = heated.found(wild)
    assert not bool(found.sound.any())
    assert bool((found.law.mean == 0).all())
    assert found.start is not None
    torch.testing.assert_close(found.start.phase.double(), Start.of(wild, 1).phase.double())


def test_windows_are_told_alike_together_and_alone(heated: Heated):
    window = heated.window(3)
    rows = torch.tensor([5])
    together, alone = heated.found(window), heated.found(window.select(rows))
    wrong = (together.law.mean[rows] - alone.law.mean).abs() / alone.law.spread
    assert float(wrong.max()) < 0.1


def test_a_wave_has_a_path_of_states_and_velocities(seed: int):
    """u'' = c u_xx, whose waves swing."""
    speed = Normal(0.03, 0.01)
    eps = drawn(4, ROWS).clamp(-2, 2)
    pace = ((speed.mean + speed.std * eps)[:, None] * SQUARES).sqrt()
    waves = torch.fft.fft(drawn(5, ROWS, CELLS))
    clean = torch.fft.ifft(waves[:, None] * torch.cos(pace[:, None] * clock()[:, None])).real
    physics = Physics(
        lambda t, x, p: {"T": p.c * laplacian(x.T, (0.5,))}, ["T"], {"c": speed}, order=2, grid=["x"], complete=["T"]
    )
    network = network_of(physics, recorded(clean))
    window = last_window(recorded(clean, SIZE, seed), POINTS)
    told = Laplace(torch.zeros(ROWS, 1), torch.ones(ROWS, 1, 1), torch.full((ROWS,), torch.nan), free=1)
    with torch.no_grad():
        found = followed(network.dynamics, network.scales, window, torch.tensor([SIZE]), told)
    assert float(found.sound.double().mean()) > 0.9
    misses = ((found.law.mean[:, 0].double() - eps) / found.law.spread[:, 0].double())[found.sound]
    assert float((misses.abs() < 2).double().mean()) > 0.85
    assert found.start is not None
    smoothed = Start.of(window, 2).phase[:, 1]
    swinging = torch.fft.ifft(-pace[:, None] * waves[:, None] * torch.sin(pace[:, None] * clock()[:, None])).real[:, -1]
    ends = [(one - swinging).square().mean() for one in (found.start.phase[:, 1], smoothed)]
    assert float(ends[0]) < 0.5 * float(ends[1])
