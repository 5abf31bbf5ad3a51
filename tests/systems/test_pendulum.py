from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.systems import SYSTEMS, pendulum


@pytest.fixture(scope="module")
def recorded() -> Trajectories:
    return pendulum.data("test", trajectories=12)


def test_trajectories_solve_the_damped_pendulum(recorded: Trajectories):
    times = recorded.times[0].numpy()
    for row in (0, 5, 11):
        omega, xi = recorded.truth["omega"][row], recorded.truth["xi"][row]
        start = [float(recorded.values[row, 0, 0]), 0.0]
        right = lambda t, x: [x[1], -(omega**2) * np.sin(x[0]) - xi * x[1]]  # noqa: B023, E731
        exact = solve_ivp(right, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12).y[0]
        np.testing.assert_allclose(recorded.values[row, :, 0], exact, atol=1e-6)


def test_the_protocol_is_that_of_the_paper():
    assert [(name, split.trajectories) for name, split in pendulum.splits.items()] == [
        ("train", 1000),
        ("val", 250),
        ("test", 100),
    ]
    data = pendulum.data("val", trajectories=200)
    assert data.times.shape == (200, 200)
    assert data.step == pytest.approx(0.1)
    assert bool((data.values[:, 0].abs() <= 1.57).all())
    for name, low, high in (("omega", 0.785, 3.14), ("xi", 0.6, 1.5)):
        drawn = np.sort(data.truth[name])
        assert low <= drawn[0]
        assert drawn[-1] <= high
        # uniform: the largest distance of the empirical distribution, by Kolmogorov and Smirnov
        steps = np.arange(1, 201) / 200
        assert np.abs((drawn - low) / (high - low) - steps).max() < 1.63 / 200**0.5


def test_splits_differ_and_each_is_the_same_every_time():
    short = {name: replace(split, times=split.times[:3]) for name, split in pendulum.splits.items()}
    draw = replace(pendulum, splits=short).data
    one = draw("test", trajectories=5).values
    assert torch.equal(one, draw("test", trajectories=5).values)
    assert not torch.equal(one, draw("val", trajectories=5).values)
    assert not torch.equal(one, draw("test", seed=77, trajectories=5).values)
    assert torch.equal(draw("val", seed=77, trajectories=5).values, draw("test", seed=77, trajectories=5).values)


def test_the_physics_lacks_the_friction_only(recorded: Trajectories):
    phase = torch.tensor([[0.3, 2.0], [1.2, -1.0]], dtype=torch.float64)
    omega, xi = torch.tensor([[2.0], [1.0]], dtype=torch.float64), torch.tensor([[0.9], [1.4]], dtype=torch.float64)
    t = torch.zeros(2, dtype=torch.float64)
    gap = pendulum.truth.evaluate(t, phase, torch.cat([omega, xi], 1)) - pendulum.physics.evaluate(t, phase, omega)
    torch.testing.assert_close(gap, -xi * phase[:, 1:])
    assert pendulum.physics.free == ("omega",)


def test_energy_only_falls(recorded: Trajectories):
    omega = torch.as_tensor(recorded.truth["omega"])[:, None]
    angle = recorded.values[:, :, 0]
    speed = torch.gradient(angle, spacing=0.1, dim=1, edge_order=2)[0]
    energy = speed.square() / 2 + omega**2 * (1 - torch.cos(angle))
    assert bool((energy.diff(dim=1) <= 0.02 * energy[:, :1]).all())
    assert bool((energy[:, -1] < 0.01 * energy[:, 0].clamp_min(1e-3)).all())


def test_wrong_splits_and_counts_are_refused():
    with pytest.raises(GreymatchError, match=r"`split` must be one of .*got 'tset'. Did you mean 'test'\?"):
        pendulum.data("tset")
    with pytest.raises(GreymatchError, match="`trajectories` must be at least 1; got 0"):
        pendulum.data("test", trajectories=0)


def test_it_is_found_by_name_and_so_is_the_physics_of_its_models(small_model: GreyBox):
    assert SYSTEMS["pendulum"] is pendulum
    assert SYSTEMS[small_model.physics.name].physics is small_model.physics
