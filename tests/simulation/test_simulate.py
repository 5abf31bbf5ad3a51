from __future__ import annotations

import itertools
import math

import torch

from greymatch.physics.physics import Physics
from greymatch.simulation.simulate import phase_velocity, simulate

OSCILLATOR = Physics(lambda t, x, p: {"x": -(p.omega**2) * x.x}, ["x"], {"omega": 1.0}, order=2)
DECAY = Physics(lambda t, x, p, u: {"x": p.rate * (u.target - x.x)}, ["x"], {"rate": 1.0}, inputs=["target"])


def oscillator_error(substeps: int) -> float:
    """Largest error over a few periods, against cos(omega t)."""
    times = torch.linspace(0.0, 6.0, 7, dtype=torch.float64)
    omega = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    start = torch.tensor([[1.0, 0.0]], dtype=torch.float64).repeat(2, 1)
    phase = simulate(OSCILLATOR, start, times, omega, substeps=substeps)
    angle = omega * times
    exact = torch.stack([angle.cos(), -omega * angle.sin()], 2)
    return float((phase - exact).abs().max())


def test_the_error_falls_with_the_sixth_power_of_the_step():
    errors = [oscillator_error(substeps) for substeps in (4, 8, 16)]
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert all(5.8 < order < 6.2 for order in orders)


def test_the_start_comes_back_and_uneven_times_are_met():
    times = torch.tensor([0.3, 0.4, 1.5, 1.6], dtype=torch.float64)
    start = torch.tensor([[2.0]])
    target = lambda t: t[:, None]  # noqa: E731
    x = simulate(DECAY, start, times, torch.ones(1, 1), inputs=target)[0, :, 0]
    # x' = t - x has the solution t - 1 + c exp(-t)
    exact = times - 1 + 2.7 * torch.exp(0.3 - times)
    assert x[0] == 2.0
    torch.testing.assert_close(x, exact, rtol=0, atol=1e-6)


def test_members_do_not_disturb_each_other():
    times = torch.linspace(0.0, 1.0, 3)
    start = torch.tensor([[1.0, 0.0], [math.nan, 0.0], [0.5, -1.0]])
    theta = torch.tensor([[1.0], [2.0], [3.0]])
    together = simulate(OSCILLATOR, start, times, theta)
    alone = simulate(OSCILLATOR, start[2:], times, theta[2:])
    assert torch.equal(together[2:], alone)
    assert bool(together[1].isnan().any())


def test_on_a_grid_positions_move_with_the_velocities():
    wave = Physics(lambda t, x, p: {"h": -p.k * x.h}, ["h"], {"k": 1.0}, order=2, grid=("y", "x"))
    phase = torch.arange(12.0).reshape(1, 2, 2, 3)
    velocity = phase_velocity(wave, torch.zeros(1), phase, torch.tensor([[2.0]]))
    assert torch.equal(velocity[:, 0], phase[:, 1])
    assert torch.equal(velocity[:, 1], -2 * phase[:, 0])
