"""Random numbers whose mean is known."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.together import normal


def mirrored(draws: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard normal numbers (draws, *like) in pairs n and -n, and with an odd count one of zeros.

    Then the mean of a few draws is that of many, as far as what is drawn acts linearly. A single one is plain.
    """
    count = draws // 2 if draws > 1 else 1
    shape = (count, *like.shape)
    noise = normal(shape, generator, like, axis=1)
    return noise if draws == 1 else torch.cat([noise, -noise, torch.zeros_like(noise[: draws % 2])])
