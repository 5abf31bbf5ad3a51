from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.matching.interpolants import interpolant

STEP = 0.01
AMPLITUDE, FREQUENCY = torch.tensor([2.0, 50.0], dtype=torch.float64), torch.tensor([3.0, 0.5], dtype=torch.float64)


def waves(rows: int = 4) -> Trajectories:
    """a_s sin(w_s t + phase) + 10, over whole periods of both states."""
    times = torch.arange(0, 4 * torch.pi, STEP, dtype=torch.float64)
    phase = torch.arange(rows)[:, None, None] * torch.pi / 2
    values = 10 + AMPLITUDE * torch.sin(FREQUENCY * times[:, None] + phase)
    everywhere = torch.ones_like(values, dtype=torch.bool)
    return Trajectories(("a", "b"), times.repeat(rows, 1), values, everywhere, np.arange(rows))


def scales(data: Trajectories, kind: str = "quintic") -> Scales:
    return Scales.of(data, interpolant(kind)(data.times, data.values, data.mask))


def test_scales_of_a_wave_are_its_closed_forms():
    found = scales(waves())
    rms = AMPLITUDE / 2**0.5
    for name, wanted in [
        ("center", torch.full((2,), 10.0)),
        ("spread", rms),
        ("velocity", rms * FREQUENCY),
        ("acceleration", rms * FREQUENCY**2),
    ]:
        torch.testing.assert_close(getattr(found, name), wanted.float(), rtol=2e-3, atol=1e-3, msg=name)
    assert float(found.step) == pytest.approx(STEP)


def test_scales_carry_the_units_of_the_data():
    data = waves()
    other = scales(replace(data, times=60 * data.times, values=1000 * data.values))
    one = scales(data)
    for name, factor in [
        ("center", 1000),
        ("spread", 1000),
        ("velocity", 1000 / 60),
        ("acceleration", 1000 / 3600),
        ("step", 60),
    ]:
        torch.testing.assert_close(getattr(other, name), factor * getattr(one, name), rtol=1e-5, atol=0)


def test_what_is_not_observed_does_not_count():
    data = waves(2)
    whole = scales(data)
    data.mask[:, 300:330, 0] = False
    data.values[:, 300:330, 0] = 1e6
    longer = lambda part, value: torch.cat([part, torch.full_like(part[:, :5], value)], 1)  # noqa: E731
    times, values, mask = longer(data.times, torch.inf), longer(data.values, 0.0), longer(data.mask, False)
    data = Trajectories(data.states, times, values, mask, data.labels)
    found = scales(data)
    torch.testing.assert_close(found.spread, whole.spread, rtol=0.05, atol=0)
    torch.testing.assert_close(found.velocity, whole.velocity, rtol=0.05, atol=0)


@pytest.mark.parametrize("level", [0.0, 3.7, -1e5])
def test_a_state_that_stands_still_has_scales_to_divide_by(level: float):
    data = waves()
    values = data.values.clone()
    values[..., 1] = level
    found = scales(replace(data, values=values))
    for name in ("spread", "velocity", "acceleration"):
        scale = getattr(found, name)
        assert bool((scale > 1e-3).all()), name
        assert bool((scale < 1e12).all()), name
    assert float(found.spread[1]) == pytest.approx(abs(level) or 1.0)
    assert float(found.velocity[1]) == pytest.approx(float(found.spread[1]) / STEP, rel=1e-3)


def test_states_that_differ_only_between_trajectories_stand_still_too():
    data = waves()
    values = data.values.clone()
    values[..., 1] = torch.arange(4.0)[:, None]
    found = scales(replace(data, values=values))
    assert float(found.spread[1]) == pytest.approx(1.25**0.5)
    assert float(found.velocity[1]) == pytest.approx(1.25**0.5 / STEP, rel=1e-3)


def test_a_path_without_acceleration_gets_one_from_the_step():
    found = scales(waves(), "linear")
    torch.testing.assert_close(found.acceleration, found.velocity / STEP, rtol=1e-3, atol=0)


def test_the_phase_is_scaled_by_spread_then_velocity():
    found = scales(waves())
    center, spread = found.phase(2)
    assert torch.equal(center, torch.cat([found.center, torch.zeros(2)]))
    assert torch.equal(spread, torch.cat([found.spread, found.velocity]))
    assert found.phase(1) == (found.center, found.spread)
    assert found.top(1) is found.velocity
    assert found.top(2) is found.acceleration


def test_inputs_are_scaled_by_their_own_samples():
    data = waves(2)
    when = torch.tensor([[0.0, 5.0, 12.0, 13.0], [0.0, 12.0, 13.0, torch.inf]], dtype=torch.float64)
    values = torch.tensor(
        [[[1.0, 7.0], [3.0, 7.0], [1.0, 7.0], [3.0, 7.0]], [[1.0, 7.0], [3.0, 7.0], [2.0, 7.0], [0.0, 0.0]]]
    )
    found = scales(replace(data, inputs=Signals(("u", "v"), when, values.double(), "linear")))
    sampled = np.array([1, 3, 1, 3, 1, 3, 2])
    assert found.input_center.tolist() == pytest.approx([sampled.mean(), 7.0])
    assert found.input_spread.tolist() == pytest.approx([sampled.std(), 1.0])


def test_on_a_grid_all_pixels_count_alike():
    data = waves(3)
    doubled = torch.stack([data.values, 3 * data.values], -1)
    field = Trajectories(
        data.states, data.times, doubled, torch.ones_like(doubled, dtype=torch.bool), data.labels, grid=("x",)
    )
    plain, found = scales(data), scales(field)
    torch.testing.assert_close(found.center, 2 * plain.center)
    torch.testing.assert_close(found.velocity, plain.velocity * 5**0.5, rtol=1e-5, atol=0)
