"""What the runs tell, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from greymatch.bench.sheet import Cell, Row, Sheet
from greymatch.bench.summary import Summary, grouped

OURS = "vgb-dm"
SHOWN = (6, 24, 42)  # hours
ROUNDING = 1e-9  # of a mean over seeds that all say the same
BETTER = {"rmse": min, "acc": max}
FACTS = {
    "forecast": "method",
    "seeds": "seeds",
    "share": "share of the data",
    "parameters": "weights",
    "steps": "steps",
    "seconds": "s of training",
    "wind_z500": "wind: z500",
    "wind_t850": "wind: t850",
    "beyond": "worst in long forecasts",
    "lost": "lost",
}
Scored = Mapping[str, Sequence[xr.Dataset]]
"""Scores of all seeds, by who forecast."""


def score_sheet(title: str, score: str, scored: Scored) -> Sheet:
    """A row for each field and forecast, a column for each lead; the best of a cell stands out."""
    first = next(iter(scored.values()))[0]
    leads = [int(lead) for lead in first["lead"].values]
    rows: list[Row] = []
    for field in first["field"].values.tolist():
        for name, seeds in scored.items():
            values = np.array([one[score].sel(field=field).values for one in seeds], dtype=float)
            cells = {str(lead): Summary.of(values[:, i].tolist()) for i, lead in enumerate(leads)}
            rows.append({"field": field, "forecast": name, **cells})
    unit = "months" if first["lead"].attrs.get("units") == "months" else "h"
    heads = {"field": "field", "forecast": "forecast", **{str(lead): f"{lead} {unit}" for lead in leads}}
    return Sheet(title, heads, rows, _best(rows, [str(lead) for lead in leads], BETTER[score]))


def _best(rows: Sequence[Row], keys: Sequence[str], better: Any) -> frozenset[tuple[int, str]]:
    found = set()
    for places in grouped(range(len(rows)), lambda i: rows[i]["field"]).values():
        for key in keys:
            found.add((better(places, key=lambda i: _mean(rows[i][key])), key))
    return frozenset(found)


def _mean(cell: Cell) -> float:
    return cell.mean if isinstance(cell, Summary) and cell.mean is not None else float("nan")


def cells_sheet(scored: Scored, ours: str | None = None) -> Sheet:
    """In how many cells of fields and leads ours is better than each other forecast, by the mean over seeds."""
    ours = ours or next((name for name in scored if method_of(name) == OURS), OURS)
    means = {name: {score: _mean_over(seeds, score) for score in BETTER} for name, seeds in scored.items()}
    known = next(iter(scored.values()))[0]["lead"].values
    leads = [lead for lead in SHOWN if lead in known]
    others = [name for name in means if name != ours and ours in means]
    rows = [{"forecast": name, **_against(means[ours], means[name], leads)} for name in others]
    heads = {
        "forecast": f"{ours} against",
        "rmse": "lower RMSE in",
        "no_higher": "no higher RMSE in",
        "acc": "higher ACC in",
    }
    heads |= {f"z500_{lead}": f"z500 RMSE ratio, {lead} h" for lead in leads}
    return Sheet(f"Cells won by {ours}", heads, rows)


def _against(ours: Mapping[str, xr.DataArray], other: Mapping[str, xr.DataArray], leads: Sequence[int]) -> Row:
    lower, higher = ours["rmse"] < other["rmse"] * (1 - ROUNDING), ours["acc"] > other["acc"]
    ratio = (ours["rmse"] / other["rmse"]).sel(field="z500") if leads else None
    no_higher = ours["rmse"] <= other["rmse"] * (1 + ROUNDING)
    counted = {"rmse": lower, "no_higher": no_higher, "acc": higher}
    won = {name: f"{int(found.sum())} of {found.size}" for name, found in counted.items()}
    return {**won, **({f"z500_{lead}": float(ratio.sel(lead=lead)) for lead in leads} if ratio is not None else {})}


def _mean_over(seeds: Sequence[xr.Dataset], score: str) -> xr.DataArray:
    return sum((one[score] for one in seeds[1:]), seeds[0][score]) / len(seeds)


def facts_sheet(results: Sequence[dict[str, Any]]) -> Sheet:
    """What each method cost and what else was seen of it."""
    rows: list[Row] = []
    for name, runs in grouped(results, label).items():
        record = [run["record"] for run in runs]
        row: Row = {"forecast": name, "seeds": len(runs), "share": f"{runs[0]['share']:g}"}
        row |= {key: Summary.of([float(one[key]) for one in record]) for key in ("parameters", "steps", "seconds")}
        for field in ("z500", "t850"):
            row[f"wind_{field}"] = Summary.of([run["winds"].get(field) for run in runs])
        long = [run["stability"] for run in runs if run["stability"]]
        row["beyond"] = max((worst(one) for one in long), default=None)
        row["lost"] = f"{sum(one['lost'] for one in long)} of {sum(one['starts'] for one in long)}" if long else ""
        rows.append(row)
    return Sheet("What each method cost, and how its winds and its long forecasts are", FACTS, rows)


def worst(stability: dict[str, Any]) -> float:
    """Of all fields; what was infinite is null in its file."""
    return max(float("inf") if value is None else value for value in stability["beyond"].values())


def method_of(name: str) -> str:
    """The method that a label begins with."""
    return name.split(" (")[0]


def label(result: dict[str, Any]) -> str:
    """Whose result it is: the method, and the share of the data if it is not all."""
    return result["method"] + ("" if result["share"] == 1 else f" ({result['share']:g} of the data)")
