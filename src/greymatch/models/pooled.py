"""One law of the latents that several windows share, from what each of them says by itself.

With the precision 1 + D_i that the prior and window i made, about the mean m_i, what data alone say is D_i and the side
(1 + D_i) m_i. Together they say

    D = sum_i D_i,    (1 + D) m = sum_i (1 + D_i) m_i.

Roots of the D_i are put below one another, not squared: without noise a window knows one latent to thirteen digits, and
another not at all.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from greymatch.models.laplace import Laplace

NOTHING = 1e-6  # of the prior's precision: that is rounding


def pooled(law: Laplace, heard: Tensor) -> Laplace:
    """The law of each recording by those of its windows that are `heard` (N, n); `law` has theirs, recording after
    recording, without a start. Their median misfit is its own."""
    size = law.mean.shape[1]
    root = law.root.double()
    identity = torch.eye(size, dtype=root.dtype, device=root.device)
    _, certain, right = torch.linalg.svd(torch.linalg.solve(root, identity.expand_as(root)))
    told = (certain.square() - 1).sqrt().where(heard.flatten()[:, None] & (certain.square() - 1 > NOTHING), 0.0)
    rows = told[..., None] * right
    side = (certain.square() / told).where(told > 0, 0.0) * (right @ law.mean.double()[..., None])[..., 0]
    rows, side = (part.unflatten(0, heard.shape).flatten(1, 2) for part in (rows, side))
    rows = torch.cat([rows, identity.expand(len(rows), -1, -1)], 1)
    turned, upper = torch.linalg.qr(rows)
    side = turned[:, : side.shape[1]].mT @ side[..., None]
    mean, root = (torch.linalg.solve_triangular(upper, part, upper=True) for part in (side, identity.expand_as(upper)))
    misfit = law.misfit.reshape(heard.shape).masked_fill(~heard, torch.nan).nanmedian(1).values
    return replace(law, mean=mean[..., 0], root=root, misfit=misfit)
