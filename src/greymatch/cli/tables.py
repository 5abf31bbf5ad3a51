"""What an evaluation found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from greymatch.bench.watch import number

if TYPE_CHECKING:
    from greymatch.evaluation import Evaluation

_COLUMNS = ("mse", "nmse", "crps", "coverage")  # as many as fit on 80 characters


def honest_table(evaluation: Evaluation) -> Table:
    """The model among the references, best first."""
    method = evaluation.model.settings.method
    rows = {method: evaluation.scores} | evaluation.references
    table = Table(title="Forecast errors, best first", title_justify="left")
    table.add_column("")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for name, scores in sorted(rows.items(), key=lambda row: row[1].mse):
        mark, style = ("▶ ", "bold green") if name == method else ("  ", "")
        table.add_row(f"{mark}{name}", *(_cell(getattr(scores, column)) for column in _COLUMNS), style=style)
    return table


def parameter_table(evaluation: Evaluation) -> Table | None:
    """How well each parameter was found, beside guessing the prior's mean; None where no truth is known."""
    found = evaluation.parameters()
    if not found:
        return None
    table = Table(title="Parameters inferred", title_justify="left")
    for column in ("", "RMSE", "RMSE of the prior's mean", "coverage of 90 % intervals"):
        table.add_column(column, justify="right" if column else "left")
    for name, errors in found.items():
        table.add_row(name, _cell(errors["rmse"]), _cell(errors["prior_rmse"]), _cell(errors["coverage"]))
    return table


def share_text(evaluation: Evaluation) -> Text:
    parts = [f"{name} {100 * share['share']:.0f} %" for name, share in evaluation.share.items()]
    return Text(f"Share of the known physics in each equation, the rest is learned: {', '.join(parts)}")


def trust_text(evaluation: Evaluation) -> Text:
    """What to believe of the error bars, a line for each parameter and state."""
    lines = [f"  {name}: {told}" for name, told in evaluation.calibration().sentences().items()]
    return Text("\n".join(["Can the error bars be trusted?", *lines]))


def verdict(evaluation: Evaluation) -> Text:
    """One plain sentence."""
    best = evaluation.best_reference
    mine, other = evaluation.scores.mse, evaluation.references[best].mse
    if evaluation.beats_references:
        text = f"The model beat every reference: MSE {_cell(mine)}, the best of them ({best}) has {_cell(other)}."
        return Text(text, style="bold green")
    return Text(f"The model did NOT beat {best}: MSE {_cell(mine)} against {_cell(other)}.", style="bold red")


def shown(evaluation: Evaluation) -> list[Table | Text]:
    parts = (honest_table, parameter_table, trust_text, share_text, verdict)
    return [part for make in parts if (part := make(evaluation)) is not None]


def _cell(value: float) -> str:
    return number(None if value != value else value)
