"""What noisy fields show between their frames."""

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
from greymatch.models.evidence import Evidence
from greymatch.models.intervals import shown_between
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings

ROWS, CELLS, SIZE = 6, 40, 0.01


def fading(count: int, step: float, rate: float = 1.0) -> Trajectories:
    """x' = 1 - rate x in every cell."""
    times = step * torch.arange(count, dtype=torch.float64)
    start = torch.rand(ROWS, 1, 1, CELLS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = 1 / rate + (start - 1 / rate) * torch.exp(-rate * times[:, None, None])
    mask = torch.ones_like(values, dtype=torch.bool)
    return Trajectories(("x",), times.repeat(ROWS, 1), values, mask, np.arange(ROWS), noise=(SIZE,), grid=("x",))


def network_of(data: Trajectories) -> Network:
    """Knows that x fades, at a rate about 1, and not that it is fed."""
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Normal(1.0, 0.5)}, grid=["x"], complete=["x"])
    scales = Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))
    window = last_window(data, data.times.shape[1])
    return Network.fitting(physics, Settings(window=window.length), scales, window).requires_grad_(False)


def shown(data: Trajectories, noise: float = SIZE) -> tuple[Window, Evidence]:
    network, window = network_of(data), last_window(data, data.times.shape[1])
    nothing = torch.zeros(ROWS, network.settings.encoder.latents)
    latents = Latents(torch.zeros(ROWS, 1), nothing)
    return window, shown_between(network.dynamics, window, torch.tensor([noise]), latents)


def off(step: float) -> Tensor:
    """How far what is shown is from the true slope at the place that is shown."""
    _, evidence = shown(fading(9, step))
    return (evidence.top - (1 - evidence.phase)).abs().max()


def test_the_true_slope_is_shown_though_part_of_it_is_not_known():
    assert float(off(0.2)) < 0.01


def test_errors_fall_with_the_square_of_the_step():
    assert float(off(0.4) / off(0.2)) > 3.5


def test_doubt_is_that_of_two_frames_noise():
    data = fading(9, 0.2)
    generator = torch.Generator().manual_seed(0)
    noisy = replace(data, values=data.values + SIZE * torch.randn(data.values.shape, generator=generator))
    _, evidence = shown(noisy)
    ratio = (evidence.top - (1 - evidence.phase)) / evidence.doubt
    assert float(ratio.square().mean().sqrt()) == pytest.approx(1.0, abs=0.1)
    assert evidence.alone


def test_an_interval_lies_between_its_frames_and_is_unseen_where_one_of_them_is():
    data = fading(6, 0.5)
    mask = data.mask.clone()
    mask[0, 2, 0, 7] = False
    window, evidence = shown(replace(data, mask=mask))
    torch.testing.assert_close(evidence.times, (window.times[:, 1:] + window.times[:, :-1]) / 2)
    assert (evidence.seen == 0).nonzero().tolist() == [[0, 1, 0, 7], [0, 2, 0, 7]]
    assert bool(evidence.top.isfinite().all())
