from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from greymatch.physics.gaussian import cdf, cdf_of, inverse_cdf, mass_between, truncated_moments


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float32, 2e-5), (torch.float64, 1e-13)])
def test_cdf_keeps_its_lower_tail(dtype: torch.dtype, rtol: float) -> None:
    z = torch.tensor([-12, -8, -6, -1, 0, 3], dtype=dtype)
    np.testing.assert_allclose(cdf(z), stats.norm.cdf(z.numpy().astype(float)), rtol=rtol)
    assert cdf_of(-30.0) == pytest.approx(stats.norm.cdf(-30.0), rel=1e-12, abs=0)
    assert (cdf_of(-math.inf), cdf_of(math.inf)) == (0, 1)


def test_inverse_cdf_is_accurate_in_both_tails() -> None:
    z = torch.tensor([-30, -9, -1, 0, 2, 9, 30], dtype=torch.float64)
    torch.testing.assert_close(inverse_cdf(cdf(z), cdf(-z)), z, rtol=1e-13, atol=1e-15)


def test_mass_between_does_not_cancel_on_the_right() -> None:
    start, stop = torch.tensor([[-9.0, 9.0, -1.0, 20.0], [-8.0, 10.0, 2.0, math.inf]], dtype=torch.float64)
    expected = [stats.norm.cdf(-8) - stats.norm.cdf(-9), stats.norm.sf(9) - stats.norm.sf(10)]
    expected += [stats.norm.cdf(2) - stats.norm.cdf(-1), stats.norm.sf(20)]
    np.testing.assert_allclose(mass_between(start, stop), expected, rtol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 2.0), (-math.inf, -28.0), (3.0, 3.1), (-math.inf, math.inf)])
def test_truncated_moments_agree_with_adaptive_integration(a: float, b: float) -> None:
    edge = min(max(0.0, a), b)
    low, high = max(a, edge - 12), min(b, edge + 12)
    points = [p for p in (edge - 1, edge - 0.1, edge + 0.1, edge + 1) if low < p < high]

    def moment(power: int, about: float = edge) -> float:
        def integrand(z: float) -> float:
            return (z - about) ** power * math.exp((edge**2 - z**2) / 2)

        return integrate.quad(integrand, low, high, points=points, epsabs=1e-13, epsrel=1e-11, limit=200)[0]

    mean = edge + moment(1) / moment(0)
    computed = truncated_moments(a, b)
    assert computed[0] == pytest.approx(mean, rel=1e-11, abs=1e-11)
    assert computed[1] == pytest.approx(math.sqrt(moment(2, mean) / moment(0)), rel=1e-9)
