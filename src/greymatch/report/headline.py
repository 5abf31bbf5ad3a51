"""The head of the page: what was fitted, whether it is any good, and the few numbers that matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from greymatch.data.trajectories import Trajectories
from greymatch.evaluation import Evaluation
from greymatch.methods import method_named
from greymatch.report.cautions import cautions
from greymatch.report.numbers import counted, duration, listed, number, percent, ratio


@dataclass(frozen=True)
class KeyFigure:
    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class Headline:
    fitted: str
    verdict: str
    good: bool
    figures: tuple[KeyFigure, ...]
    cautions: tuple[str, ...]


def headline(evaluation: Evaluation, train: Trajectories | None) -> Headline:
    figures = (_error(evaluation), _reference(evaluation), _parameters(evaluation), _coverage(evaluation))
    return Headline(
        fitted=f"{_model(evaluation)} {_data(evaluation, train)}",
        verdict=_verdict(evaluation),
        good=evaluation.beats_references,
        figures=(*figures, _time(evaluation)),
        cautions=cautions(evaluation),
    )


def _model(evaluation: Evaluation) -> str:
    physics, method = evaluation.model.physics, method_named(evaluation.model.settings.method)
    order = "second" if physics.order == 2 else "first"
    free = evaluation.model.network.physics.free
    inferred = f" It infers {listed(free)} for each trajectory." if free else ""
    return (
        f"{method.name} ({method.title}) fitted to {physics.name}: {order} order in {listed(physics.states)}"
        f"{_grid(evaluation)}.{inferred}"
    )


def _grid(evaluation: Evaluation) -> str:
    shape = tuple(evaluation.test.values.shape[3:])
    return f", on a grid of {' × '.join(map(str, shape))}" if shape else ""


def _data(evaluation: Evaluation, train: Trajectories | None) -> str:
    recorded = evaluation.model.record.get("trajectories", {})
    learned = len(train) if train is not None else recorded.get("train")
    source = f"Learned from {counted(learned, 'trajectory')}; judged" if learned else "Judged"
    given, lead = evaluation.history.lengths, evaluation.forecast.lead
    furthest = float(lead[lead.isfinite()].max())
    points = counted(int(given.max()), "point")
    shown = points if int(given.min()) == int(given.max()) else f"up to {points}"
    return (
        f"{source} on {counted(len(evaluation.test), 'trajectory')} by forecasts of up to "
        f"{number(furthest)}{_time_unit(evaluation)} ahead, made from the first {shown} of each."
    )


def _time_unit(evaluation: Evaluation) -> str:
    unit = evaluation.test.units.get("time")
    return f" {unit}" if unit else " time units"


def _verdict(evaluation: Evaluation) -> str:
    own, name = evaluation.scores, evaluation.best_reference
    best = evaluation.references[name]
    if not math.isfinite(own.mse):
        where = f"every member of the forecast diverged in {counted(len(own.lost), 'trajectory')}, so "
        return f"It failed: {where if own.lost else ''}its error is infinite."
    if evaluation.beats_references:
        times = number(ratio(best.mse, own.mse))
        return f"It beat every reference: the best of them, “{name}”, has {times} times its forecast MSE."
    times = number(ratio(own.mse, best.mse))
    return f"It did not beat the references: its forecast MSE is {times} times that of the best one, “{name}”."


def _error(evaluation: Evaluation) -> KeyFigure:
    scores = evaluation.scores
    return KeyFigure("Forecast MSE", number(scores.mse), f"NMSE {number(scores.nmse)}")


def _reference(evaluation: Evaluation) -> KeyFigure:
    name = evaluation.best_reference
    return KeyFigure("Best reference’s MSE", number(evaluation.references[name].mse), name)


def _parameters(evaluation: Evaluation) -> KeyFigure:
    judged = evaluation.parameters()
    if not judged:
        return KeyFigure("Parameter RMSE", "–", _why_not(evaluation))
    if len(judged) == 1:
        ((name, one),) = judged.items()
        remark = f"{name}; mean of the prior: {number(one['prior_rmse'])}"
        return KeyFigure("Parameter RMSE", number(one["rmse"]), remark)
    shares = [ratio(one["rmse"], one["prior_rmse"]) for one in judged.values()]
    each = [f"{name} {number(one['rmse'])} of {number(one['prior_rmse'])}" for name, one in judged.items()]
    return KeyFigure("Parameter RMSE", percent(sum(shares) / len(shares)), f"of the prior’s: {listed(each, 3)}")


def _why_not(evaluation: Evaluation) -> str:
    return "none inferred" if evaluation.posterior is None else "truth not known"


def _coverage(evaluation: Evaluation) -> KeyFigure:
    coverage = evaluation.scores.coverage
    remark = "of the truth; 90 % is right" if math.isfinite(coverage) else "a single draw has no bands"
    return KeyFigure("90 % bands hold", percent(coverage), remark)


def _time(evaluation: Evaluation) -> KeyFigure:
    record = evaluation.model.record
    if "seconds" not in record:
        return KeyFigure("Training time", "–", "not recorded")
    return KeyFigure("Training time", duration(record["seconds"]), counted(record.get("steps", 0), "step"))
