"""The honest table: results of many runs as mean and spread over seeds, beside the paper's numbers and trivial rows."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from greymatch.bench.plan import system_named
from greymatch.bench.watch import number

MEASURES = ("mse", "central_mse", "nmse", "crps", "coverage", "seconds", "validation_error")
HEADS = {"mse": "MSE", "central_mse": "central MSE", "crps": "CRPS", "coverage": "coverage", "seconds": "seconds"}
SHORT = ("method", "seeds", "MSE", "CRPS", "coverage", "parameter RMSE (prior's)", "paper's MSE")
QUICK = "A quick trial: these numbers mean nothing."


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation over the runs; no standard deviation for fewer than two."""

    mean: float | None
    std: float | None = None

    @staticmethod
    def of(values: Sequence[float | None]) -> Summary:
        """An error that was infinite once (null in its file) is infinite in the mean: it is not left out."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return Summary(None)
        return Summary(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)

    def text(self) -> str:
        return number(self.mean) + (f" ± {number(self.std)}" if self.std is not None else "")


@dataclass(frozen=True)
class Row:
    """A method, or a reference (no runs), on one system."""

    system: str
    name: str
    runs: int
    measures: dict[str, Summary]
    parameters: dict[str, dict[str, Summary]] = field(default_factory=dict)
    parameter_count: int | None = None
    paper_mse: float | None = None

    def measure(self, name: str) -> Summary:
        return self.measures.get(name, Summary(None))


def rows(results: Iterable[dict[str, Any]]) -> list[Row]:
    """System after system, best first; each system's references once."""
    by_system: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        by_system.setdefault(result["system"], []).append(result)
    return [row for name, found in by_system.items() for row in _of_system(name, found)]


def _of_system(system: str, results: list[dict[str, Any]]) -> list[Row]:
    methods: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        methods.setdefault(result["method"], []).append(result)
    found = [_method_row(system, method, runs) for method, runs in methods.items()]
    found += [_reference_row(system, name, scores) for name, scores in results[0]["references"].items()]
    return sorted(found, key=lambda row: _order(row.measure("mse").mean))


def _order(mse: float | None) -> float:
    return float("inf") if mse is None else mse


def _method_row(system: str, method: str, runs: list[dict[str, Any]]) -> Row:
    return Row(
        system=system,
        name=method,
        runs=len(runs),
        measures={name: Summary.of([_measured(run, name) for run in runs]) for name in MEASURES},
        parameters={
            name: {kind: Summary.of([run["parameters"][name][kind] for run in runs]) for kind in kinds}
            for name, kinds in runs[0]["parameters"].items()
        },
        parameter_count=runs[0]["parameter_count"],
        paper_mse=system_named(system).paper_mse.get(method),
    )


def _measured(run: dict[str, Any], name: str) -> float | None:
    elsewhere = {
        "central_mse": lambda: run["central"]["mse"],
        "seconds": lambda: run["training_seconds"],
        "validation_error": lambda: run["validation_error"],
    }
    return elsewhere[name]() if name in elsewhere else run["scores"][name]


def _reference_row(system: str, name: str, scores: dict[str, Any]) -> Row:
    measures = {measure: Summary.of([scores[measure]]) for measure in ("mse", "nmse", "crps")}
    return Row(system, name, 0, measures | {"central_mse": measures["mse"]})


def cells(row: Row) -> dict[str, str]:
    """The row as text, by the heads of the table's columns."""
    found = [
        f"{name} {kinds['rmse'].text()} ({number(kinds['prior_rmse'].mean)})" for name, kinds in row.parameters.items()
    ]
    return {
        "system": row.system,
        "method": row.name,
        "seeds": str(row.runs or ""),
        **{head: row.measures[name].text() if name in row.measures else "" for name, head in HEADS.items()},
        "parameter RMSE (prior's)": ", ".join(found),
        "weights": str(row.parameter_count or ""),
        "paper's MSE": "" if row.paper_mse is None else number(row.paper_mse),
    }


def markdown(found: Sequence[Row]) -> str:
    heads = list(cells(Row("", "", 0, {})))
    lines = [heads, ["---"] * len(heads), *(list(cells(row).values()) for row in found)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def comma_separated(found: Sequence[Row]) -> str:
    """One line a row, mean and standard deviation in columns of their own."""
    names = [f"{measure}{part}" for measure in MEASURES for part in ("", "_std")]
    parameters = list(
        dict.fromkeys(f"{name}_{kind}" for row in found for name in row.parameters for kind in ("rmse", "prior_rmse"))
    )
    columns = ["system", "method", "seeds", *names, *parameters, "parameter_count", "paper_mse"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in found:
        writer.writerow(_flat(row))
    return text.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"system": row.system, "method": row.name, "seeds": row.runs}
    for name, summary in row.measures.items():
        flat |= {name: summary.mean, f"{name}_std": summary.std}
    for name, kinds in row.parameters.items():
        flat |= {f"{name}_{kind}": kinds[kind].mean for kind in ("rmse", "prior_rmse")}
    return flat | {"parameter_count": row.parameter_count, "paper_mse": row.paper_mse}


def write_table(found: Sequence[Row], folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """table.json, table.csv and table.md in `folder`; returns what table.json holds."""
    from greymatch.files import write_bytes, write_json

    content = {**about, "rows": [asdict(row) for row in found]}
    write_json(folder / "table.json", content)
    write_bytes(folder / "table.csv", comma_separated(found).encode())
    warning = f"{QUICK}\n\n" if about.get("quick") else ""
    write_bytes(folder / "table.md", (warning + markdown(found)).encode())
    return content
