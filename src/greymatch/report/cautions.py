"""What a reader must know before believing the numbers."""

from __future__ import annotations

from greymatch.evaluation import Evaluation
from greymatch.report.numbers import counted, listed, number, percent
from greymatch.report.share import taken_over
from greymatch.training.run import fingerprint

NARROW, WIDE = 0.8, 0.97  # coverage of 90 % bands beyond which the reader is told


def cautions(evaluation: Evaluation) -> tuple[str, ...]:
    """Each in a sentence; none where all is well."""
    found = (check(evaluation) for check in (_same_data, _by_nmse, _bands, _noisy, _intervals, _failed, _taken_over))
    return tuple(filter(None, found))


def _same_data(evaluation: Evaluation) -> str:
    same = evaluation.model.record.get("data") == fingerprint(evaluation.test)
    return "These are the very trajectories the model was trained on: the errors say nothing about new ones." * same


def _by_nmse(evaluation: Evaluation) -> str:
    """States in different units can make the MSE say one thing and the NMSE another."""
    best = min(evaluation.references, key=lambda name: evaluation.references[name].nmse)
    beats = evaluation.scores.nmse < evaluation.references[best].nmse
    if beats == evaluation.beats_references:
        return ""
    own, other = number(evaluation.scores.nmse), number(evaluation.references[best].nmse)
    does = "does" if beats else "does not"
    return f"By NMSE, which weighs the states alike, it {does} beat the references: {own}, and {other} for “{best}”."


def _bands(evaluation: Evaluation) -> str:
    coverage = evaluation.scores.coverage
    if coverage < NARROW:
        return f"The bands are too narrow: only {percent(coverage)} of the truth lies in those of 90 %."
    return f"The bands are too wide: {percent(coverage)} of the truth lies in those of 90 %." * (coverage > WIDE)


def _noisy(evaluation: Evaluation) -> str:
    noisy = evaluation.model.noisy
    does = f"Training left the motion of {listed(noisy)} largely unexplained"
    return f"{does}: it was too short, the data are noisy, or their step is too coarse." if noisy else ""


def _intervals(evaluation: Evaluation) -> str:
    narrow = [name for name, found in evaluation.parameters().items() if found["coverage"] < NARROW]
    share = ", ".join(percent(evaluation.parameters()[name]["coverage"]) for name in narrow)
    return f"The intervals of {listed(narrow)} are too narrow: those of 90 % hold the truth in {share}." * bool(narrow)


def _taken_over(evaluation: Evaluation) -> str:
    taken = taken_over(evaluation)
    does = (
        f"The learned residual does more than the known physics in the equation of {listed(taken)}; see Physics share."
    )
    return does if taken else ""


def _failed(evaluation: Evaluation) -> str:
    failed, members = evaluation.forecast.failed, evaluation.forecast.status.numel()
    return f"{failed} of {counted(members, 'member')} of the forecast did not solve; see Failures." * bool(failed)
