"""`Trajectories`: many recordings, each with its own times, length and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from greymatch.data.checks import check_inputs, check_observed, check_times, check_values, shown
from greymatch.data.moments import Moment, moment
from greymatch.data.signals import Function, Signals
from greymatch.data.smoothing import Smoothed, smooth
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Recordings x_i(t_ij), i = 1..N, as padded tensors with labels.

    ```python
    data = Trajectories.from_dataset(dataset, states=["angle"])   # dims trajectory, time (and grid axes)
    train, validation = data.split(0.2, seed=0)
    history = data.until(2.5)                                     # what a forecast is given
    dataset = data.to_dataset()
    ```

    `times` (N, T) increase along each row and are padded with inf; `values` (N, T, S, *grid) are 0 where
    `mask` is False. Gaps are NaN in and out of xarray. `epoch` (N,) is the date of time zero, if times were dates.
    `noise` (S,) is the standard deviation of each state's observations that is assumed, () if none is. For
    recordings larger than memory there is `Store`.
    """

    states: tuple[str, ...]
    times: Tensor
    values: Tensor
    mask: Tensor
    labels: np.ndarray
    inputs: Signals | None = None
    grid: tuple[str, ...] = ()
    grid_coords: dict[str, np.ndarray] = field(default_factory=dict)
    truth: dict[str, np.ndarray] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    epoch: np.ndarray | None = None
    noise: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_times(self.times, self.labels)
        check_values(self)
        check_inputs(self)

    @staticmethod
    def from_dataset(
        dataset: xr.Dataset,
        states: Sequence[str] | None = None,
        inputs: Sequence[str] = (),
        trajectory: str = "trajectory",
        time: str = "time",
        input_kind: str | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Trajectories:
        """Trajectories from variables over (trajectory, time, *grid); those over trajectory alone are its truth."""
        from greymatch.data.labelled import from_dataset

        return check_observed(from_dataset(dataset, states, inputs, trajectory, time, input_kind, units))

    def to_dataset(self) -> xr.Dataset:
        """Variables over (trajectory, time, *grid), gaps as NaN, with inputs and truth beside them."""
        from greymatch.data.to_labelled import to_dataset

        return to_dataset(self)

    def __len__(self) -> int:
        return self.times.shape[0]

    @property
    def lengths(self) -> Tensor:
        """Number of time points of each trajectory (N,)."""
        return self.times.isfinite().sum(1)

    @property
    def step(self) -> float:
        """Median time step; NaN when no trajectory has two points."""
        steps = self.times.diff(dim=1)
        return float(steps[steps.isfinite()].median())

    def select(self, rows: Sequence[int] | Tensor | np.ndarray | slice) -> Trajectories:
        """Some of the trajectories, in the order given."""
        index = self._index(rows)
        pick = torch.as_tensor(index, device=self.times.device)
        return replace(
            self,
            times=self.times[pick],
            values=self.values[pick],
            mask=self.mask[pick],
            labels=self.labels[index],
            inputs=self.inputs.select(pick) if self.inputs else None,
            truth={name: value[index] for name, value in self.truth.items()},
            epoch=None if self.epoch is None else self.epoch[index],
        )

    def _index(self, rows: Sequence[int] | Tensor | np.ndarray | slice) -> np.ndarray:
        if not isinstance(rows, slice):
            rows = rows.cpu().numpy() if isinstance(rows, Tensor) else np.asarray(rows)
            rows = rows if rows.size else rows.astype(int)  # an empty list says nothing of its type
        try:
            index = np.arange(len(self))[rows]
        except IndexError as error:
            raise GreymatchError(
                f"`rows` must be positions among the {len(self)} trajectories; got {rows!r}."
            ) from error
        if index.ndim != 1 or index.size == 0:
            raise GreymatchError(f"`rows` must name at least one trajectory, in a list; got {rows!r}.")
        return index

    def split(self, fraction: float, seed: int = 0) -> tuple[Trajectories, Trajectories]:
        """Two parts by trajectory; the second holds `fraction` of them, at least one."""
        if not 0 < fraction < 1:
            raise GreymatchError(f"`fraction` must lie between 0 and 1; got {fraction!r}.")
        if len(self) < 2:
            raise GreymatchError(f"`split` needs at least 2 trajectories; got {len(self)}.")
        order = np.random.default_rng(seed).permutation(len(self))
        second = min(max(1, round(fraction * len(self))), len(self) - 1)
        return self.select(np.sort(order[second:])), self.select(np.sort(order[:second]))

    def until(self, t: Moment) -> Trajectories:
        """Each trajectory up to and including time `t`: the history. Inputs stay known beyond `t`, which may be a date
        ("2024-05-01 08:00") if the times were dates."""
        last = torch.as_tensor(moment(self, t, "t"), device=self.times.device)[:, None]
        step = self.step
        # a millionth of a step forgives the rounding of 0.1 + 0.2, and keeps no later point
        kept = self.times <= (last if step != step else last + 1e-6 * step)
        if not bool(kept[:, 0].all()):
            late = shown(self.labels, int((~kept[:, 0]).nonzero()[0]))
            raise GreymatchError(f"`until({t})` leaves trajectory {late} empty; it starts later than that.")
        return self._points(int(kept.sum(1).max()), kept)

    def first(self, points: int) -> Trajectories:
        """The first `points` time points of each trajectory."""
        if not hasattr(points, "__index__") or points < 1:
            raise GreymatchError(f"`points` must be at least 1; got {points}.")
        return self._points(min(points, self.times.shape[1]), self.times.isfinite())

    def cut(self, points: int) -> Trajectories:
        """Long recordings in pieces of `points` time points each, labelled `a/1`, `a/2`, ...; the last piece also holds
        what is left over. Times and dates stay as they are; inputs are known along each piece and a few samples beyond.
        """
        from greymatch.data.cut import cut

        return cut(self, points)

    def trimmed(self) -> Trajectories:
        """Without the points after each trajectory's last observation."""
        seen = self.mask.flatten(2).any(2).int()
        kept = seen.flip(1).cummax(1).values.flip(1).bool()
        kept[:, 0] = True
        return self._points(int(kept.sum(1).max()), kept & self.times.isfinite())

    def _points(self, count: int, kept: Tensor) -> Trajectories:
        kept = kept[:, :count]
        shaped = kept.reshape(*kept.shape, *(1,) * (self.values.ndim - 2))
        return replace(
            self,
            times=self.times[:, :count].masked_fill(~kept, torch.inf),
            values=self.values[:, :count].masked_fill(~shaped, 0.0),
            mask=self.mask[:, :count] & shaped,
        )

    def with_inputs(self, inputs: Trajectories | Mapping[str, Function], kind: str | None = None) -> Trajectories:
        """The same, driven by functions u(t) of an array of times, or by what `inputs` recorded under the same labels.

        data.with_inputs({"drive": lambda t: np.sin(2 * t)})
        data.with_inputs(gm.read("valve.csv"), kind="hold")    # on times of its own; a single one serves all
        """
        from greymatch.data.driving import driven

        return driven(self, inputs, kind)

    @property
    def smooth(self) -> Smoothed | None:
        """Each trajectory by itself with its noise smoothed away; None if none is assumed."""
        return smooth(self.times, self.values, self.mask, self.noise) if self.noise else None

    def smoothed(self) -> Trajectories:
        """With the noise that is assumed smoothed away, each trajectory by itself, and none assumed any more."""
        found = self.smooth
        return self if found is None else replace(self, values=found.values.masked_fill(~self.mask, 0.0), noise=())

    def to(self, device: torch.device | str) -> Trajectories:
        moved = {name: getattr(self, name).to(device) for name in ("times", "values", "mask")}
        return replace(self, **moved, inputs=self.inputs.to(device) if self.inputs else None)

    def __repr__(self) -> str:
        return (
            f"Trajectories({len(self)} x {self._extent()} points of {', '.join(self.states)}"
            f"{self._details()}, {self._span()}{self._gaps()})"
        )

    def _extent(self) -> str:
        shortest, longest = int(self.lengths.min()), int(self.lengths.max())
        return f"{shortest}" if shortest == longest else f"{shortest}-{longest}"

    def _details(self) -> str:
        shape = f" on {'x'.join(map(str, self.values.shape[3:]))} grid" if self.grid else ""
        return shape + (f", inputs {', '.join(self.inputs.names)}" if self.inputs else "")

    def _span(self) -> str:
        finite = self.times[self.times.isfinite()]
        step = f", step {self.step:.4g}" if self.step == self.step else ""
        return f"t = {float(finite.min()):g} to {float(finite.max()):g}{step}"

    def _gaps(self) -> str:
        asked = int(self.lengths.sum()) * self.mask[0, 0].numel()
        missing = asked - int(self.mask.sum())
        return f", {100 * missing / asked:.1f} % gaps" if missing else ""
