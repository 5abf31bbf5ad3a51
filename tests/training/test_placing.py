from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.explain import explain
from greymatch.models.file import load
from greymatch.models.whole import whole
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.simulation.simulate import simulate
from greymatch.training.beginning import Beginning
from greymatch.training.fit import fit

Begin = Callable[..., Beginning]
ROWS, CELLS = 16, 16
X = (torch.arange(CELLS, dtype=torch.float64) + 0.5) / CELLS
BUMP = torch.exp(-(((X - 0.3) / 0.15) ** 2))
KAPPA = Uniform(0.01, 0.04)


def drawn(*shape: int) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def spread(x, p) -> Tensor:
    return p.kappa * laplacian(x.T, (1 / CELLS,), "neumann")


HEAT = Physics(lambda t, x, p: {"T": spread(x, p)}, ["T"], {"kappa": KAPPA}, grid=["x"])


def heated(missing: Callable[..., Tensor], rows: int = ROWS) -> Trajectories:
    """T' = kappa T_xx + what is missing, which p.a and the state may scale."""
    truth = Physics(
        lambda t, x, p: {"T": spread(x, p) + missing(x, p)},
        ["T"],
        {"kappa": KAPPA, "a": Uniform(0.5, 1.5)},
        grid=["x"],
    )
    waves = torch.cos(torch.pi * torch.arange(1, 4, dtype=torch.float64)[:, None] * X)
    start = 1 + (drawn(rows, 3) - 0.5) @ waves
    theta = truth.push(torch.special.ndtri(0.02 + 0.96 * drawn(rows, 5)[:, 3:]))
    times = torch.linspace(0, 3, 31, dtype=torch.float64)
    values = simulate(truth, start[:, None], times, theta, substeps=4)
    known = dict(zip(truth.params, theta.T.numpy(), strict=True))
    mask, labels = torch.ones_like(values, dtype=torch.bool), np.arange(rows)
    coords = {"x": X.numpy()}
    return Trajectories(
        ("T",), times.repeat(rows, 1), values, mask, labels, grid=("x",), grid_coords=coords, truth=known
    )


@pytest.fixture(scope="module")
def source() -> Trajectories:
    return heated(lambda x, p: p.a * BUMP)


def profile_of(begins: Beginning) -> Tensor:
    (profile,) = begins.network.dynamics.profiles.detach().double()
    return profile


def test_a_source_is_found_with_its_profile_and_the_parameter_beside_it(
    source: Trajectories, tiny: Settings, beginning: Begin
):
    begins = beginning(HEAT, source, tiny, residual__kind="conv")
    assert begins.held
    assert begins.network.settings.residual.curves == ("place(s along x, 1)",)
    torch.testing.assert_close(profile_of(begins), BUMP / BUMP.max(), atol=0.01, rtol=0)
    told = HEAT.push(whole(begins.network, source).mean[:, :1].float())[:, 0].double()
    torch.testing.assert_close(told, torch.as_tensor(source.truth["kappa"]), atol=3e-4, rtol=0)


@pytest.mark.usefixtures("roughly")
def test_a_rate_that_differs_from_cell_to_cell_is_found(tiny: Settings, beginning: Begin):
    data = heated(lambda x, p: -p.a * BUMP * x.T)
    begins = beginning(HEAT, data, tiny, residual__kind="conv")
    assert begins.held
    torch.testing.assert_close(profile_of(begins).abs(), BUMP / BUMP.max(), atol=0.02, rtol=0)


@pytest.mark.usefixtures("roughly")
def test_a_source_that_is_the_same_everywhere_needs_no_place(tiny: Settings, beginning: Begin):
    begins = beginning(HEAT, heated(lambda x, p: p.a + 0 * x.T), tiny, residual__kind="conv")
    assert begins.held
    assert begins.network.settings.residual.curves is None
    assert not begins.network.dynamics.placed


@pytest.mark.usefixtures("roughly")
def test_who_asks_for_no_curves_gets_no_profile(source: Trajectories, tiny: Settings, beginning: Begin):
    for asked in ({"residual__curves": ()}, {"residual__among": ("T",)}):
        assert not beginning(HEAT, source, tiny, residual__kind="conv", **asked).network.dynamics.placed


@pytest.mark.usefixtures("roughly")
def test_a_profile_is_saved_explained_and_forecast_with(source: Trajectories, tiny: Settings, tmp_path):
    settings = tiny.updated({"residual.kind": "conv", "encoder.kind": "conv"})
    model = fit(HEAT, source, source.select(slice(4)), settings=settings, steps=2, quiet=True)
    again = load(model.save(tmp_path / "model.safetensors"), HEAT)
    history, times = source.select(slice(4)).until(1.5), torch.tensor([2.0, 3.0])
    before, after = (one.forecast(history, times, draws=2).mean()["T"].values for one in (model, again))
    np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(after[:, -1], source.values[:4, -1, 0], atol=1e-3)
    found = explain(again, source)
    (term,) = found.missing["T"]
    assert term.term.text == "s(x)"
    torch.testing.assert_close(term.values / float(BUMP.max()), torch.as_tensor(source.truth["a"]), rtol=0.02, atol=0)
    assert "s(x): 1 at x = 0.2812, at least half of that on 25 % of the grid" in str(found)
    assert found.profiles["s(x)"].dims == ("x",)
    change = found.physics.evaluate(torch.zeros(1), source.values[:1, 0].float(), torch.tensor([[0.02, 1.0]]), None)
    known = HEAT.evaluate(torch.zeros(1), source.values[:1, 0].float(), torch.tensor([[0.02]]), None)
    torch.testing.assert_close((change - known)[0, 0].double(), BUMP / BUMP.max(), atol=0.01, rtol=0)
