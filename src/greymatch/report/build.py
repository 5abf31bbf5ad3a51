"""`write_report`: an evaluation as one HTML page."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from greymatch.data.trajectories import Trajectories
from greymatch.evaluation import Evaluation
from greymatch.explain.advice import Advice
from greymatch.files import write_bytes
from greymatch.report.chosen import spread_over_errors
from greymatch.report.failures import failures
from greymatch.report.fans import fans
from greymatch.report.figures import Plate, style
from greymatch.report.frames import frames
from greymatch.report.headline import headline
from greymatch.report.leads import leads
from greymatch.report.learning import learning
from greymatch.report.metrics import read_metrics
from greymatch.report.missing import missing
from greymatch.report.parameters import parameters
from greymatch.report.remake import remake
from greymatch.report.share import share, share_warning
from greymatch.report.table import by_state, honest_table, published
from greymatch.report.trust import trust
from greymatch.systems.system import System

FANS, FILMS = 6, 3


def write_report(
    evaluation: Evaluation,
    path: str | Path,
    train: Trajectories | None = None,
    system: System | None = None,
    metrics: str | Path | None = None,
    command: str | None = None,
    title: str | None = None,
    advice: Advice | None = None,
) -> Path:
    """Write the page to `path` and return it: one file that opens anywhere, without network or scripts.

    ```python
    evaluation = evaluate(model, test, given=26, train=train)
    write_report(evaluation, "report.html", train=train, metrics="runs/a/metrics.jsonl")
    ```

    `train` and `system` tell what was learned from; without `metrics`, the run's metrics.jsonl, there is no learning
    curve. `command` is printed as the way to make it again. `advice`, from `gm.advise(model, train)`, says what was
    missing and whose parameters to publish.
    """
    content = _content(evaluation, train, system, metrics, command, title)
    page = _template().render(content | {"missing": missing(evaluation, advice)})
    write_bytes(Path(path), page.encode())
    return Path(path)


def _content(
    evaluation: Evaluation,
    train: Trajectories | None,
    system: System | None,
    metrics: str | Path | None,
    command: str | None,
    title: str | None,
) -> dict[str, Any]:
    records = read_metrics(metrics) if metrics is not None else []
    with style():
        plates = {
            "forecasts": _forecasts(evaluation),
            "parameters": parameters(evaluation),
            "learning": learning(evaluation, records),
            "leads": leads(evaluation),
            "share": share(evaluation),
            "trust": trust(evaluation),
        }
    return {
        **plates,
        "title": title or (system.title if system else f"{evaluation.model.physics.name}: model report"),
        "head": headline(evaluation, train),
        "table": honest_table(evaluation),
        "states": by_state(evaluation),
        "published": published(system),
        "share_warning": share_warning(evaluation),
        "failures": failures(evaluation),
        "remake": remake(evaluation, system, command),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _forecasts(evaluation: Evaluation) -> Plate:
    if evaluation.forecast.grid:
        return frames(evaluation, spread_over_errors(evaluation, FILMS))
    return fans(evaluation, spread_over_errors(evaluation, FANS))


def _template() -> Any:
    here = files("greymatch.report")
    environment = Environment(
        loader=FunctionLoader(lambda name: here.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
