"""`write_report`: weather models as one HTML page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from greymatch.bench.sheet import Sheet
from greymatch.files import write_bytes
from greymatch.report.figures import style, svg
from greymatch.weather.bench import pictures
from greymatch.weather.bench.tables import cells_sheet, score_sheet
from greymatch.weather.report.judged import Judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CARRIED = "z500"


@dataclass(frozen=True)
class Picture:
    """A drawing and what to see in it."""

    svg: Markup
    caption: str


@dataclass(frozen=True)
class Section:
    key: str
    heading: str
    pictures: list[Picture] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)


def write_report(judged: Judged, path: Path, command: str) -> Path:
    """Write the page to `path` and return it: one file that opens anywhere, without network or scripts."""
    from greymatch import __version__

    with style():
        sections = [part(judged) for part in (_leads, _errors, _shown, _winds, _waves)]
    page = _template().render(
        title=f"Weather: {judged.ours}",
        judged=_told(judged),
        **_verdict(judged),
        sections=[part for part in sections if part.pictures or part.sheets],
        command=command,
        style=Markup(files("greymatch.report").joinpath("page.css").read_text(encoding="utf-8")),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
    )
    write_bytes(path, page.encode())
    return path


def _told(judged: Judged) -> str:
    starts, kind = judged.court.starts, "a simulated atmosphere" if judged.archive.simulated else "an archive"
    first, last = (np.datetime_as_string(one, unit="D") for one in (starts[0], starts[-1]))
    return f"Judged on {len(starts)} starts of {kind}, {first} to {last}; climatology of the training years."


def _verdict(judged: Judged) -> dict[str, Any]:
    """In how many cells the model is better than the best of the references."""
    scored = judged.scored
    ours = scored[judged.ours][0]["rmse"]
    best = np.min([scored[name][0]["rmse"].values for name in judged.court.references()], axis=0)
    won = int((ours.values < best).sum())
    text = f"{judged.ours} has a lower RMSE than the best reference in {won} of {ours.size} cells of field and lead."
    return {"verdict": text, "good": won == ours.size}


def _leads(judged: Judged) -> Section:
    scored = judged.scored
    drawn = [
        _picture(lambda: pictures.curves(scored, "rmse"), "rmse", "RMSE by lead time; lower is better."),
        _picture(lambda: pictures.curves(scored, "acc"), "acc", "Anomaly correlation by lead time; higher is better."),
    ]
    sheets = [cells_sheet(scored, judged.ours), score_sheet("RMSE", "rmse", scored), score_sheet("ACC", "acc", scored)]
    return Section("leads", "Error by lead time", drawn, sheets)


def _errors(judged: Judged) -> Section:
    lead = _middle(judged)
    shown = {name: judged.scored[name] for name in (*judged.models, "persistence")}
    caption = f"RMSE at each place, {lead} hours ahead. A column shares one scale of colours."
    picture = _picture(lambda: pictures.error_maps(shown, _land(judged), lead), "errors", caption)
    return Section("errors", "Where the errors are", [picture])


def _shown(judged: Judged) -> Section:
    lead = _middle(judged)
    forecast, truth = judged.shown(lead)
    when = np.datetime_as_string(judged.moment[0], unit="h")
    caption = f"{lead} hours ahead from {when} UTC, by {judged.ours}: truth and forecast share one scale of colours."
    picture = _picture(lambda: pictures.forecast_maps(forecast, truth, _land(judged)), "forecast", caption)
    return Section("forecast", "A forecast against the truth", [picture])


def _winds(judged: Judged) -> Section:
    winds = judged.carrying(CARRIED)
    if not winds:
        return Section("winds", "Winds")
    caption = f"The velocity that carries {CARRIED}, as learned, beside the wind at its height where that is known."
    picture = _picture(lambda: pictures.wind_maps(winds, _land(judged)), "winds", caption)
    return Section("winds", "Learned velocity", [picture])


def _waves(judged: Judged) -> Section:
    lead = int(judged.court.leads[-1])
    shown = {name: judged.scored[name] for name in judged.models}
    caption = f"Power by zonal wavenumber {lead} hours ahead. A line below the truth has been blurred."
    return Section("waves", "Spectra", [_picture(lambda: pictures.spectra(shown, lead), "waves", caption)])


def _picture(draw: Callable[[], Figure], key: str, caption: str) -> Picture:
    return Picture(svg(draw(), key, caption), caption)


def _middle(judged: Judged) -> int:
    return int(judged.court.leads[len(judged.court.leads) // 2])


def _land(judged: Judged) -> np.ndarray:
    return np.asarray(judged.archive.constants["land"].values)


def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files("greymatch.weather.report").joinpath("page.html.j2").read_text("utf-8"))
