"""Statistics over the first axis, the draws; draws that are NaN are left out."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from greymatch.diagnostics.ranks import Ranks


def mean(draws: Tensor) -> Tensor:
    """NaN where no draw is left."""
    return draws.nanmean(0)


def variance(draws: Tensor) -> Tensor:
    """The unbiased variance; NaN where fewer than two draws are left."""
    count = (~draws.isnan()).sum(0)
    squares = (draws - draws.nanmean(0)).square().nansum(0)
    return torch.where(count > 1, squares / (count - 1).clamp_min(1), torch.nan)


def quantile(draws: Tensor, levels: Tensor) -> Tensor:
    """Quantiles (Q, ...) at `levels` (Q,), linear between the draws as NumPy's default."""
    ordered, count = _ordered(draws)
    return torch.stack([_at_rank(ordered, count, level * (count - 1).double()) for level in levels.tolist()])


def expected_square(draws: Tensor) -> Tensor:
    """The square by which the mean of n draws should miss a truth drawn like them; 0 for fewer than two."""
    count = (~draws.isnan()).sum(0)
    return variance(draws).nan_to_num(nan=0.0) * (count + 1) / count.clamp_min(1)


def covered(draws: Tensor, truth: Tensor, level: float) -> Tensor:
    """1 where `truth` (...) lies in the central interval of the draws, 0 elsewhere; see `Ranks.covered`."""
    return Ranks.of(draws, truth).covered(level)


def crps(draws: Tensor, truth: Tensor) -> Tensor:
    """E|x - y| - E|x - x'|/2, unbiased in the number of draws; |x - y| for one draw, inf for none.

    Sorting makes it O(n log n): the sum of |x_i - x_j| over pairs is sum_k (2 k - n - 1) x_(k), k = 1..n.
    """
    ordered, count = _ordered(draws - truth)
    ordered = ordered.masked_fill_(ordered.isnan(), 0.0)
    n = count.clamp_min(1)
    k = torch.arange(1, len(draws) + 1, device=draws.device, dtype=ordered.dtype)
    pairs = 2 * torch.tensordot(k, ordered, 1) - (n + 1) * ordered.sum(0)
    return torch.where(count > 0, ordered.abs().sum(0) / n - pairs / (n * (n - 1)).clamp_min(1), torch.inf)


def _ordered(draws: Tensor) -> tuple[Tensor, Tensor]:
    """Draws in increasing order, NaN at the end, and how many are not NaN."""
    count = (~draws.isnan()).sum(0)
    if draws.device.type == "cpu":  # NumPy sorts several times as fast there
        return torch.from_numpy(np.sort(draws.numpy(), axis=0)), count
    return draws.sort(0).values, count


def _at_rank(ordered: Tensor, count: Tensor, rank: Tensor) -> Tensor:
    """The value at a fractional rank, 0 for the smallest, never beyond the extremes."""
    last = (count - 1).clamp_min(0)
    rank = torch.minimum(rank.clamp_min(0), last)
    left = rank.floor().long()
    low, high = (ordered.gather(0, at[None])[0] for at in (left, torch.minimum(left + 1, last)))
    return low + (rank - left).to(ordered.dtype) * (high - low)
