from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.explain import explain
from greymatch.models.file import load
from greymatch.models.whole import whole
from greymatch.physics.operators import gradient, laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.simulation.simulate import simulate
from greymatch.training.beginning import Beginning
from greymatch.training.fit import fit
from greymatch.training.loop import Loop

Begin = Callable[..., Beginning]
Hurry = Callable[[], AbstractContextManager[None]]
ROWS, CELLS = 40, 24
NOTHING_KNOWN = Physics(lambda t, x, p: {"x": 0 * x.x}, ["x"])
SATURATED = Physics(lambda t, x, p: {"x": -p.k * x.x / (0.5 + x.x)}, ["x"], {"k": Uniform(0.5, 1.5)})


def drawn(rows: int, numbers: int) -> Tensor:
    return torch.rand(rows, numbers, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def simulated(truth: Physics, start: Tensor, times: Tensor) -> Trajectories:
    """With parameters that are spread over all of their prior."""
    theta = truth.push(torch.special.ndtri(0.02 + 0.96 * drawn(len(start), len(truth.free) + 1)[:, 1:]))
    values = simulate(truth, start, times, theta, substeps=8)[:, :, : len(truth.states)]
    mask, known = torch.ones_like(values, dtype=torch.bool), dict(zip(truth.params, theta.T.numpy(), strict=True))
    labels = np.arange(len(start))
    return Trajectories(truth.states, times.repeat(len(start), 1), values, mask, labels, grid=truth.grid, truth=known)


@pytest.fixture(scope="module")
def saturated() -> Trajectories:
    return simulated(SATURATED, 1 + 2 * drawn(ROWS, 1), torch.linspace(0, 4, 41, dtype=torch.float64))


LAWS: dict[str, tuple[Callable[[Tensor], Tensor], str, float | None]] = {
    "drag": (lambda v: v.abs() * v, "abs", None),
    "dry friction": (lambda v: 0.3 * torch.tanh(v / 0.3), "tanh", 0.3),
}


@pytest.mark.parametrize("name", LAWS)
def test_frictions_are_found_with_the_parameter_beside_them(name: str, tiny: Settings, beginning: Begin, hurry: Hurry):
    friction, shape, scale = LAWS[name]
    truth = Physics(
        lambda t, x, p: {"x": -(p.w**2) * x.x - p.c * friction(x.x_dot)},
        ["x"],
        {"w": Uniform(1.0, 2.0), "c": Uniform(0.2, 0.6)},
        order=2,
    )
    physics = Physics(lambda t, x, p: {"x": -(p.w**2) * x.x}, ["x"], {"w": Uniform(1.0, 2.0)}, order=2)
    start = torch.cat([1 + drawn(ROWS, 1), torch.zeros(ROWS, 1, dtype=torch.float64)], 1)
    data = simulated(truth, start, torch.linspace(0, 5, 51, dtype=torch.float64))
    with nullcontext() if scale else hurry():  # the digits of a scale take all that can be done
        begins = beginning(physics, data, tiny)
    assert begins.held
    (found,) = begins.network.dynamics.curves
    assert (found.shape, found.of) == (shape, "x_dot")
    assert scale is None or found.scale == pytest.approx(scale, rel=1e-6)
    told = physics.push(whole(begins.network, data).mean[:, :1].float())[:, 0].double()
    torch.testing.assert_close(told, torch.as_tensor(data.truth["w"]), atol=0.01, rtol=0)


@pytest.mark.usefixtures("roughly")
def test_a_saturation_is_found_with_its_scale_and_explained(saturated: Trajectories, tiny: Settings, tmp_path):
    model = fit(NOTHING_KNOWN, saturated, saturated, settings=tiny, steps=2, quiet=True)
    (curve,) = model.network.dynamics.curves
    assert curve.shape == "saturation"
    assert curve.scale == pytest.approx(0.5, rel=0.03)
    (term,) = explain(model, saturated).missing["x"]
    assert term.term.text == curve.words
    torch.testing.assert_close(-term.values, torch.as_tensor(saturated.truth["k"]), rtol=0.03, atol=0)
    again = load(model.save(tmp_path / "model.safetensors"), NOTHING_KNOWN)
    history, times = saturated.until(2.0), torch.tensor([3.0, 4.0])
    before, after = (one.forecast(history, times, draws=2).mean()["x"].values for one in (model, again))
    np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(after[:, -1], saturated.values[:, -1, 0], atol=0.01)


def test_products_that_explain_all_need_no_curves(
    decay: Physics, decays: Callable[..., Trajectories], tiny: Settings, beginning: Begin
):
    assert beginning(decay, decays(30), tiny).network.settings.residual.curves is None


@pytest.mark.usefixtures("roughly")
def test_who_asks_for_curves_gets_those_alone(saturated: Trajectories, tiny: Settings, beginning: Begin):
    for asked in ((), ("saturation(x, 0.5)",)):
        begins = beginning(NOTHING_KNOWN, saturated, tiny, residual__curves=asked)
        assert begins.network.settings.residual.curves == asked
    assert begins.held


@pytest.mark.usefixtures("roughly")
@pytest.mark.parametrize("boundary", ["periodic", "neumann"])
def test_what_goes_with_a_field_is_found_along_its_axis(boundary: str, tiny: Settings, beginning: Begin):
    """u' = d u_xx - c u u_x, of which diffusion is known."""

    def spread(x, p):
        return p.d * laplacian(x.u, (0.25,), boundary)

    truth = Physics(
        lambda t, x, p: {"u": spread(x, p) - p.c * x.u * gradient(x.u, (0.25,), boundary)[0]},
        ["u"],
        {"d": Uniform(0.05, 0.2), "c": Uniform(0.5, 1.0)},
        grid=["x"],
    )
    physics = Physics(lambda t, x, p: {"u": spread(x, p)}, ["u"], {"d": Uniform(0.05, 0.2)}, grid=["x"])
    place = math.pi * (torch.arange(CELLS, dtype=torch.float64) + 0.5) / CELLS
    start = torch.cos(2 * place) * drawn(16, 1) + torch.cos(4 * place) * (drawn(16, 2)[:, 1:] - 0.5) + 0.3
    data = simulated(truth, start[:, None], torch.linspace(0, 2.4, 25, dtype=torch.float64))
    begins = beginning(physics, data, tiny, residual__kind="conv", encoder__kind="conv")
    assert begins.held
    assert not begins.network.settings.residual.pointwise
    (curve,) = begins.network.dynamics.curves
    assert (curve.shape, curve.along) == ("slope", ("x", boundary))
    told = physics.push(whole(begins.network, data).mean[:, :1].float())[:, 0].double()
    torch.testing.assert_close(told, torch.as_tensor(data.truth["d"]), atol=2e-3, rtol=0)


@pytest.mark.usefixtures("roughly")
@pytest.mark.parametrize("products", [1, 3])
def test_who_asks_for_so_many_factors_gets_them(
    products: int, saturated: Trajectories, tiny: Settings, beginning: Begin
):
    begins = beginning(NOTHING_KNOWN, saturated, tiny, residual__products=products)
    assert begins.network.settings.residual.products == products


def test_a_residual_that_sees_no_state_has_no_curves(saturated: Trajectories, tiny: Settings, beginning: Begin):
    begins = beginning(NOTHING_KNOWN, saturated, tiny, residual__among=[])
    assert not begins.network.settings.residual.curves


@pytest.mark.usefixtures("roughly")
def test_a_resumed_run_keeps_its_curves_and_chooses_nothing_again(
    saturated: Trajectories, tiny: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(self: Loop) -> None:
        self.checkpoint()
        raise KeyboardInterrupt

    asked = {"settings": tiny, "steps": 4, "folder": tmp_path, "quiet": True}
    with monkeypatch.context() as stopping:
        stopping.setattr(Loop, "_advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(NOTHING_KNOWN, saturated, saturated, **asked)
    monkeypatch.setattr("greymatch.training.fit.begun", lambda *given: pytest.fail("it was chosen again"))
    resumed = fit(NOTHING_KNOWN, saturated, saturated, resume=True, **asked)
    curve = (resumed.settings.residual.curves or ("none",))[0]
    assert curve.startswith("saturation(x, 0.5")
