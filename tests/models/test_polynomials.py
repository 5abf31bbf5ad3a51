from __future__ import annotations

import math

import torch

from greymatch.models.polynomials import factors, hermite, monomials


def test_as_many_terms_as_a_polynomial_has():
    for variables in (1, 2, 5):
        for degree in (1, 2, 3):
            assert len(set(factors(variables, degree))) == math.comb(variables + degree, degree)


def test_monomials_are_products():
    x = torch.tensor([[2.0, 3.0]])
    assert monomials(x, factors(2, 2)).tolist() == [[1, 2, 3, 4, 6, 9]]


def test_hermite_terms_of_normal_variables_are_uncorrelated_and_of_unit_size():
    x = torch.randn(400_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    terms = hermite(x, factors(2, 3))
    torch.testing.assert_close(terms.mT @ terms / len(x), torch.eye(10, dtype=torch.float64), atol=0.03, rtol=0)


def test_both_kinds_of_terms_span_the_same_polynomials():
    x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    terms = factors(2, 3)
    plain, other = monomials(x, terms), hermite(x, terms)
    weights = torch.linalg.lstsq(other, plain).solution
    torch.testing.assert_close(other @ weights, plain)
