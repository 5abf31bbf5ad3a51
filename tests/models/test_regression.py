from __future__ import annotations

import pytest
import torch

from greymatch.models.regression import squash


def test_squash_is_odd_increasing_linear_near_zero_and_slow_far_away():
    x = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    y = squash(x)
    torch.testing.assert_close(y, -squash(-x))
    assert bool((y.diff() > 0).all())
    assert float(squash(torch.tensor(1e-6))) == pytest.approx(1e-6, rel=1e-3)
    assert float(squash(torch.tensor(1e30))) < 100
