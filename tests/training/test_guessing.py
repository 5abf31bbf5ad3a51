from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.simulation.simulate import simulate
from greymatch.training.beginning import Beginning

Begin = Callable[..., Beginning]
ROWS, NOISE = 20, 0.02
SPRING = {"k": Uniform(1.0, 3.0)}
KNOWN = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], SPRING, order=2)


def oscillating(friction: Callable[[Tensor], Tensor]) -> Trajectories:
    """x'' = -k x - c friction(x'), with noise."""
    truth = Physics(
        lambda t, x, p: {"x": -p.k * x.x - p.c * friction(x.x_dot)},
        ["x"],
        {**SPRING, "c": Uniform(0.2, 0.4)},
        order=2,
    )
    drawn = torch.Generator().manual_seed(0)
    theta = truth.push(torch.special.ndtri(0.02 + 0.96 * torch.rand(ROWS, 2, generator=drawn, dtype=torch.float64)))
    start = 4 * torch.rand(ROWS, 2, generator=drawn, dtype=torch.float64) - 2
    times = torch.linspace(0, 10, 101, dtype=torch.float64)
    values = simulate(truth, start, times, theta, substeps=4)[:, :, :1]
    size = NOISE * float(values.std())
    values = values + size * torch.randn(values.shape, generator=drawn, dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    return Trajectories(("x",), times.repeat(ROWS, 1), values, mask, np.arange(ROWS), noise=(size,))


def said(begins: Beginning, velocity: Tensor) -> Tensor:
    """What the residual says of velocities, where x = 0."""
    network, count = begins.network, len(velocity)
    phase = torch.stack([torch.zeros(count), velocity], 1)
    state = network.dynamics.visible(phase)
    with torch.no_grad():
        return network.dynamics.field(state, torch.zeros(count, network.settings.encoder.latents))[:, 0]


@pytest.mark.parametrize(
    ("friction", "curves", "bends"),
    [
        (lambda v: v.abs() * v, ["abs"], 4.0),
        (lambda v: v, [], 2.0),
        (lambda v: 0 * v, [], None),
    ],
    ids=["drag", "linear", "nothing"],
)
def test_in_noise_forecasts_tell_which_friction_is_missing(
    friction: Callable[[Tensor], Tensor], curves: list[str], bends: float | None, tiny: Settings, beginning: Begin
):
    begins = beginning(KNOWN, oscillating(friction), tiny.updated({"window": 30}))
    assert begins.held
    assert [curve.shape for curve in begins.network.dynamics.curves] == curves
    slow, fast, back = said(begins, torch.tensor([0.8, 1.6, -1.6])).tolist()
    if bends is None:
        assert (slow, fast, back) == (0, 0, 0)
    else:
        assert fast < 0
        assert fast / slow == pytest.approx(bends, rel=1e-3)
        assert back == pytest.approx(-fast, rel=1e-3)


def test_who_asks_for_no_curves_is_guessed_none(tiny: Settings, beginning: Begin):
    data = oscillating(lambda v: v.abs() * v)
    begins = beginning(KNOWN, data, tiny.updated({"window": 30}), residual__curves=[])
    assert begins.network.dynamics.curves == ()


def test_a_budget_too_short_for_guesses_goes_without(tiny: Settings, beginning: Begin):
    data = oscillating(lambda v: v.abs() * v)
    begins = beginning(KNOWN, data, tiny.updated({"window": 30}), training__minutes=1e-4)
    assert begins.network.dynamics.curves == ()
