from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window
from greymatch.matching.interpolants import interpolant
from greymatch.models.features import Features, window_features
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import LogNormal, Normal, Uniform
from greymatch.simulation.simulate import simulate

FLOOR = 0.2


def swing(t, x, p):
    return {"angle": -(p.omega**2) * torch.sin(x.angle)}


PRIOR = Uniform(0.785, 3.14)
PENDULUM = Physics(swing, ["angle"], {"omega": PRIOR}, order=2)


def recorded(physics: Physics, values: Tensor, times: Tensor, inputs: Signals | None = None) -> Trajectories:
    rows = len(values)
    mask = torch.ones_like(values, dtype=torch.bool)
    return Trajectories(physics.states, times.repeat(rows, 1), values, mask, np.arange(rows), inputs, physics.grid)


def scales_of(data: Trajectories) -> Scales:
    return Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))


def seen(physics: Physics, data: Trajectories, scales: Scales | None = None, window: Window | None = None) -> Features:
    window = last_window(data, data.times.shape[1]) if window is None else window
    return window_features(physics, window, scales or scales_of(data), stencil=7, amplitude_floor=FLOOR)


def estimate(physics: Physics, features: Features) -> Tensor:
    """The Gauss-Newton estimate of the free parameters (B, L), in physical units."""
    states, free = len(physics.states), len(physics.free)
    standard = features.summary[:, 2 * states + free : 2 * states + 2 * free]
    priors = [physics.params[name] for name in physics.free]
    mean, std = (torch.tensor([getattr(prior, name) for prior in priors]) for name in ("mean", "std"))
    return mean + std * standard


def weights(physics: Physics, features: Features) -> Tensor:
    """The weights of the library (B, K), in units of the data."""
    squashed = features.summary[:, 2 * len(physics.states) + 3 * len(physics.free) : -2]
    return squashed.sign() * torch.expm1(squashed.abs())


def swings(damping: float, points: int = 26) -> tuple[Trajectories, Tensor]:
    truth = Physics(
        lambda t, x, p: {"angle": -(p.omega**2) * torch.sin(x.angle) - p.xi * x.angle_dot},
        ["angle"],
        {"omega": 1.0, "xi": 1.0},
        order=2,
    )
    omega = torch.linspace(0.9, 3.0, 8, dtype=torch.float64)
    start = torch.stack([torch.linspace(1.5, 0.7, 8), torch.zeros(8)], 1)
    times = torch.linspace(0, 2.5, points, dtype=torch.float64)
    theta = torch.stack([omega, torch.full_like(omega, damping)], 1)
    return recorded(PENDULUM, simulate(truth, start, times, theta, substeps=4)[:, :, :1], times), omega


def test_gauss_newton_finds_the_parameter_of_complete_physics():
    data, omega = swings(damping=0.0)
    complete = Physics(swing, ["angle"], {"omega": PRIOR}, order=2, complete=["angle"])
    found = estimate(complete, seen(complete, data))[:, 0]
    torch.testing.assert_close(found, omega.float(), rtol=0.01, atol=0)


def test_two_parameters_of_a_linear_system_are_found_from_its_exact_solution():
    # x' = -k x + c, y' = k x
    physics = Physics(
        lambda t, x, p: {"x": -p.k * x.x + p.c, "y": p.k * x.x},
        ["x", "y"],
        {"k": LogNormal(1.0, 0.5), "g": 3.0, "c": Normal(0.0, 1.0)},
        complete=["x", "y"],
    )
    k = torch.tensor([0.4, 1.0, 2.5], dtype=torch.float64)[:, None]
    c = torch.tensor([-0.8, 0.0, 1.3], dtype=torch.float64)[:, None]
    times = torch.linspace(0, 1.5, 16, dtype=torch.float64)
    x = c / k + (2 - c / k) * torch.exp(-k * times)
    y = c * times + (2 - c / k) * (1 - torch.exp(-k * times))
    found = estimate(physics, seen(physics, recorded(physics, torch.stack([x, y], 2), times)))
    torch.testing.assert_close(found, torch.cat([k, c], 1).float(), rtol=0.01, atol=0.01)


def test_the_library_finds_a_missing_linear_damping_beside_the_parameter():
    data, omega = swings(damping=0.8)
    scales = scales_of(data)
    features = seen(PENDULUM, data, scales)
    damping = weights(PENDULUM, features)[:, 2] * scales.acceleration / scales.velocity
    torch.testing.assert_close(damping, torch.full((8,), -0.8), rtol=0.05, atol=0)
    torch.testing.assert_close(estimate(PENDULUM, features)[:, 0], omega.float(), rtol=0.04, atol=0)
    plain = features.summary[:, -2]
    rich = features.summary[:, -1]
    assert bool((rich < plain - 5).all()), "log misfits: the library explains what the physics alone cannot"


def test_equations_that_are_complete_get_no_library():
    data, _ = swings(damping=0.8)
    complete = Physics(swing, ["angle"], {"omega": PRIOR}, order=2, complete=["angle"])
    assert weights(PENDULUM, seen(PENDULUM, data)).shape[1] == 3
    assert weights(complete, seen(complete, data)).shape[1] == 0


def test_the_diffusivity_of_a_field_is_found_from_its_modes():
    size, spacing = 8, 0.5
    physics = Physics(
        lambda t, x, p: {"u": p.d * laplacian(x.u, spacing, dims=2)}, ["u"], {"d": Uniform(0.0, 1.0)}, grid=("y", "x")
    )
    d = torch.tensor([0.1, 0.5, 0.8], dtype=torch.float64)
    times = torch.linspace(0, 1, 11, dtype=torch.float64)
    angle = 2 * torch.pi * torch.arange(size) / size
    rate = (2 - 2 * np.cos(2 * np.pi / size)) / spacing**2
    decay = torch.exp(-rate * d[:, None] * times)[..., None, None, None]
    field = decay * (torch.sin(angle)[:, None] + 0 * angle) + decay**2 * torch.sin(angle)[:, None] * torch.cos(angle)
    found = estimate(physics, seen(physics, recorded(physics, field, times)))
    torch.testing.assert_close(found[:, 0], d.float(), rtol=0.01, atol=0)


def test_time_and_inputs_reach_the_physics_of_a_window():
    # x' = k cos(t) + b u(t), with t far from zero
    physics = Physics(
        lambda t, x, p, u: {"x": p.k * torch.cos(t) + p.b * u.u},
        ["x"],
        {"k": Normal(0.0, 1.0), "b": Normal(0.0, 1.0)},
        inputs=["u"],
        complete=["x"],
    )
    times = torch.linspace(100, 103, 31, dtype=torch.float64)
    k, b = torch.tensor([[0.5], [-1.2]], dtype=torch.float64), torch.tensor([[1.0], [0.3]], dtype=torch.float64)
    x = k * torch.sin(times) + b * times**2 / 2
    signals = Signals(("u",), times.repeat(2, 1), times.repeat(2, 1)[..., None])
    found = estimate(physics, seen(physics, recorded(physics, x[..., None], times, signals)))
    torch.testing.assert_close(found, torch.cat([k, b], 1).float(), rtol=0.01, atol=0.01)


def oscillator(states: list[str], state: float = 1.0, time: float = 1.0) -> Physics:
    """Two coupled oscillators, one of them driven, in units `state` and `time` times smaller."""

    def right(t, x, p, u):
        a, b = x.a / state, x.b / state
        push = {"a": -p.k * a + 0.3 * b, "b": -2 * torch.tanh(b) - p.c * x.b_dot * (time / state) + u.u}
        return {name: push[name] * state / time**2 for name in states}

    return Physics(right, states, {"k": LogNormal(1.0, 0.4), "c": Uniform(0.0, 1.0)}, order=2, inputs=["u"])


def oscillations(states: list[str], state: float = 1.0, time: float = 1.0) -> Trajectories:
    generator = torch.Generator().manual_seed(3)
    base = oscillator(["a", "b"])
    times = torch.linspace(0, 3, 16, dtype=torch.float64)
    start = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    theta = base.push(torch.randn(6, 2, generator=generator, dtype=torch.float64))
    phase = simulate(base, start, times, theta, substeps=4, inputs=lambda t: torch.sin(t)[:, None])
    values = state * phase[:, :, [("a", "b").index(name) for name in states]]
    clock = (time * times).repeat(6, 1)
    signals = Signals(("u",), clock, torch.sin(times).repeat(6, 1)[..., None])
    return recorded(oscillator(states, state, time), values, time * times, signals)


def test_features_do_not_change_with_the_units():
    one = seen(oscillator(["a", "b"]), oscillations(["a", "b"]))
    other = seen(oscillator(["a", "b"], 1000.0, 60.0), oscillations(["a", "b"], 1000.0, 60.0))
    for mine, its, name in zip(one, other, Features._fields, strict=True):
        # in single precision, whose rounding normal equations magnify, on one machine more than on another
        torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-3, msg=name)


def test_the_order_of_the_states_does_not_matter():
    one = seen(oscillator(["a", "b"]), oscillations(["a", "b"]))
    other = seen(oscillator(["b", "a"]), oscillations(["b", "a"]))
    torch.testing.assert_close(one.amplitude, other.amplitude.flip(1))
    first = estimate(oscillator(["a", "b"]), one)
    torch.testing.assert_close(first, estimate(oscillator(["b", "a"]), other), rtol=1e-3, atol=1e-4)
    # every channel of one is a channel of the other
    distance = torch.cdist(one.sequence.movedim(2, 0).flatten(1), other.sequence.movedim(2, 0).flatten(1))
    assert float(distance.amin(1).max()) < 1e-2
    torch.testing.assert_close(one.summary.sort(1).values, other.summary.sort(1).values, rtol=1e-3, atol=1e-3)


def test_rows_are_independent_of_each_other():
    physics, data = oscillator(["a", "b"]), oscillations(["a", "b"])
    scales, order = scales_of(data), [4, 0, 5, 2]
    all_rows = seen(physics, data, scales)
    some = seen(physics, data.select(order), scales)
    for mine, its in zip(all_rows, some, strict=True):
        torch.testing.assert_close(mine[order], its, rtol=1e-4, atol=1e-5)


def test_a_large_offset_does_not_drown_the_velocities():
    # a temperature near 300 with changes of 0.01: float32 alone would leave noise
    physics = Physics(lambda t, x, p: {"x": 0.0}, ["x"])
    times = torch.linspace(0, 1, 21, dtype=torch.float64)
    data = recorded(physics, (300 + 0.01 * torch.sin(4 * times))[None, :, None], times)
    scales = scales_of(data)
    features = seen(physics, data, scales)
    slope = features.sequence[0, :, 1] * scales.velocity * features.amplitude[0]
    torch.testing.assert_close(slope, (0.04 * torch.cos(4 * times)).float(), rtol=1e-3, atol=1e-5)


def test_a_quiet_window_is_not_blown_up_beyond_the_floor():
    data, _ = swings(damping=0.0)
    scales = scales_of(data)
    quiet = replace(data, values=0.3 + 1e-9 * data.values)
    features = seen(PENDULUM, quiet, scales)
    torch.testing.assert_close(features.amplitude, torch.full((8, 1), FLOOR))
    loud = seen(PENDULUM, replace(data, values=100 * data.values), scales)
    spread = 100 * data.values.std(1, unbiased=False).float() / scales.spread
    torch.testing.assert_close(loud.amplitude, spread, rtol=1e-3, atol=0)
    assert all(bool(part.isfinite().all()) for part in (*features, *loud))


def test_what_stands_in_gaps_has_no_influence():
    physics, data = oscillator(["a", "b"]), oscillations(["a", "b"])
    scales = scales_of(data)
    mask = data.mask.clone()
    mask[:, 5:7, 0] = False
    mask[2, 9:, 1] = False
    garbage = torch.where(mask, data.values, 1e6)
    window = last_window(data, 16)
    one, two = (
        window_features(physics, replace(window, values=values, mask=mask), scales, 7, FLOOR)
        for values in (torch.where(mask, data.values, 0.0), garbage)
    )
    for mine, its in zip(one, two, strict=True):
        assert torch.equal(mine, its)


def test_without_free_parameters_or_physics_there_are_features_still():
    nothing = Physics(lambda t, x, p: {"angle": 0.0}, ["angle"], order=2)
    data, _ = swings(damping=0.5)
    features = seen(nothing, data)
    assert features.sequence.shape[:2] == (8, 26)
    assert all(bool(part.isfinite().all()) for part in features)
