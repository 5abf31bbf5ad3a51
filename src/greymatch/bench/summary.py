"""Mean and spread over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from greymatch.bench.watch import number

Result = dict[str, Any]
NO_NOISE = "0 %"
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation over the runs; no standard deviation for fewer than two."""

    mean: float | None
    std: float | None = None
    count: int = 1

    @staticmethod
    def of(values: Sequence[float | None]) -> Summary:
        """An error that was infinite once (null in its file) is infinite in the mean: it is not left out."""
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return Summary(None, None, len(values))
        return Summary(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))

    @property
    def order(self) -> float:
        """What to sort by: what is not finite comes last."""
        return math.inf if self.mean is None else self.mean

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where it is not known."""
        return 0.0 if self.std is None else self.std / math.sqrt(self.count)

    def text(self) -> str:
        return number(self.mean) + (f" ± {number(self.std)}" if self.std is not None else "")


def ratio(found: Sequence[Mapping[str, float | None]]) -> Summary:
    """A parameter's RMSE over the prior's; an error that was infinite is null in its file, and in the ratio."""
    pairs = [(one["rmse"], one["prior_rmse"]) for one in found]
    return Summary.of([error / prior if error is not None and prior else None for error, prior in pairs])


def within_one_error(one: Summary, first: Summary) -> bool:
    """Whether a mean lies within one standard error of the difference from the first."""
    if one.mean is None or first.mean is None:
        return False
    return one.mean - first.mean <= math.hypot(one.error, first.error)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """What shares a key, in the order in which the keys are met."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def by_system(results: Iterable[Result]) -> dict[str, list[Result]]:
    return grouped(results, lambda result: result["system"])


def by_method(results: Iterable[Result]) -> dict[str, list[Result]]:
    return grouped(results, lambda result: result["method"])


def by_system_and_method(results: Iterable[Result]) -> list[tuple[str, str, list[Result]]]:
    """System after system, in each method after method, the runs of all seeds."""
    return [
        (system, method, runs)
        for system, of_system in by_system(results).items()
        for method, runs in by_method(of_system).items()
    ]


def noise_of(result: Result) -> float:
    """The noise of a run; one that says nothing of it had none."""
    return result.get("noise", 0.0)


def percent(noise: float) -> str:
    return f"{100 * noise:g} %"


def by_system_and_noise(results: Iterable[Result]) -> list[tuple[str, float, list[Result]]]:
    """System after system, in each the least noise first."""
    return [
        (system, noise, runs)
        for system, of_system in by_system(results).items()
        for noise, runs in sorted(grouped(of_system, noise_of).items())
    ]


def mse(runs: Iterable[Result]) -> Summary:
    """Of the ensemble's mean, on the test split: the headline figure."""
    return Summary.of([run["scores"]["mse"] for run in runs])
