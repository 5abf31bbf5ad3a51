"""Every value that can be judged, with all that its draws say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from greymatch.diagnostics.ranks import Ranks
from greymatch.forecast import ensemble
from greymatch.forecast.chunks import chunks


@dataclass(frozen=True, eq=False)
class Points:
    """Each (M,): the trajectory it is of (`row`), its `lead`, rank, CRPS, squared error of the mean of its draws, and
    the square `expected` from their spread."""

    row: Tensor
    lead: Tensor
    below: Tensor
    equal: Tensor
    count: Tensor
    crps: Tensor
    square: Tensor
    expected: Tensor

    @staticmethod
    def of(draws: Tensor, truth: Tensor, scored: Tensor | None = None, lead: Tensor | None = None) -> Points:
        """Of truths (N, ...) that are `scored` (N, ...) among draws (D, N, ...); `lead` (N, ...) if they have one."""
        scored = torch.ones_like(truth, dtype=torch.bool) if scored is None else scored
        lead = torch.zeros_like(truth) if lead is None else lead.expand_as(truth)
        row = torch.arange(len(truth), device=truth.device).reshape(-1, *[1] * (truth.ndim - 1)).expand_as(truth)
        parts = [
            _judged(draws[:, n], truth[n], scored[n], row[n][scored[n]], lead[n][scored[n]]) for n in chunks(draws)
        ]
        return Points.joined(parts)

    @staticmethod
    def joined(parts: Sequence[Points]) -> Points:
        return Points(*(torch.cat([getattr(part, item.name) for part in parts]) for item in fields(Points)))

    def __len__(self) -> int:
        return len(self.row)

    @property
    def ranks(self) -> Ranks:
        return Ranks(self.below, self.equal, self.count)

    @property
    def independent(self) -> float:
        """As how many independent values these count: values of one trajectory go together, so each is one at most.

        Kish's effective number of trajectories, where some have more values than others.
        """
        values = torch.bincount(self.row).double()
        return float(values.sum().square() / values.square().sum().clamp_min(1))

    def select(self, kept: Tensor) -> Points:
        return Points(*(getattr(self, item.name)[kept] for item in fields(Points)))

    def over(self, scale: float) -> Points:
        """The same in units of `scale`."""
        square, expected = (part / scale**2 for part in (self.square, self.expected))
        return replace(self, crps=self.crps / scale, square=square, expected=expected)


def _judged(draws: Tensor, truth: Tensor, scored: Tensor, row: Tensor, lead: Tensor) -> Points:
    draws, truth = draws[:, scored].double(), truth[scored].double()
    ranks = Ranks.of(draws, truth)
    return Points(
        row=row,
        lead=lead,
        below=ranks.below,
        equal=ranks.equal,
        count=ranks.count,
        crps=ensemble.crps(draws, truth),
        square=(ensemble.mean(draws) - truth).square().nan_to_num(nan=torch.inf),
        expected=ensemble.expected_square(draws),
    )
