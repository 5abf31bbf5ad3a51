"""What the physics was missing, and whose answer about each parameter to publish."""

from __future__ import annotations

from dataclasses import dataclass

from greymatch.checking.finding import Level
from greymatch.evaluation import Evaluation, judged_parameters
from greymatch.explain.advice import FAITHFUL, Advice
from greymatch.explain.explanation import Coefficient
from greymatch.report.numbers import number, percent
from greymatch.report.table import Row, Table

AMORTISED, REFITTED = "the model's (amortised)", "explained and refitted"
CAPTION = (
    "Explained and refitted, where the terms say what the residual says, forecasts of held-out training trajectories "
    "are no worse, and the model's own answer is confounded with the residual or less sure; else the model's. No truth "
    "is asked for that. ±: standard deviation in the median. RMSE, and the share of 90 % intervals that hold the "
    "truth, stand where it is known."
)


@dataclass(frozen=True)
class Missing:
    """The equations as text, their missing terms and the parameters as tables, a verdict, and what to beware of."""

    equations: str
    terms: Table | None
    verdict: str
    good: bool
    parameters: Table | None
    cautions: tuple[str, ...]


def missing(evaluation: Evaluation, advice: Advice | None) -> Missing | None:
    """Nothing where nobody asked."""
    if advice is None:
        return None
    found = [one.finding() for one in advice.confounded]
    warned = [f"{one.what}. Mend it: {one.fix}." for one in found if one.level is Level.WARNING]
    return Missing(
        equations=advice.explanation.equations,
        terms=_terms(advice),
        verdict=_verdict(advice),
        good=advice.refit_is_better,
        parameters=_parameters(evaluation, advice),
        cautions=(*warned, *_doubts(advice)),
    )


def _doubts(advice: Advice) -> list[str]:
    """Terms whose coefficients say that another one may be missing."""
    pairs = [(state, one) for state, ones in advice.explanation.missing.items() for one in ones if one.doubt]
    return [f"The coefficient of {one.term.text} in the equation of {state} {one.doubt}." for state, one in pairs]


def _terms(advice: Advice) -> Table | None:
    said = advice.explanation
    rows = [_term(state, one, said.fidelity[state]) for state, ones in said.missing.items() for one in ones]
    head = ("Missing in the equation of", "term", "coefficient", "between trajectories", "follows", "fidelity")
    caption = (
        "The coefficient's median over trajectories and how far it differs between them, as a standard deviation; the "
        "latent or parameter that it goes with; and the part of the residual's variance that the terms explain."
    )
    return Table(head, tuple(rows), caption) if rows else None


def _term(state: str, one: Coefficient, fidelity: float) -> Row:
    follows = "–" if one.follows is None else f"{one.follows[0]} ({one.follows[1]:.2f})"
    return Row(state, (one.term.text, number(one.middle, 4), number(one.spread, 2), follows, number(fidelity, 4)))


def _verdict(advice: Advice) -> str:
    errors = f"{number(advice.refitted_error)} against {number(advice.error)} (geometric means over trajectories)"
    if not any(advice.explanation.missing.values()):
        return "The residual says nothing of size: the physics was all there is."
    if advice.refit_is_better:
        return f"The physics completed with these terms needs no net and forecasts better: a scaled error of {errors}."
    if not advice.faithful:
        return f"The terms do not say all that the residual says (less than {percent(FAITHFUL)}): trust the model."
    return f"The terms are faithful, yet the completed physics forecasts worse: a scaled error of {errors}."


def _parameters(evaluation: Evaluation, advice: Advice) -> Table | None:
    free, own = evaluation.model.physics.free, evaluation.posterior
    if not free or own is None:
        return None
    refitted = advice.refitted.infer(evaluation.history)
    judged = (evaluation.parameters(), judged_parameters(advice.refitted, evaluation.test, refitted))
    rows = []
    for name in free:
        widths = [float(one.std()[name].median()) for one in (own, refitted)]
        pairs = [[shown(one.get(name)) for one in judged] for shown in (_error, _coverage)]
        confounded = "yes" if name in _confounded(advice) else "no"
        cells = [" / ".join(pair) for pair in ([number(width) for width in widths], *pairs)]
        rows.append(Row(name, (_chosen(advice, name, *widths), confounded, *cells)))
    head = ("Parameter", "publish", "confounded", *(f"{one}, model / refitted" for one in ("±", "RMSE", "90 %")))
    return Table(head, tuple(rows), CAPTION)


def _confounded(advice: Advice) -> set[str]:
    return {one.parameter for one in advice.confounded if one.finding().level is Level.WARNING}


def _chosen(advice: Advice, name: str, width: float, refitted: float) -> str:
    """The refitted model's answer if its terms can be trusted, and the other is confounded or less sure."""
    surer = name in _confounded(advice) or refitted <= width
    return REFITTED if advice.refit_is_better and surer else AMORTISED


def _error(judged: dict[str, float] | None) -> str:
    return "–" if judged is None else number(judged["rmse"])


def _coverage(judged: dict[str, float] | None) -> str:
    return "–" if judged is None else percent(judged["coverage"])
