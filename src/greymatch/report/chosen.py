"""Which trajectories to show: spread over the errors from best to worst, so that no one picks the pretty ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from greymatch.evaluation import Evaluation
from greymatch.forecast import ensemble
from greymatch.forecast.align import align
from greymatch.forecast.chunks import chunks
from greymatch.report.numbers import number


@dataclass(frozen=True)
class Chosen:
    """A trajectory by its place in the evaluation, and how it ranks (1 is the best) by its own NMSE."""

    row: int
    label: str
    rank: int
    ranked: int
    nmse: float

    @property
    def heading(self) -> str:
        return f"Trajectory {self.label}"

    @property
    def remark(self) -> str:
        return f"{self._place}, NMSE {number(self.nmse)}"

    @property
    def _place(self) -> str:
        if self.ranked == 1:
            return "the only one"
        if self.rank == 1:
            return f"best of {self.ranked}"
        return f"worst of {self.ranked}" if self.rank == self.ranked else f"rank {self.rank} of {self.ranked}"


def spread_over_errors(evaluation: Evaluation, count: int = 6) -> list[Chosen]:
    """At most `count` trajectories at even steps of rank, the best and the worst among them."""
    errors = trajectory_errors(evaluation)
    order = [int(row) for row in np.argsort(errors, kind="stable") if not np.isnan(errors[row])]
    if len(order) <= count:
        places = range(len(order))
    else:
        places = np.linspace(0, len(order) - 1, count).round().astype(int).tolist()
    labels = evaluation.forecast.labels
    return [Chosen(order[at], str(labels[order[at]]), at + 1, len(order), float(errors[order[at]])) for at in places]


def trajectory_errors(evaluation: Evaluation) -> np.ndarray:
    """NMSE of each trajectory (N,): squares over the variance of the whole test, the mean over its states.

    Infinite where every draw failed, NaN where nothing was observed.
    """
    forecast, judged = evaluation.forecast, align(evaluation.forecast, evaluation.test)
    mean = torch.cat([ensemble.mean(forecast.draws[:, rows]) for rows in chunks(forecast.draws)])
    square = (mean.double() - judged.values.double()).square().nan_to_num(nan=torch.inf)
    square = square.masked_fill(~judged.scored, 0.0)
    total, count = (_per_state(part) for part in (square, judged.scored.double()))
    return (total / count / _variance(judged.values, judged.scored)).nanmean(1).cpu().numpy()


def _per_state(values: Tensor) -> Tensor:
    """Sums (N, S) over time and grid."""
    return values.movedim(2, 1).flatten(2).sum(2)


def _variance(values: Tensor, scored: Tensor) -> Tensor:
    """(S,), 1 for a state that never changes."""
    flat, kept = (part.movedim(2, 0).flatten(1).double() for part in (values, scored))
    count = kept.sum(1).clamp_min(1)
    mean = (flat * kept).sum(1) / count
    variance = ((flat - mean[:, None]).square() * kept).sum(1) / count
    return torch.where(variance > 0, variance, 1.0)
