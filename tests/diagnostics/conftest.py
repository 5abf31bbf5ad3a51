"""Toy posteriors whose calibration is known on paper."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

Toy = Callable[..., tuple[Tensor, Tensor]]


@pytest.fixture
def toy(seed: int) -> Toy:
    """`toy(count, draws, width=1.0, shift=0.0)`: draws (D, N) and truths (N,) of a Gaussian that is seen with noise.

    theta ~ N(0, 1) and y ~ N(theta, 1) give theta | y ~ N(y / 2, 1 / 2). Draws with `width` times that standard
    deviation are honest at 1, over-confident below and over-cautious above; `shift` is in the same unit.
    """

    def made(count: int, draws: int, width: float = 1.0, shift: float = 0.0) -> tuple[Tensor, Tensor]:
        theta = torch.randn(count, dtype=torch.float64)
        seen = theta + torch.randn(count, dtype=torch.float64)
        away = width * torch.randn(draws, count, dtype=torch.float64) + shift
        return seen / 2 + 0.5**0.5 * away, theta

    return made
