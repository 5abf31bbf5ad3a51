"""Terms of a residual that a parameter of the known physics could say: they are no missing ones."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.explain.distil import Distilled
from greymatch.models.sparse import Fit

SAME = 0.999  # the part of a term's squares that parameters say, from which on it is theirs


def without_own_words(fit: Fit, distilled: Distilled, design: Tensor, equation: int) -> Fit:
    """The fit of one equation's residual less the terms that a change of parameters would bring about as well.

    Those were needed to find the others: the residual makes up for parameters that are off.
    """
    kept = [place for place, term in enumerate(fit.kept) if _said(distilled, design[:, term], equation) < SAME]
    return Fit(tuple(fit.kept[place] for place in kept), fit.coefficients[:, kept], fit.unexplained)


def _said(distilled: Distilled, column: Tensor, equation: int) -> float:
    """The part of a term's squares, in one equation, that the slopes of the physics in all of them explain."""
    term = distilled.slopes.new_zeros(*distilled.slopes.shape[:2], 1)
    term[:, equation, 0] = column
    weight = 1 / distilled.speed.clamp_min(1e-300)[:, None]
    slopes, term = ((part * weight).flatten(0, 1) for part in (distilled.slopes, term))
    size = slopes.square().sum(0).sqrt()
    moving = slopes[:, size > 0] / size[size > 0]
    left = term - moving @ torch.linalg.lstsq(moving, term, driver="gelsd").solution if len(moving.T) else term
    return 1 - float(left.square().sum() / term.square().sum().clamp_min(1e-300))
