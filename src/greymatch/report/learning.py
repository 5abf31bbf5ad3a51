"""The learning curve over the time spent in training."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from greymatch.evaluation import Evaluation
from greymatch.report.colours import MODEL, SECOND, Key, line_keys
from greymatch.report.figures import Panel, Plate, log_if_positive, new_axes, svg, thinned
from greymatch.report.metrics import series
from greymatch.report.numbers import counted, duration, number

_LABELS = {
    "kl_theta": "KL of the parameters",
    "kl_z": "KL of the latents",
    "residual": "size of the residual",
    "sensitivity": "sensitivity of the residual",
}
_NO_TERMS = ("step", "elapsed", "rate", "total", "forecast_", "noise_")
_KEPT = Key("weights that were kept", SECOND, "dot")


def learning(evaluation: Evaluation, records: list[dict[str, Any]]) -> Plate | None:
    """Nothing where nothing was logged."""
    terms = _terms(records)
    validated = len(series(records, "forecast_mse")[0])
    if not terms and not validated:
        return None
    keys = line_keys([_LABELS.get(name, name.replace("_", " ")) for name in terms]) if terms else []
    panels = [_validation(evaluation, records)] if validated else []
    panels += [Panel(_losses(records, terms, keys), "Terms of the loss", "on training data")] if terms else []
    return Plate(tuple(panels), _caption(evaluation), (*([_KEPT] if validated else []), *keys))


def _terms(records: list[dict[str, Any]]) -> list[str]:
    """The names of the loss terms, in the order in which they were logged."""
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if not name.startswith(_NO_TERMS) and len(series(records, name)[0])]


def _caption(evaluation: Evaluation) -> str:
    record = evaluation.model.record
    spent = ""
    if "steps" in record and "seconds" in record:
        spent = f"{counted(record['steps'], 'step')} took {duration(record['seconds'])}. "
    return (
        f"{spent}A forecast error that still falls at the right edge asks for a longer run. The noise is weighed anew "
        "all the time, so the matching term stays level while the fit improves."
    )


def _validation(evaluation: Evaluation, records: list[dict[str, Any]]) -> Panel:
    seconds, errors = series(records, "forecast_mse")
    figure, (ax,) = new_axes(2.7)
    ax.plot(seconds, errors, color=MODEL, marker=".", ms=4)
    remark = f"on validation data, last {number(float(errors[-1]))}"
    kept = [r for r in records if r.get("step") == evaluation.model.record.get("best_step") and "forecast_mse" in r]
    if kept:
        ax.plot(kept[0]["elapsed"], kept[0]["forecast_mse"], color=_KEPT.colour, marker="o", ms=6)
        remark = f"on validation data, {number(float(kept[0]['forecast_mse']))} with the weights kept"
    log_if_positive(ax, errors)
    _label(ax, "forecast MSE")
    return Panel(svg(figure, "learning-error", "Forecast error over training time"), "Forecast MSE", remark)


def _losses(records: list[dict[str, Any]], terms: list[str], keys: list[Key]) -> Markup:
    figure, (ax,) = new_axes(2.7)
    for name, key in zip(terms, keys, strict=True):
        seconds, values = series(records, name)
        shown = thinned(len(seconds))
        marker = "." if len(shown) == 1 else None
        ax.plot(seconds[shown], values[shown], color=key.colour, ls=key.style, lw=1.2, marker=marker)
    everything = np.concatenate([series(records, name)[1] for name in terms])
    log_if_positive(ax, everything)
    _label(ax, "value")
    return svg(figure, "learning-terms", f"Terms of the loss over training time: {', '.join(k.label for k in keys)}")


def _label(ax: Any, what: str) -> None:
    ax.set_xlabel("training time (s)")
    ax.set_ylabel(what)
