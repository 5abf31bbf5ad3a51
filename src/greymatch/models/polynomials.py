"""Polynomials of several variables: which factors each term has, and their values."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

Factors = list[tuple[int, ...]]


def factors(variables: int, degree: int) -> Factors:
    """Every choice of variables, with repetition, of at most `degree` factors; the empty one is the constant."""
    counts = range(degree + 1)
    return [term for count in counts for term in itertools.combinations_with_replacement(range(variables), count)]


def monomials(x: Tensor, terms: Factors) -> Tensor:
    """Plain products (..., K) of the last axis' variables."""
    one = torch.ones_like(x[..., 0])
    return torch.stack([math.prod((x[..., i] for i in term), start=one) for term in terms], -1)


def hermite(x: Tensor, terms: Factors) -> Tensor:
    """Products of normalised Hermite polynomials (..., K): uncorrelated where the variables are standard normal."""
    single = [torch.ones_like(x), x]
    for n in range(1, max(len(term) for term in terms)):
        single.append((x * single[n] - math.sqrt(n) * single[n - 1]) / math.sqrt(n + 1))
    one = single[0][..., 0]
    products = [math.prod((single[term.count(i)][..., i] for i in set(term)), start=one) for term in terms]
    return torch.stack(products, -1)
