"""Members that could not be solved to the end."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from greymatch.evaluation import Evaluation
from greymatch.report.numbers import counted, listed
from greymatch.report.table import Row, Table
from greymatch.simulation.status import Status


@dataclass(frozen=True)
class Failures:
    """A sentence, a table by cause where there is any, and what to know about the references."""

    summary: str
    table: Table | None
    references: str


def failures(evaluation: Evaluation) -> Failures:
    forecast = evaluation.forecast
    members = counted(forecast.status.numel(), "member")
    if not forecast.failed:
        return Failures(f"None: all {members} of the forecast were solved to the end.", None, _references(evaluation))
    lost = evaluation.scores.lost
    gone = (
        f" In {counted(len(lost), 'trajectory')} no member was left at some point, so the error is infinite: "
        f"{listed(lost)}."
        if lost
        else " Every trajectory has members left, and the scores use those."
    )
    summary = f"{forecast.failed} of {members} did not reach the end.{gone}"
    return Failures(summary, _by_cause(evaluation), _references(evaluation))


def _by_cause(evaluation: Evaluation) -> Table:
    status, labels = evaluation.forecast.status, evaluation.forecast.labels
    rows = []
    for code in [code for code in Status if code != Status.SOLVED]:
        hit = status == code
        where = torch.nonzero(hit.any(0))[:, 0].cpu().numpy()
        if len(where):
            rows.append(Row(code.message, (str(int(hit.sum())), str(len(where)), listed(labels[where].tolist()))))
    head = ("What happened", "members", "trajectories", "which")
    return Table(head, tuple(rows), "A member is one draw of the parameters and latents, solved for one trajectory.")


def _references(evaluation: Evaluation) -> str:
    failed = {name: scores.failed for name, scores in evaluation.references.items() if scores.failed}
    which = ", ".join(f"{name} in {counted(count, 'trajectory')}" for name, count in failed.items())
    return f"References that failed: {which}." if failed else ""
