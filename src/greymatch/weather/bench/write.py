"""The results of the weather benchmark, as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from greymatch.bench.pictures import save
from greymatch.bench.result import plain
from greymatch.bench.sheet import Sheet
from greymatch.bench.summary import grouped
from greymatch.files import write_bytes, write_json
from greymatch.weather.bench import pictures
from greymatch.weather.bench.run import Bench
from greymatch.weather.bench.tables import Scored, cells_sheet, facts_sheet, label, method_of, score_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCES = ("persistence", "damped", "climatology")
MAPPED = ("vgb-dm", "climode", "persistence")
SIZES = {"speed": "at this size", "full_size": "at the size of the paper's network"}
_ALT = {
    "rmse": "RMSE by lead, a panel for each field",
    "acc": "ACC by lead, a panel for each field",
    "errors": "Maps of the RMSE at the middle lead, by forecast and field",
    "spectra": "Power by zonal wavenumber at the last lead, beside the truth",
}


@dataclass(frozen=True)
class Findings:
    """All that the runs tell."""

    scored: Scored
    sheets: dict[str, Sheet]
    notes: list[str]
    cost: dict[str, Any]


def findings(bench: Bench, results: Sequence[dict[str, Any]], cost: dict[str, Any]) -> Findings:
    scored = {name: [bench.scores(run["name"]) for run in runs] for name, runs in grouped(results, label).items()}
    scored |= {name: [bench.scores(name)] for name in REFERENCES}
    sheets = {
        "rmse": score_sheet("RMSE (weighted by area)", "rmse", scored),
        "acc": score_sheet("ACC (anomalies from the climatology of the training years)", "acc", scored),
        "cells": cells_sheet(scored),
        "facts": facts_sheet(results),
    }
    return Findings(scored, sheets, notes(bench, results, cost), cost)


def notes(bench: Bench, results: Sequence[dict[str, Any]], cost: dict[str, Any]) -> list[str]:
    kind = "a simulated atmosphere, not ERA5" if bench.archive.simulated else "an archive of observations"
    minutes = {run["settings"]["training"]["minutes"] for run in results}
    budget = " or ".join(f"{one:g}" for one in sorted(one for one in minutes if one))
    told = [
        f"Judged on {kind}: {len(bench.court.starts)} starts of all hours, references and models alike.",
        f"Each run had {budget or 'a number of steps and no'} minutes of one processor, validation included.",
        "Wind: correlation of the velocity that carries a field, as learned, with the true wind at its height.",
    ]
    if bench.days:
        told.append(
            f"Worst in long forecasts: how far 20 forecasts to {bench.days} days left the range of the training data, "
            "in widths of it; lost are those that left it by more than half."
        )
    if "speed" in cost:
        told += [_speed_told(cost[name], size) for name, size in SIZES.items() if name in cost]
    if "memory" in cost:
        told.append(_memory_told(cost["memory"]))
    return told


def _memory_told(memory: dict[str, Any]) -> str:
    less = memory.get("in_parts")  # results of before have none
    in_parts = f", or {less['gigabytes']:.2f} GB in {less['parts']} parts (`training.parts`)" if less else ""
    return (
        f"Peak memory at batch {memory['batch']} with {memory['parameters'] / 1e6:.1f} million weights: "
        f"{memory['gigabytes']:.2f} GB{in_parts}, a year of data included."
    )


def _speed_told(speed: dict[str, float], size: str) -> str:
    return (
        f"Training {size}: {speed['ours']:.1f} pairs a second, {speed['ratio']:.2f} times a plain float32 loop with "
        f"channels first of the same network, {speed['plain']:.1f}; steps of {speed['batch']:.0f} pairs, one of a "
        f"window, in turn on one core. What pasts say is found once, in {speed['once']:.1f} s for a year of data."
    )


def figures(bench: Bench, found: Findings) -> dict[str, Callable[[], Figure]]:
    leads = [int(lead) for lead in bench.court.leads]
    land = np.asarray(bench.archive.constants["land"].values)
    middle = leads[len(leads) // 2]
    some = {name: found.scored[name] for method in MAPPED for name in found.scored if method_of(name) == method}
    learned = {name: seeds for name, seeds in found.scored.items() if name not in REFERENCES}
    return {
        "rmse": partial(pictures.curves, found.scored, "rmse"),
        "acc": partial(pictures.curves, found.scored, "acc"),
        "errors": partial(pictures.error_maps, some, land, middle),
        "spectra": partial(pictures.spectra, learned, leads[-1]),
    }


def write(bench: Bench, found: Findings, folder: Path) -> list[Path]:
    """weather.json, weather.md, a CSV for each table and a PNG for each picture."""
    files = [folder / "weather.json", folder / "weather.md"]
    tables = {name: sheet.plain() for name, sheet in found.sheets.items()}
    write_json(files[0], plain({"notes": found.notes, "cost": found.cost, **tables}))
    drawn = figures(bench, found)
    for name, draw in drawn.items():
        files.append(folder / f"{name}.png")
        save(draw, files[-1])
    for name, sheet in found.sheets.items():
        files.append(folder / f"{name}.csv")
        write_bytes(files[-1], sheet.comma_separated().encode())
    text = "".join(f"**{sheet.title}**\n\n{sheet.markdown()}\n" for sheet in found.sheets.values())
    text += "".join(f"![{_ALT[name]}]({name}.png)\n\n" for name in drawn)
    write_bytes(files[1], (text + "".join(f"- {note}\n" for note in found.notes)).encode())
    return files
