"""Steps of a solver through a window, from each of its points to the next, all intervals alike."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.models.between import inputs_between
from greymatch.simulation.sixth import PARTS

MOST = 36  # steps over one gap; a multiple of `FEWER`, or wide gaps would be the dearest
FEWER = 3  # times: steps that are too few for a stiff field are none
SAME = 1e-3  # of a step, by which equal spacings may differ


@dataclass(frozen=True)
class Steps:
    """Where Runge-Kutta (see `sixth`) asks the field: `stages` (B, W - 1, 6 n + 1), the parts of n steps over each
    interval, in double, and `inputs` (B, W - 1, 6 n + 1, U) there or None."""

    stages: Tensor
    inputs: Tensor | None

    @staticmethod
    def of(window: Window, each: int, coarseness: int = 1) -> Steps:
        """With `each` of them over the usual spacing, and as many over all intervals as the widest gap asks for.

        Windows should be alike in that (see `widest_gaps`), or some take more steps than they would alone. With more
        `coarseness` than 1, so many times fewer: over the widest gaps, too, where there are no more than `MOST`.
        """
        gaps, many = window.times.diff(dim=1), min(MOST, each * int(widest_gaps(window.times).max()))
        count = max(1, many // coarseness)
        share = torch.linspace(0, 1, PARTS * count + 1, dtype=gaps.dtype, device=gaps.device)
        stages = window.times[:, :-1, None] + share * gaps[..., None]
        return Steps(stages, inputs_between(window, stages))

    @property
    def count(self) -> int:
        return self.stages.shape[2] // PARTS

    def fewer(self) -> Steps:
        """A third of them, where their number can be divided so."""
        if self.count % FEWER:
            return self
        return Steps(self.stages[:, :, ::FEWER], None if self.inputs is None else self.inputs[:, :, ::FEWER])

    def select(self, rows: Tensor) -> Steps:
        return Steps(self.stages[rows], None if self.inputs is None else self.inputs[rows])


def widest_gaps(times: Tensor) -> Tensor:
    """How many usual spacings (B,) the widest gap of each window has, up to the next power of two."""
    gaps = times.diff(dim=1)
    ratio = (gaps.amax(1) / gaps.median(1).values).nan_to_num(1.0, 1.0, 1.0).clamp(1, MOST)
    return 2 ** (ratio - SAME).log2().ceil().clamp_min(0).long()
