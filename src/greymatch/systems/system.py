"""A benchmark system: true equations, known part, protocol and preset, as data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.simulation import sixth
from greymatch.simulation.simulate import simulate
from greymatch.systems.cache import cached

Truth = Mapping[str, np.ndarray]
Missing = Mapping[str, Mapping[str, Callable[[Truth], np.ndarray | float]]]


@dataclass(frozen=True)
class Split:
    """How many trajectories, on which times (T,), drawn with which seed."""

    trajectories: int
    times: np.ndarray = field(repr=False)
    seed: int


@dataclass(frozen=True)
class System:
    """A system whose truth is known, to learn and be judged on.

    ```python
    train = system.data("train")
    model = fit(system.physics, train, settings=system.settings())
    history = test.first(system.given)          # the rest is scored
    ```

    `missing` is what the known part lacks: for each equation its terms, and what the coefficient of each is where the
    true parameters are these.
    """

    name: str
    title: str
    physics: Physics
    truth: Physics
    start: Callable[[np.random.Generator, int], np.ndarray]
    splits: dict[str, Split]
    given: int
    preset: Settings
    paper_mse: dict[str, float]
    tuned: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    missing: Missing = field(default_factory=dict)
    drive: Callable[[torch.Tensor], torch.Tensor] | None = None
    substeps: int = 8

    def settings(self, method: str = "vgb-dm") -> Settings:
        """The preset with what was tuned, on validation data, for one method alone."""
        return self.preset.updated({**self.tuned.get(method, {}), "method": method})

    def data(
        self, split: str, seed: int | None = None, trajectories: int | None = None, points: int | None = None
    ) -> Trajectories:
        """Simulated trajectories of a split, with the true parameters in `.truth`; the same for the same seed.

        With more `points` than the split has, the same trajectories go on, in steps like the last.
        """
        if split not in self.splits:
            raise GreymatchError(
                f"`split` must be one of {list(self.splits)}; got {split!r}.{did_you_mean(split, self.splits)}"
            )
        plan = self.splits[split]
        count = plan.trajectories if trajectories is None else trajectories
        if count < 1:
            raise GreymatchError(f"`trajectories` must be at least 1; got {count}.")
        seed = plan.seed if seed is None else seed
        times = plan.times if points is None else _going_on(plan.times, points)
        recipe = f"{self._recipe()} {times.tolist()} {seed} {count}"
        made = cached(f"{self.name}-{split}", recipe, lambda: self._simulated(times, seed, count))
        values, theta = made["values"], made["theta"]
        return Trajectories(
            states=self.truth.states,
            times=torch.as_tensor(times).repeat(count, 1),
            values=values,
            mask=torch.ones_like(values, dtype=torch.bool),
            labels=np.arange(count),
            inputs=self._inputs(times, count),
            grid=self.truth.grid,
            truth={name: theta[:, i].numpy() for i, name in enumerate(self.truth.params)},
        )

    def _simulated(self, times: np.ndarray, seed: int, count: int) -> dict[str, torch.Tensor]:
        """Values (N, T, S, *grid) and true parameters (N, P)."""
        rng = np.random.default_rng(seed)
        eps = torch.as_tensor(rng.standard_normal((count, len(self.truth.free))))
        start = torch.as_tensor(self.start(rng, count))
        theta = self.truth.push(eps)
        phase = simulate(self.truth, start, torch.as_tensor(times), theta, self.drive, self.substeps)
        return {"values": phase[:, :, : len(self.truth.states)], "theta": theta}

    def _recipe(self) -> str:
        """All that simulated data depend on beside times, seed and number: equations, priors, start, drive, solver."""
        functions = [self.truth.function, self.start, simulate, sixth, *([self.drive] if self.drive else [])]
        sources = [inspect.getsource(function) for function in functions]
        return f"{self.truth.describe()} {self.substeps} {sources}"

    def _inputs(self, times: np.ndarray, count: int) -> Signals | None:
        """The drive u(t) (..., U), sampled where the states are."""
        if self.drive is None:
            return None
        clock = torch.as_tensor(times)
        values = self.drive(clock).expand(count, -1, -1)
        return Signals(self.truth.inputs, clock.repeat(count, 1), values.contiguous(), kind="quintic")


def _going_on(times: np.ndarray, points: int) -> np.ndarray:
    """So many times, the first ones as they are."""
    if points < 2:
        raise GreymatchError(f"`points` must be at least 2; got {points}.")
    more = np.arange(1, max(0, points - len(times)) + 1) * (times[-1] - times[-2])
    return np.concatenate([times[:points], times[-1] + more])
