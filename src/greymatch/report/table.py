"""The honest table: the model beside the trivial references."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from greymatch.evaluation import Evaluation
from greymatch.report.figures import with_unit
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
    scores = evaluation.table().to_dict("index")
    rows = tuple(_row(str(name), row, evaluation.scores.mse, marked=name == own) for name, row in scores.items())
    return Table(("Forecast", *COLUMNS.values(), "Times the model’s MSE"), rows, _caption(evaluation))


def _row(name: str, scores: Mapping[Hashable, float], own: float, marked: bool) -> Row:
    cells = [number(scores[column]) for column in COLUMNS]
    return Row(f"{name} (the model)" if marked else name, (*cells, number(ratio(scores["mse"], own))), marked)


def by_state(evaluation: Evaluation) -> Table | None:
    """The model's scores of each state; nothing where there is but one."""
    states = evaluation.forecast.states
    if len(states) < 2:
        return None
    scores = evaluation.scores.table().to_dict("index")
    rows = tuple(
        Row(with_unit(name, evaluation.forecast.units), tuple(number(scores[name][column]) for column in COLUMNS))
        for name in states
    )
    return Table(("State", *COLUMNS.values()), rows, "The model's forecast, state by state, in the units of each.")


def published(system: System | None) -> str:
    """What the paper reports for this system, in a line; empty where nothing is known."""
    if system is None or not system.paper_mse:
        return ""
    values = ", ".join(f"{name} {number(value)}" for name, value in system.paper_mse.items())
    return f"Forecast MSE that the paper reports for this system, with its own data and budget: {values}."


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
