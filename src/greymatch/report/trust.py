"""Can I trust the error bars? The answer in words and figures."""

from __future__ import annotations

from dataclasses import dataclass

from greymatch.diagnostics.calibration import ALL, Calibration
from greymatch.diagnostics.reliability import TOLD, Reliability
from greymatch.diagnostics.verdict import Verdict, leans, sentence, verdict
from greymatch.evaluation import Evaluation
from greymatch.report.figures import Plate
from greymatch.report.numbers import number, percent, probability
from greymatch.report.reliability import by_lead, curves, histograms, spreads
from greymatch.report.table import Row, Table

MOST_PARAMETERS, MOST_STATES = 8, 3


@dataclass(frozen=True)
class Finding:
    """One sentence about one quantity; `bad` ones stand out."""

    name: str
    text: str
    bad: bool


@dataclass(frozen=True)
class Trust:
    """Sentences, the figures behind them as a table, and pictures where there is a spread to draw."""

    findings: tuple[Finding, ...]
    table: Table
    plates: tuple[Plate, ...]


def trust(evaluation: Evaluation) -> Trust:
    found = evaluation.calibration()
    rows = _shown(found)
    findings = tuple(Finding(name, sentence(one), _bad(one)) for name, one in rows.items())
    drawn = {name: one for name, one in rows.items() if one.draws > 1 and one.values}
    plates = (curves(drawn), histograms(drawn), spreads(drawn), by_lead(found.leads, evaluation.forecast.units))
    return Trust(findings, _table(found, rows), plates if drawn and found.forecasts[ALL].draws > 1 else ())


def _bad(found: Reliability) -> bool:
    return verdict(found) in (Verdict.OVER_CONFIDENT, Verdict.OVER_CAUTIOUS) or leans(found)


def _shown(found: Calibration) -> dict[str, Reliability]:
    """The first few parameters and states; all of them together are always there."""
    names, states = list(found.parameters)[:MOST_PARAMETERS], [name for name in found.forecasts if name != ALL]
    kept = {*names, *(f"forecast of {name}" for name in (*states[:MOST_STATES], ALL))}
    return {name: one for name, one in found.rows().items() if name in kept}


def _table(found: Calibration, rows: dict[str, Reliability]) -> Table:
    levels = [percent(level) for level in TOLD]
    head = ("What", "verdict", *levels, "CRPS", "spread / error", "chance of such ranks")
    return Table(head, tuple(_row(name, one) for name, one in rows.items()), _caption(found))


def _row(name: str, found: Reliability) -> Row:
    told = found.to_dict()
    shares = [percent(share) for share in told["coverage"]]
    figures = [*(number(told[key]) for key in ("crps", "spread_skill")), probability(told["uniformity"])]
    return Row(name, (str(verdict(found)), *shares, *figures))


def _caption(found: Calibration) -> str:
    energy = f"Energy score of the forecast, in standard deviations of the truth: {number(found.energy['forecast'])}"
    if "parameters" in found.energy:
        energy += f"; of the parameters, in those of the prior: {number(found.energy['parameters'])}"
    return (
        "Share of the truth within the intervals of each level: right is the level itself, and a dash means that so "
        "few draws show none. Spread over error: 1 is right. The last column says how often honest error bars would "
        "show ranks as uneven: less than 0.01 is a sign. Several values of one trajectory count as one, for they err "
        f"together. {energy}."
    )
