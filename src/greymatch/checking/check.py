"""`check`: what was understood, and what is wrong, before any training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from greymatch.checking import data_rules, physics_rules
from greymatch.checking.confounding import confounding
from greymatch.checking.facts import facts
from greymatch.checking.finding import Finding, Level, problem
from greymatch.checking.points import Points
from greymatch.data.noise import assumed_noise, with_noise
from greymatch.data.store import Store, sampled
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.methods import method_named
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.checks import check_data, check_function, check_same_grid
from greymatch.training.suited import Choice, Suited, choose

CHECKED_TRAJECTORIES = 256


@dataclass(frozen=True)
class Check:
    """What is known before a fit: facts about the data, settings chosen for them, and findings, worst first.

    ```python
    print(gm.check(physics, data))
    assert gm.check(physics, data).fits
    ```

    `fits` is whether `fit` would run. It does not say that the result will be good: warnings do.
    """

    facts: dict[str, str]
    choices: list[Choice] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        return all(finding.level is not Level.PROBLEM for finding in self.findings)

    def __str__(self) -> str:
        width = max(len(name) for name in self.facts) if self.facts else 0
        lines = [f"{name:{width}}  {text}" for name, text in self.facts.items()]
        lines += ["", "settings:", *(f"  {choice}" for choice in self.choices)] if self.choices else []
        return "\n".join([*lines, "", *map(str, self.findings), self.verdict])

    @property
    def verdict(self) -> str:
        """One line to end with."""
        counts = {level: sum(finding.level is level for finding in self.findings) for level in Level}
        if not self.fits:
            return "This cannot be fitted as it is."
        if counts[Level.WARNING]:
            return f"This can be fitted; {counts[Level.WARNING]} warning{'s' * (counts[Level.WARNING] > 1)} above."
        return "This can be fitted; nothing is in the way."


def check(
    physics: Physics,
    data: Trajectories | Store,
    validation: Trajectories | Store | None = None,
    *,
    settings: Settings | None = None,
) -> Check:
    """Try `physics` on `data` without training: in seconds, everything that would keep a fit from being good.

    Raises only for arguments of the wrong kind; what is wrong with physics and data is in `findings`.
    Of a `Store`, a sample is tried.
    """
    data = sampled(data, settings and settings.data.shelf)
    validation = None if validation is None else sampled(validation)
    if not (isinstance(physics, Physics) and isinstance(data, Trajectories)):
        check_data(physics, data, "data")
    told = _Told()
    told.asks(lambda: _check_parts(physics, data, validation))
    if told.stopped:
        return Check(facts(data, None), findings=told.findings)
    found = Suited(settings, []) if settings else choose(physics, data)
    seen = _as_fitted(data, found.settings)
    told.findings += data_rules.amount(data, validation) + data_rules.still(data)
    told.findings += data_rules.strays(data) + data_rules.switches(data)
    told.findings += data_rules.windows(data, found.settings)
    told.asks(lambda: _check_function(physics, data, found.settings))
    if not told.stopped:
        told.findings += data_rules.derivatives(physics, seen, found.settings)
        told.findings += _of_physics(physics, seen, found.settings)
    order = list(Level)
    return Check(facts(data, found.settings), found.choices, sorted(told.findings, key=lambda f: order.index(f.level)))


def _as_fitted(data: Trajectories, settings: Settings) -> Trajectories:
    """With the noise that `fit` would smooth away."""
    return with_noise(assumed_noise(settings.data.noise, data), data)[0]


@dataclass
class _Told:
    """Findings so far; an error that `fit` would raise stops what builds on it."""

    findings: list[Finding] = field(default_factory=list)
    stopped: bool = False

    def asks(self, question: Callable[[], None]) -> None:
        try:
            question()
        except GreymatchError as error:
            self.findings.append(problem(str(error)))
            self.stopped = True


def _check_parts(physics: Physics, data: Trajectories, validation: Trajectories | None) -> None:
    check_data(physics, data, "data")
    if validation is not None:
        check_data(physics, validation, "validation")
        check_same_grid(data, validation)


def _check_function(physics: Physics, data: Trajectories, settings: Settings) -> None:
    known = method_named(settings.method).known(physics)
    some = data.select(slice(CHECKED_TRAJECTORIES))
    path = interpolated(some, settings, known.order)
    check_function(known, some, path)
    path.to(dtype=torch.float32)  # as training holds it: times in a tiny unit overflow there


def _of_physics(physics: Physics, data: Trajectories, settings: Settings) -> list[Finding]:
    points = Points.of(physics, data, settings)
    found = physics_rules.size(points) + physics_rules.movement(points) + physics_rules.twins(points)
    if not physics.free:
        return found
    fits = confounding(points)
    found += physics_rules.priors(points, fits.alone, fits.beside)
    return found + [one.finding() for one in fits.confounded]
