from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.bridge import Bridge, BridgePath, Velocity
from greymatch.matching.linear import Linear
from greymatch.matching.path import Matched

SIGMA = 0.4
DRAWS = 100_000


def observations(states: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    times = torch.tensor([[0.0, 1.0, 3.0, 4.0]], dtype=torch.float64)
    values = torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=torch.float64)[None, :, None].repeat(1, 1, states)
    return times, values, torch.ones_like(values, dtype=torch.bool)


def draw(path: BridgePath, time: float, draws: int = DRAWS, seed: int = 0) -> Matched:
    """Many draws (1, draws, state) at one time."""
    times = torch.full((1, draws), time, dtype=torch.float64)
    return path.at(torch.tensor([0]), times, torch.Generator().manual_seed(seed))


def field(path: BridgePath, time: float) -> tuple[float, float]:
    """Slope and intercept of the velocity as a function of the position."""
    point = draw(path, time, 50)
    slope, intercept = np.polyfit(point.position.flatten(), point.velocity.flatten(), 1)
    return float(slope), float(intercept)


@pytest.mark.parametrize(("time", "mean", "variance"), [(0.25, 0.25, 3 / 16), (1.5, 0.5, 3 / 8), (2.0, 0.0, 1 / 2)])
def test_mean_is_linear_and_variance_that_of_a_brownian_bridge(time: float, mean: float, variance: float):
    position = draw(Bridge(SIGMA)(*observations()), time).position
    assert float(position.mean()) == pytest.approx(mean, abs=5 * SIGMA / DRAWS**0.5)
    assert float(position.var()) == pytest.approx(SIGMA**2 * variance, rel=0.025)


def test_positions_are_gaussian():
    position = draw(Bridge(SIGMA)(*observations()), 2.0).position.flatten()
    z = (position - position.mean()) / position.std()
    assert float((z**3).mean()) == pytest.approx(0, abs=0.05)
    assert float((z**4).mean()) == pytest.approx(3, abs=0.1)


def test_the_drift_aims_at_the_next_observation():
    point = draw(Bridge(SIGMA)(*observations()), 1.5, 100)
    torch.testing.assert_close(point.velocity, (-1.0 - point.position) / (3.0 - 1.5))


def test_both_velocities_are_the_slope_on_average():
    for velocity in ("drift", "flow"):
        point = draw(Bridge(SIGMA, velocity)(*observations()), 1.5)
        assert float(point.velocity.mean()) == pytest.approx(-1.0, abs=0.01)


def test_integrating_the_drift_with_noise_reproduces_the_marginals():
    path = Bridge(SIGMA)(*observations())
    chance, steps = torch.Generator().manual_seed(1), 400
    step = 2.0 / steps
    x = torch.full((20_000,), 1.0, dtype=torch.float64)
    for k in range(int(0.8 * steps)):
        slope, intercept = field(path, 1.0 + (k + 0.5) * step)
        noise = torch.randn(x.shape, generator=chance, dtype=x.dtype)
        x = x + step * (slope * x + intercept) + SIGMA * step**0.5 * noise
        if k + 1 in (steps // 4, steps // 2, int(0.8 * steps)):
            marginal = draw(path, 1.0 + (k + 1) * step).position
            assert float(x.mean()) == pytest.approx(float(marginal.mean()), abs=0.015)
            assert float(x.var()) == pytest.approx(float(marginal.var()), rel=0.05)


def test_the_flow_carries_one_marginal_to_the_next():
    path = Bridge(SIGMA, velocity="flow")(*observations())
    x, steps = draw(path, 1.2, seed=3).position.flatten(), 200
    step = (2.7 - 1.2) / steps
    for k in range(steps):
        slope, intercept = field(path, 1.2 + (k + 0.5) * step)
        x = x + step * (slope * x + intercept) * (1 + slope * step / 2)
    marginal = draw(path, 2.7, seed=4).position
    assert float(x.mean()) == pytest.approx(float(marginal.mean()), abs=0.01)
    assert float(x.var()) == pytest.approx(float(marginal.var()), rel=0.03)


@pytest.mark.parametrize("velocity", ["drift", "flow"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ends_of_intervals_are_finite_and_near_the_observations(velocity: Velocity, dtype: torch.dtype):
    times, values, mask = observations()
    path = Bridge(SIGMA, velocity)(times, values, mask).to(dtype=dtype)
    point = path.at(torch.tensor([0]), times, torch.Generator().manual_seed(0))
    assert point.velocity.isfinite().all()
    assert point.position.dtype == point.velocity.dtype == dtype
    assert point.time.dtype == torch.float64
    np.testing.assert_allclose(point.position, values, atol=5 * SIGMA * 2e-3**0.5 + 0.01)
    np.testing.assert_allclose(point.time[0], [0.001, 1.002, 3.001, 3.999], rtol=1e-6)
    assert point.acceleration is None


def test_a_state_with_a_gap_has_one_longer_bridge():
    times, values, mask = observations(states=2)
    mask[0, 1, 1] = False
    path = Bridge(SIGMA, max_gap=10)(times, values * mask, mask)
    point = draw(path, 2.0)
    assert float(point.position[..., 0].var()) == pytest.approx(SIGMA**2 / 2, rel=0.025)
    assert float(point.position[..., 1].var()) == pytest.approx(SIGMA**2 * 2 * 1 / 3, rel=0.025)
    torch.testing.assert_close(point.velocity[..., 1], -1.0 - point.position[..., 1])


def test_each_state_may_have_its_own_sigma_and_states_are_independent():
    position = draw(Bridge((0.1, 0.0, 2.0))(*observations(states=3)), 0.5).position[0]
    np.testing.assert_allclose(position.std(0), [0.05, 0.0, 1.0], rtol=0.02)
    assert abs(float(torch.corrcoef(position[:, [0, 2]].T)[0, 1])) < 0.02


def test_pixels_are_independent_and_may_have_their_own_gaps():
    times, values, mask = observations()
    field_values = values[..., None].expand(1, 4, 1, 2).clone()
    field_mask = mask[..., None].expand(1, 4, 1, 2).clone()
    common = draw(Bridge(SIGMA)(times, field_values, field_mask), 2.0).position[0, :, 0]
    np.testing.assert_allclose(common.var(0), [SIGMA**2 / 2] * 2, rtol=0.025)
    assert abs(float(torch.corrcoef(common.T)[0, 1])) < 0.02
    field_mask[0, 1, 0, 1] = False
    apart = draw(Bridge(SIGMA)(times, field_values * field_mask, field_mask), 2.0).position[0, :, 0]
    np.testing.assert_allclose(apart.var(0), [SIGMA**2 / 2, SIGMA**2 * 2 / 3], rtol=0.025)


def test_padding_and_missing_ends_are_finite_and_not_trusted():
    times = torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, torch.inf], [torch.inf] * 3], dtype=torch.float64)
    mask = torch.tensor([[False, True, True], [True, True, False], [False] * 3])[..., None]
    path = Bridge(SIGMA, velocity="flow")(times, torch.zeros(3, 3, 1), mask)
    query = torch.tensor([[0.0, 0.5, 1.5, 2.0]], dtype=torch.float64).expand(3, 4)
    point = path.at(torch.arange(3), query)
    assert point.position.isfinite().all()
    assert point.velocity.isfinite().all()
    expected = [[False, False, True, True], [True, True, False, False], [False] * 4]
    assert path.trust(torch.arange(3), query)[..., 0].tolist() == expected


def test_without_sigma_a_bridge_is_the_line():
    data = observations()
    query = torch.linspace(0.1, 3.9, 20, dtype=torch.float64)[None]
    line, bridge = Linear()(*data), Bridge(0.0, velocity="flow")(*data)
    expected, found = line.at(torch.tensor([0]), query), bridge.at(torch.tensor([0]), query)
    torch.testing.assert_close(found.position, expected.position)
    torch.testing.assert_close(found.velocity, expected.velocity)
    assert torch.equal(bridge.trust(torch.tensor([0]), query), line.trust(torch.tensor([0]), query))
    assert not bridge.trust(torch.tensor([0]), query, order=2).any()


def test_the_generator_decides_the_draw():
    path = Bridge(SIGMA)(*observations())
    assert torch.equal(draw(path, 0.5, 5, seed=1).position, draw(path, 0.5, 5, seed=1).position)
    assert not torch.equal(draw(path, 0.5, 5, seed=1).position, draw(path, 0.5, 5, seed=2).position)


def test_bad_settings_are_named():
    with pytest.raises(GreymatchError, match="Did you mean 'drift'"):
        Bridge(0.1, velocity="drft")  # pyright: ignore[reportArgumentType]
    with pytest.raises(GreymatchError, match="sigma"):
        Bridge(float("nan"))
    with pytest.raises(GreymatchError, match="one per state"):
        Bridge((0.1, 0.2))(*observations(states=3))
