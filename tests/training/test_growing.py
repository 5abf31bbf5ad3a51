"""A small term that noise hides from few cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import last_window
from greymatch.matching.interpolants import interpolant
from greymatch.models.network import Network
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.simulation.simulate import simulate
from greymatch.training.growing import grown
from greymatch.training.law import in_few_terms, part_of, regressed
from greymatch.training.shown import Shown

ROWS, CELLS, POINTS, SIZE = 24, 256, 8, 0.05
ONE, U, CUBE = 0, 1, 3  # columns of the monomials of one state
KNOWN = Uniform(0.01, 0.03)


def spread(x: Any, p: Any) -> Tensor:
    return p.a * laplacian(x.u, (0.5,))


def drawn(*shape: int) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def reacting(constant: float) -> tuple[Network, Shown]:
    """u' = a u_xx + u - u^3 + constant, of which a network with products knows the spreading; and what noise leaves."""
    truth = Physics(lambda t, x, p: {"u": spread(x, p) + x.u - x.u**3 + constant}, ["u"], {"a": KNOWN}, grid=["x"])
    times = torch.linspace(0, 1.4, POINTS, dtype=torch.float64)
    theta = truth.push(torch.special.ndtri(0.05 + 0.9 * drawn(ROWS, 1)))
    values = simulate(truth, 2 * drawn(ROWS, 1, CELLS) - 1, times, theta, substeps=4)
    values = values + SIZE * torch.randn(values.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    mask, clock = torch.ones_like(values, dtype=torch.bool), times.repeat(ROWS, 1)
    data = Trajectories(("u",), clock, values, mask, np.arange(ROWS), noise=(SIZE,), grid=("x",))
    known = Physics(lambda t, x, p: {"u": spread(x, p)}, ["u"], {"a": KNOWN}, grid=["x"])
    settings = Settings(window=6).updated({"residual.kind": "polynomial", "encoder.latents": 1})
    scales = Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))
    network = Network.fitting(known, settings, scales, last_window(data, 6))
    network.observed.fill_(SIZE)
    shown = Shown.of(network, data)
    assert shown is not None
    return network, shown


@pytest.mark.parametrize(("constant", "wanted"), [(0.05, [[ONE]]), (0.0, [])])
def test_all_cells_show_a_small_term_that_is_there_and_none_that_is_not(constant: float, wanted: list[list[int]]):
    network, shown = reacting(constant)
    law = regressed(network, shown)
    assert law is not None
    found = list(grown(network, part_of(network), shown, law.at, [(0, U), (0, CUBE)]))
    assert [[term for _, term in more[2:]] for more in found] == wanted


def test_the_law_with_it_is_one_of_those_that_forecasts_choose_among():
    network, shown = reacting(0.05)
    law = regressed(network, shown)
    assert law is not None
    few = [one for one in in_few_terms(law, shown) if one.terms == 3]
    assert few
    constant = float(few[0].factors.weights[0, ONE, 0])
    assert constant == pytest.approx(0.05 / float(network.dynamics.scales_top[0]), rel=0.2)
