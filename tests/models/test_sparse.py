from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from greymatch.models.sparse import eliminations, simplest


def made(kept: tuple[int, ...], noise: float, seed: int, terms: int = 7) -> tuple[torch.Tensor, ...]:
    """Ten functions of the same terms, each with coefficients of its own; columns of very different size."""
    generator = torch.Generator().manual_seed(seed)
    size = 10.0 ** torch.arange(-3, terms - 3)
    design = size * torch.randn(10, 80, terms, generator=generator, dtype=torch.float64)
    scaled = 1 + torch.rand(10, len(kept), generator=generator, dtype=torch.float64)
    coefficients = scaled / size[list(kept)]
    target = (design[..., list(kept)] * coefficients[:, None]).sum(-1)
    return design, target + noise * torch.randn(target.shape, generator=generator, dtype=torch.float64), coefficients


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 1000))
def test_the_terms_of_all_functions_are_found_with_the_coefficients_of_each(kept: set[int], seed: int):
    chosen = tuple(sorted(kept))
    design, target, coefficients = made(chosen, 1e-3, seed)
    fit = simplest(design, target)
    assert fit.kept == chosen
    torch.testing.assert_close(fit.coefficients, coefficients, rtol=0.01, atol=0)


def test_noise_is_no_term():
    design, _, _ = made((0,), 0.0, 3)
    noise = torch.randn(10, 80, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    fit = simplest(design, noise)
    assert fit.kept == ()
    assert fit.unexplained == 1.0


def test_what_is_left_grows_as_terms_are_dropped():
    design, target, _ = made((1, 4), 0.1, 0)
    found = eliminations(design, target)
    assert [len(fit.kept) for fit in found] == [7, 6, 5, 4, 3, 2, 1, 0]
    left = [fit.unexplained for fit in found]
    assert left == sorted(left)
    assert found[5].kept == (1, 4)
    assert found[5].unexplained == pytest.approx(0.1 / float(target.square().mean().sqrt()), rel=0.1)
