from __future__ import annotations

import pytest
import torch

from greymatch.training.factors import LEAST_NOISE, Factors, Points

N, P = 60, 30


def points(seed: int, noise: float = 0.0) -> tuple[Points, torch.Tensor]:
    """rest = eps x + (1 - 2 z) x y in one equation and nothing in another, which is complete; eps and z are normal."""
    generator = torch.Generator().manual_seed(seed)
    x, y, left = torch.randn(3, N, P, generator=generator, dtype=torch.float64)
    eps, z = torch.randn(2, N, 1, generator=generator, dtype=torch.float64)
    phi = torch.stack([torch.ones_like(x), x, y, x * y], -1)
    rest = torch.stack([eps * x + (1 - 2 * z) * x * y + noise * left, torch.zeros_like(x)], -1)
    slopes = torch.stack([x, torch.zeros_like(x)], -1)[..., None]
    whole = torch.ones(N, 1, 2, dtype=torch.float64)
    found = Points(
        phi=phi,
        rest=rest,
        slopes=slopes,
        at=torch.zeros(N, 1, dtype=torch.float64),
        doubt=torch.zeros(N, P, 2, dtype=torch.float64),
        seen=torch.ones(N, P, 1, dtype=torch.float64),
        amplitude=whole,
        allowed=torch.tensor([[1.0] * 4, [0.0] * 4], dtype=torch.float64),
    )
    return found, eps


def swept(shown: Points, latents: int, sweeps: int = 60) -> Factors:
    found = Factors.first(shown, latents, torch.Generator().manual_seed(0))
    for _ in range(sweeps):
        found = found.better(shown)
    return found


def test_a_law_whose_coefficients_differ_is_found_with_its_parameters(seed: int):
    shown, eps = points(seed)
    found = swept(shown, latents=1)
    assert float(found.noise[0].sqrt()) < 2 * LEAST_NOISE
    torch.testing.assert_close(found.steps(), eps, atol=0.5, rtol=0)
    assert float((found.steps() - eps).square().mean().sqrt()) < 0.3
    common, loading = found.weights[0, :, 0], found.weights[0, :, 1]
    assert common.tolist() == pytest.approx([0, float(eps.mean() - found.steps().mean()), 0, 1], abs=0.5)
    assert abs(float(loading[3])) == pytest.approx(2.0, abs=0.6)


def test_complete_equations_get_nothing(seed: int):
    shown, _ = points(seed)
    assert not bool(swept(shown, latents=1, sweeps=5).weights[1].any())


def test_without_a_factor_what_differs_is_left_over(seed: int):
    shown, _ = points(seed)
    alone, one = (swept(shown, latents) for latents in (0, 1))
    assert float(alone.noise[0]) > 1e3 * float(one.noise[0])


def test_noise_is_measured_and_points_in_doubt_do_not_count(seed: int):
    shown, _ = points(seed, noise=0.1)
    assert float(swept(shown, 1).noise[0].sqrt()) == pytest.approx(0.1, rel=0.2)
    exact, _ = points(seed)
    shown.doubt[:, ::2] = 1e6
    shown.rest[:, 1::2] = exact.rest[:, 1::2]
    assert float(swept(shown, 1).noise[0].sqrt()) < 0.01


def test_a_common_offset_of_parameters_belongs_to_the_residual():
    shown, eps = points(0)
    shown.rest[..., 0] += 5 * shown.phi[..., 1]
    found = swept(shown, latents=1)
    assert float(found.weights[0, 1, 0]) == pytest.approx(5 + float(eps.mean()), abs=0.6)
    assert abs(float(found.steps().mean())) < 0.1


def test_terms_that_the_parameters_cannot_say_leave_them_what_is_theirs(seed: int):
    shown, eps = points(seed)
    shown.rest[..., 0] += 2 * shown.phi[..., 1]  # parameters that are all off to one side
    shown.allowed[0, :3] = 0.0
    found = swept(shown, latents=1)
    torch.testing.assert_close(found.steps(), eps + 2, atol=1e-3, rtol=0)
    assert found.weights[0, :3].abs().max() == 0
