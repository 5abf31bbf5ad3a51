"""A window as it moves: gaps bridged, derivatives taken, inputs beside it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.matching.stencils import window_derivatives
from greymatch.models.gaps import NODES, bridged


@dataclass(frozen=True)
class Motion:
    """Values and their first two derivatives (B, W, S, *grid) in physical units, single precision; times in double.

    `times` (B, W) are absolute, `since` relative to the end of the window; `inputs` (B, W, U) or None. `doubt` is the
    standard deviation (B, W, S, *grid, 3) of values and derivatives that noise leaves, None without noise. `seen` is 1
    where a value was observed, `known` also where it lies in a short gap.
    """

    times: Tensor
    since: Tensor
    values: Tensor
    first: Tensor
    second: Tensor
    seen: Tensor
    known: Tensor
    inputs: Tensor | None
    doubt: Tensor | None = None

    @staticmethod
    def of(window: Window, stencil: int, nodes: int = NODES) -> Motion:
        """Derivatives from `stencil` points, gaps bridged through `nodes` of them."""
        values, known = (window.smooth.values, window.mask) if window.smooth else bridged(window, nodes)
        since = window.times - window.end[:, None]
        # in double, since differences of large values over short steps leave little of a float32
        first, second = window_derivatives(since, values.to(since), points=stencil, order=2)
        return Motion(
            times=window.times,
            since=since.float(),
            values=values.float(),
            first=first.float(),
            second=second.float(),
            seen=window.mask.float(),
            known=known.float(),
            inputs=None if window.inputs is None else window.inputs.float(),
            doubt=window.smooth and window.smooth.doubt.float(),
        )

    def top(self, order: int) -> Tensor:
        """The highest derivative, which the physics speaks of."""
        return self.second if order == 2 else self.first

    def phase(self, order: int) -> Tensor:
        return torch.cat([self.values, self.first], 2) if order == 2 else self.values

    def over_grid(self, scalars: Tensor) -> Tensor:
        """(B, W, K) spread over the grid: (B, W, K, *grid)."""
        grid = self.values.shape[3:]
        return scalars.reshape(*scalars.shape, *(1,) * len(grid)).expand(*scalars.shape, *grid)

    def per_channel(self, scale: Tensor) -> Tensor:
        """(S,) or (B, S) shaped to broadcast over (B, W, S, *grid)."""
        lead = scale[:, None] if scale.ndim == 2 else scale
        return lead.reshape(*lead.shape, *(1,) * (self.values.ndim - 3))
