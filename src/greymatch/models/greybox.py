"""`GreyBox`: a fitted model that forecasts, infers, explains its parts, saves and loads itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.network import Network
from greymatch.models.rollout import TOLERANCE
from greymatch.models.seen import Seen
from greymatch.models.solving import Solving
from greymatch.models.unusual import strangeness, warn_of_range, warn_of_unusual
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.simulation.start import POINTS, Start

if TYPE_CHECKING:
    from greymatch.explain import Explanation
    from greymatch.forecast.forecast import Forecast
    from greymatch.forecast.posterior import Posterior
    from greymatch.forecast.stored import StoredForecast
    from greymatch.forecast.track import Track

Times = Sequence[float] | Sequence[Sequence[float]] | np.ndarray | Tensor
UNEXPLAINED = 0.3


@dataclass(frozen=True)
class GreyBox:
    """d^n x / dt^n = f(t, x, theta) o r(x | z), with q(theta, z | history) inferred by the encoder.

    ```python
    model = fit(physics, train)
    forecast = model.forecast(history, times=torch.arange(2.6, 20, 0.1), draws=100)
    posterior = model.infer(history)
    model.save("swing.safetensors")
    ```

    `record` tells how the fit went: steps, seconds, validation error, calibration. Not for histories shorter than
    the shortest window it was trained with.
    """

    physics: Physics
    network: Network
    record: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def settings(self) -> Settings:
        return self.network.settings

    @property
    def noise(self) -> tuple[float, ...]:
        """The standard deviation of each state's observations that was assumed, () if none: histories are smoothed
        alike."""
        return tuple(self.network.observed.tolist()) if bool(self.network.observed.any()) else ()

    @property
    def noisy(self) -> list[str]:
        """States whose highest derivative training left largely unexplained, as noise in the data makes it."""
        unexplained = self.record.get("noise", [])[-len(self.physics.states) :]
        return [name for name, part in zip(self.physics.states, unexplained, strict=False) if part > UNEXPLAINED]

    @property
    def device(self) -> torch.device:
        return self.network.noise.device

    def to(self, device: torch.device | str) -> GreyBox:
        """The model on another device, where its forecasts are then computed; results come back to the CPU."""
        return GreyBox(self.physics, copy.deepcopy(self.network).to(device), self.record)

    @overload
    def forecast(
        self,
        history: Trajectories | Seen,
        times: Times,
        draws: int = 100,
        seed: int = 0,
        tolerance: float = TOLERANCE,
        refine: bool | None = None,
    ) -> Forecast: ...

    @overload
    def forecast(
        self,
        history: Trajectories | Seen,
        times: Times,
        draws: int = 100,
        seed: int = 0,
        tolerance: float = TOLERANCE,
        refine: bool | None = None,
        *,
        out: str | Path,
        resume: bool = False,
    ) -> StoredForecast: ...

    def forecast(
        self,
        history: Trajectories | Seen,
        times: Times,
        draws: int = 100,
        seed: int = 0,
        tolerance: float = TOLERANCE,
        refine: bool | None = None,
        *,
        out: str | Path | None = None,
        resume: bool = False,
    ) -> Forecast | StoredForecast:
        """Ensembles from the last observation of each trajectory on.

        `times` are shared (T,) or one row for each trajectory (N, T). Each draw takes theta and z from the posterior;
        `draws=1` is the central forecast, with the posterior's means. A member that diverges is NaN from there on
        and says so in `Forecast.status`; the others stand. `refine` as in `infer`, and `history` may be what `observe`
        gave.

        With `out`, a .zarr store, members are written as they are solved, never all in memory; a store that was stopped
        goes on with `resume`.
        """
        from greymatch.forecast.forecast import Forecast
        from greymatch.forecast.streaming import stream
        from greymatch.forecast.times import as_times

        _check_count("draws", draws)
        if not tolerance > 0:
            raise GreymatchError(f"`tolerance` must be positive; got {tolerance!r}.")
        given = self._given(history)
        asked = as_times(times, given)
        if given.inputs is not None:
            rows = torch.arange(len(given), device=self.device)
            given.inputs.check_covers(rows, asked, given.labels)
        seen = self._seen(history, given, refine)
        solving = self._drawn(seen, asked, draws, seed, tolerance)
        labels = self._labels(given, solving.times, solving.start)
        if out is not None:
            identity = self._identity(given, solving.times, (draws, seed, tolerance, refine, solving.shape))
            return stream(solving, labels, identity, Path(out), resume)
        values, status = solving.whole()
        return Forecast(draws=values, status=status, **labels)

    def _drawn(self, seen: Seen, times: Tensor, draws: int, seed: int, tolerance: float) -> Solving:
        """Members of the ensemble and where each of them starts."""
        generator = self._generator(seed)
        with torch.no_grad():
            members = self.network.draw(seen.sight, draws, generator)
            start = seen.sight.started(seen.history, self.physics.order, min(POINTS, self.settings.window))
            start = start.drawn(draws, generator, self.network.widening)
        return Solving(self.network, start, members, times, seen.history.inputs, draws, tolerance)

    def _labels(self, history: Trajectories, times: Tensor, start: Start) -> dict[str, Any]:
        """The fields of a forecast beside its draws."""
        return {
            "times": times.cpu(),
            "start": start.time[: len(history)].cpu(),
            "states": self.physics.states,
            "labels": history.labels,
            "grid": history.grid,
            "grid_coords": history.grid_coords,
            "units": history.units,
            "epoch": history.epoch,
        }

    def observe(self, history: Trajectories, refine: bool | None = None) -> Seen:
        """What the model makes of histories, to be given to `forecast` and `infer` in their place: where windows are
        asked, most of the time goes into that. `refine` as in `infer`."""
        return self._seen(history, self._checked(history), refine)

    def infer(
        self,
        history: Trajectories | Seen,
        draws: int = 1000,
        seed: int = 0,
        refine: bool | None = None,
        whole: bool = False,
    ) -> Posterior:
        """The posterior of the physics' parameters for each trajectory, in physical units.

        `refine` asks each window itself from the encoder's answer on (True), takes that answer (False), or does
        what validation data found better (None). With `whole`, all of each recording is asked, not its end alone:
        for parameters that do not change along it. See `track` for those that do. `history` may be what `observe` gave.
        """
        from greymatch.forecast.posterior import Posterior

        self._check_parameters()
        _check_count("draws", draws)
        given = self._given(history)
        seen = self._seen(given if whole else history, given, refine, whole)
        with torch.no_grad():
            eps = self.network.draw_parameters(seen.sight, draws, self._generator(seed))
        theta = self.physics.push(eps).cpu()
        return Posterior(names=tuple(self.physics.params), draws=theta, labels=given.labels)

    def _given(self, history: Trajectories | Seen) -> Trajectories:
        """The history as this model sees it."""
        if not isinstance(history, Seen):
            return self._checked(history)
        if history.network is not self.network:
            raise GreymatchError(
                "`history` must have been observed by this model; another one did. Give the history itself, or call "
                "`observe` of this model."
            )
        return history.history

    def _seen(
        self, history: Trajectories | Seen, given: Trajectories, refine: bool | None, whole: bool = False
    ) -> Seen:
        """What was seen of a history, or what is now, with a warning of what the model does not know."""
        from greymatch.models.whole import seen_whole

        if isinstance(history, Seen):
            _check_not_refined(refine)
            return history
        self._check_refine(refine or whole)
        with torch.no_grad():
            sight = seen_whole(self.network, given) if whole else self.network.observe(given, refine)
        warn_of_unusual(self.network, given, sight.own)
        warn_of_range(self.record.get("seen", {}), given)
        return Seen(self.network, given, sight)

    def track(
        self,
        data: Trajectories,
        level: float = 0.9,
        every: int = 1,
        draws: int = 200,
        seed: int = 0,
        refine: bool | None = None,
    ) -> Track:
        """The parameters along each recording, from windows `every` points apart, with central intervals of `level`."""
        from greymatch.forecast.forecast import check_level
        from greymatch.forecast.track import track

        self._check_parameters()
        check_level(level)
        _check_count("every", every)
        _check_count("draws", draws)
        self._check_refine(refine)
        return track(self.network, self._checked(data), level, every, draws, refine, seed)

    def strangeness(self, history: Trajectories) -> np.ndarray:
        """How badly the model explains the end of each history (N,): up to 1 is usual, above 3 `infer` and `forecast`
        warn. NaN for a model that cannot tell."""
        return strangeness(self.network, self._checked(history))

    def physics_share(self, data: Trajectories | None = None) -> dict[str, dict[str, float]]:
        """How much of each equation comes from the known physics and how much from the residual.

        Root mean squares over the observed points of `data`, each trajectory with its own posterior means, and
        `share` = physics / (physics + residual), between 0 and 1; below one half it warns. Without `data`, as `fit`
        found them over a few of the trajectories that it learned from.
        """
        from greymatch.models.share import physics_share, warn_of_takeover

        shares = self._kept_share() if data is None else physics_share(self.network, self._checked(data))
        warn_of_takeover(shares, self.settings.method)
        return shares

    def _kept_share(self) -> dict[str, dict[str, float]]:
        kept = self.record.get("physics_share")
        if not kept:
            raise GreymatchError(
                "`data` must be given: this model's record holds no shares, since its file is older or no trajectory "
                "showed its first window. Write physics_share(data), or fit it again."
            )
        return copy.deepcopy(kept)

    def explain(self, data: Trajectories, degree: int = 3, among: Sequence[str] | None = None) -> Explanation:
        """What the physics was missing, as a sum of few terms; see `greymatch.explain.explain`."""
        from greymatch.explain import explain

        return explain(self, self._checked(data), degree, among)

    def save(self, path: str | Path) -> Path:
        """One .safetensors file that holds weights, scales, settings and record, and no code."""
        from greymatch.models.file import save_model

        return save_model(self, Path(path))

    def _checked(self, history: Trajectories) -> Trajectories:
        if not isinstance(history, Trajectories):
            raise GreymatchError(f"`history` must be Trajectories; got {type(history).__name__}. Use read(...).")
        if history.states != self.physics.states:
            raise GreymatchError(
                f"`history` must hold the states {list(self.physics.states)} in that order; got "
                f"{list(history.states)}. Read it with states={list(self.physics.states)}."
            )
        if history.grid != self.physics.grid:
            raise GreymatchError(
                f"`history` must have the grid axes {list(self.physics.grid)}, in that order; got {list(history.grid)}."
            )
        if tuple(history.values.shape[3:]) != self.network.shapes.grid:
            raise GreymatchError(
                f"`history` must lie on the grid {self.network.shapes.grid} that the model was trained on; "
                f"got {tuple(history.values.shape[3:])}."
            )
        names = history.inputs.names if history.inputs else ()
        if names != self.physics.inputs:
            raise GreymatchError(
                f"`history` must carry the inputs {list(self.physics.inputs)} in that order; got {list(names)}. "
                "Read it with inputs=[...]."
            )
        return replace(history.trimmed().to(self.device), noise=self.noise)

    def _check_parameters(self) -> None:
        if not self.network.physics.params:
            raise GreymatchError(
                f"there is nothing to infer: the physics of a {self.settings.method!r} model of "
                f"{self.physics.name!r} has no parameters."
            )

    def _check_refine(self, refine: bool | None) -> None:
        if refine and not self.network.askable:
            raise GreymatchError(
                f"`refine` and `whole` need a field with parameters or latents and a window of at least 4 points; this "
                f"{self.settings.method!r} model has not. Leave them out."
            )

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)

    def _identity(self, history: Trajectories, times: Tensor, drawn: tuple[object, ...]) -> str:
        """Tells whether a forecast that was begun is the one asked for."""
        from greymatch.training.run import digest, fingerprint

        told = digest({**self.network.state_dict(), "times": times})
        return " ".join([told, fingerprint(history), *(repr(value) for value in drawn)])


def _check_not_refined(refine: bool | None) -> None:
    if refine is not None:
        raise GreymatchError(
            f"`refine` must be None of what was observed already; got {refine!r}. Give it to `observe`."
        )


def _check_count(argument: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise GreymatchError(f"`{argument}` must be a whole number of at least 1; got {value!r}.")
