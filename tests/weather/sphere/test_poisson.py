from __future__ import annotations

import pytest
import torch

from greymatch.weather.sphere import area_weights, laplacian, unbent


def test_the_laplacian_of_harmonics_converges_in_the_mean(harmonic, points, order_of) -> None:
    def error(rows: int) -> float:
        here = points(rows, 2 * rows)
        field = harmonic.value(here.place)
        wrong = laplacian(field, 1.0) + harmonic.degree * (harmonic.degree + 1) * field
        return float((wrong.abs() * area_weights(field)).mean())

    assert order_of(error) == pytest.approx(2, abs=0.25)


def test_harmonics_are_unbent_by_what_theory_says(harmonic, points) -> None:
    here = points(32, 64)
    field = harmonic.value(here.place)
    exact = -field / (harmonic.degree * (harmonic.degree + 1) + 1 / 0.5**2)
    torch.testing.assert_close(unbent(field, 0.5, 1.0), exact, rtol=0.02, atol=0.02 * float(exact.abs().max()))


def test_to_bend_and_to_unbend_leave_a_field_as_it_was(seed: int) -> None:
    field = torch.randn(3, 16, 32, dtype=torch.float64)
    torch.testing.assert_close(unbent(laplacian(field) - field / 1e6**2, 1e6), field)


def test_nothing_is_made_or_lost(seed: int) -> None:
    bent = laplacian(torch.randn(16, 32, dtype=torch.float64), 1.0)
    assert float((bent * area_weights(bent)).mean()) == pytest.approx(0, abs=1e-10)
