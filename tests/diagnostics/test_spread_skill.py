from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.diagnostics.spread_skill import spread_skill


def test_errors_as_large_as_they_should_be_lie_on_the_diagonal(seed):
    spread = torch.linspace(0.5, 4.0, 20_000).double()
    found = spread_skill(spread.square(), (spread * torch.randn(20_000)).square())
    np.testing.assert_allclose(found.skill, found.spread, rtol=0.06)
    assert found.ratio == pytest.approx(1.0, abs=0.02)
    assert (np.diff(found.spread) > 0).all()


def test_a_spread_half_as_large_has_half_the_ratio(seed):
    spread = torch.linspace(0.5, 4.0, 20_000).double()
    assert spread_skill(spread.square() / 4, spread.square()).ratio == pytest.approx(0.5)


def test_a_spread_that_tells_nothing_has_level_skill(seed):
    found = spread_skill(torch.rand(20_000).double() + 0.5, torch.randn(20_000).double().square())
    assert np.ptp(found.skill) < 0.1
    assert found.ratio == pytest.approx(1.0, abs=0.03)  # right on average, and of no use


def test_few_points_make_few_groups_and_lost_ones_an_infinite_error():
    found = spread_skill(torch.tensor([1.0, 4.0]), torch.tensor([1.0, math.inf]))
    assert (found.spread.tolist(), found.skill.tolist(), found.ratio) == ([1.0, 2.0], [1.0, math.inf], 0.0)
