"""The energy score: the CRPS of vectors."""

from __future__ import annotations

import torch
from torch import Tensor

_NUMBERS = 2**22  # distances at once


def energy_score(draws: Tensor, truth: Tensor, seen: Tensor | None = None) -> Tensor:
    """E|x - y| - E|x - x'|/2 of each vector (M,), from draws (D, M, K) and truth (M, K); unbiased in the draws.

    |.| is the root mean square over the coordinates that are `seen`, so that vectors of one coordinate give their
    CRPS. Draws that are NaN anywhere are left out; one alone gives |x - y|, none infinity, and a vector of
    which nothing is seen NaN. Not for coordinates in different units: divide by their scales first.
    """
    seen = torch.ones_like(truth, dtype=torch.bool) if seen is None else seen
    rows = max(1, _NUMBERS // len(draws) ** 2)
    parts = zip(draws.double().split(rows, 1), truth.double().split(rows), seen.split(rows), strict=True)
    return torch.cat([_scored(*part) for part in parts])


def _scored(draws: Tensor, truth: Tensor, seen: Tensor) -> Tensor:
    away = (draws - truth).masked_fill(~seen, 0.0).movedim(0, 1)
    left = (~away.isnan().any(2)).double()
    away = away.nan_to_num(nan=0.0)
    count = left.sum(1)
    pairs = (count * (count - 1)).clamp_min(1)
    # by differences: through products small distances would drown in rounding
    between = torch.cdist(away, away, compute_mode="donot_use_mm_for_euclid_dist")
    spread = (left[:, None] @ between @ left[:, :, None])[:, 0, 0] / pairs
    error = (away.norm(dim=2) * left).sum(1) / count.clamp_min(1)
    score = torch.where(count > 0, error - spread / 2, torch.inf)
    return score / seen.sum(1).double().sqrt().where(seen.any(1), torch.nan)
