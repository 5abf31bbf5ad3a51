"""The honest table: the model beside the trivial references."""

from __future__ import annotations

from dataclasses import dataclass

from greymatch.evaluation import Evaluation
from greymatch.report.numbers import number, ratio
from greymatch.systems.system import System

COLUMNS = {
    "mse": "MSE",
    "rmse": "RMSE",
    "mae": "MAE",
    "nmse": "NMSE",
    "crps": "CRPS",
    "coverage": "Coverage",
}


@dataclass(frozen=True)
class Row:
    """A line of a table; `marked` is the model's own."""

    name: str
    cells: tuple[str, ...]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """Headings, the first of which stands over the names, and rows."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str


def honest_table(evaluation: Evaluation) -> Table:
    """Best first, with each row's MSE as a multiple of the model's."""
    own = evaluation.model.settings.method
    rows = tuple(
        Row(
            f"{name} (the model)" if name == own else str(name),
            (
                *(number(float(row[column])) for column in COLUMNS),
                number(ratio(float(row["mse"]), evaluation.scores.mse)),
            ),
            marked=name == own,
        )
        for name, row in evaluation.table().iterrows()
    )
    return Table(("Forecast", *COLUMNS.values(), "Times the model’s MSE"), rows, _caption(evaluation))


def by_state(evaluation: Evaluation) -> Table | None:
    """The model's scores of each state; nothing where there is but one."""
    if len(evaluation.forecast.states) < 2:
        return None
    totals = evaluation.scores.table()
    rows = tuple(
        Row(_named(evaluation, name), tuple(number(float(totals[column][name])) for column in COLUMNS))
        for name in evaluation.forecast.states
    )
    return Table(("State", *COLUMNS.values()), rows, "The model's forecast, state by state, in the units of each.")


def published(system: System | None) -> str:
    """What the paper reports for this system, in a line; empty where nothing is known."""
    if system is None or not system.paper_mse:
        return ""
    values = ", ".join(f"{name} {number(value)}" for name, value in system.paper_mse.items())
    return f"Forecast MSE that the paper reports for this system, with its own data and budget: {values}."


def _named(evaluation: Evaluation, state: str) -> str:
    unit = evaluation.forecast.units.get(state)
    return f"{state} ({unit})" if unit else state


def _caption(evaluation: Evaluation) -> str:
    mixed = (
        " MSE, RMSE, MAE and CRPS pool all states in their own units; NMSE weighs the states alike."
        if len(evaluation.forecast.states) > 1
        else ""
    )
    return (
        "Smaller is better; coverage should be 0.9, and a reference of one draw has none. NMSE is the MSE over the "
        f"variance of the truth: 1 is as good as knowing its mean.{mixed}"
    )
