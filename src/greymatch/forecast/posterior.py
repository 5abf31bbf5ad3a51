"""`Posterior`: the inferred parameters of each trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.forecast import ensemble
from greymatch.forecast.digits import interval_digits
from greymatch.forecast.forecast import check_level

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws theta_d ~ q(theta | history_i), d = 1..D, in physical units, for each trajectory i = 1..N.

    ```python
    posterior = model.infer(history)
    print(posterior)                            # mean and 90 % interval, per trajectory
    posterior.interval(0.9)["omega"].sel(bound="low")
    posterior.rmse(test.truth)                  # where the truth is known
    ```

    `draws` are (D, N, P), one column for each of `names`, fixed parameters included. `prior` may hold the
    prior's (mean, standard deviation) by name, to see what was learned.

    Not for what the residual learned: a parameter that the physics does not name is not inferred.
    """

    names: tuple[str, ...]
    draws: Tensor
    labels: np.ndarray
    prior: Mapping[str, tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        wanted = (len(self.labels), len(self.names))
        if self.draws.ndim != 3 or tuple(self.draws.shape[1:]) != wanted or not len(self.draws):
            raise GreymatchError(
                f"`draws` must be (draw, trajectory, parameter) = {('D', *wanted)}, with at least one draw; "
                f"got {tuple(self.draws.shape)}."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def mean(self) -> xr.Dataset:
        """Posterior mean by parameter name over trajectory."""
        return self._dataset(ensemble.mean(self.draws))

    def std(self) -> xr.Dataset:
        """Posterior standard deviation (unbiased); NaN for a single draw."""
        return self._dataset(ensemble.variance(self.draws).sqrt())

    def median(self) -> xr.Dataset:
        return self._dataset(ensemble.quantile(self.draws, torch.tensor([0.5]))[0])

    def interval(self, level: float = 0.9) -> xr.Dataset:
        """Bounds of the central share `level`, over (trajectory, bound) with bound "low" and "high"."""
        bounds = self._bounds(level).movedim(0, 1)
        return self._dataset(bounds, ("trajectory", "bound"), {"bound": ["low", "high"]})

    def to_dataset(self) -> xr.Dataset:
        """Every draw, by parameter name over (draw, trajectory)."""
        return self._dataset(self.draws, ("draw", "trajectory"), {"draw": np.arange(len(self.draws))})

    def rmse(self, truth: Mapping[str, ArrayLike]) -> dict[str, float]:
        """Root mean square error of the posterior mean over the trajectories, for the parameters in `truth`."""
        mean = ensemble.mean(self.draws.double())
        return self._judge(truth, lambda i, true: (mean[:, i] - true).square().mean().sqrt())

    def coverage(self, truth: Mapping[str, ArrayLike], level: float = 0.9) -> dict[str, float]:
        """Share of the trajectories whose true parameter lies in the central interval of that level."""
        check_level(level)
        draws = self.draws.double()
        return self._judge(truth, lambda i, true: ensemble.covered(draws[..., i], true, level).mean())

    def _bounds(self, level: float) -> Tensor:
        check_level(level)
        levels = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
        return ensemble.quantile(self.draws, levels)

    def _judge(self, truth: Mapping[str, ArrayLike], how: Callable[[int, Tensor], Tensor]) -> dict[str, float]:
        known = [name for name in self.names if name in truth]
        if not known:
            raise GreymatchError(
                f"`truth` must hold at least one of the parameters {list(self.names)}; got {list(truth)}."
            )
        return {name: float(how(self.names.index(name), self._true(name, truth[name]))) for name in known}

    def _true(self, name: str, values: ArrayLike) -> Tensor:
        # in the precision of the draws, so that a fixed parameter is equal to its truth
        true = torch.as_tensor(np.array(values, dtype=np.float64)).to(self.draws).double()
        if true.shape not in ((), (len(self),)):
            raise GreymatchError(
                f"`truth` must hold one value of {name!r} for each of the {len(self)} trajectories; "
                f"got shape {tuple(true.shape)}. Select the same trajectories."
            )
        return true

    def _dataset(
        self, values: Tensor, dims: tuple[str, ...] = ("trajectory",), coords: dict[str, ArrayLike] | None = None
    ) -> xr.Dataset:
        array = values.detach().cpu().numpy()
        variables = {name: (dims, array[..., i]) for i, name in enumerate(self.names)}
        return xr.Dataset(variables, {"trajectory": self.labels, **(coords or {})})

    def __str__(self) -> str:
        names = ", ".join(self.names) or "no parameters"
        head = f"Posterior of {names} ({len(self.draws)} draws): mean [90 % interval]"
        rows = [["trajectory", *self.names], *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        more = [f"... {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join(line.rstrip() for line in [head, *lines, *more])

    __repr__ = __str__

    def _rows(self) -> list[list[str]]:
        mean, (low, high) = ensemble.mean(self.draws), self._bounds(0.9)
        rows = [
            [str(self.labels[i]), *(_cell(mean[i, j], low[i, j], high[i, j]) for j in range(len(self.names)))]
            for i in range(min(len(self), _SHOWN))
        ]
        prior = self.prior or {}
        means = [f"{prior[name][0]:.4g} +- {prior[name][1]:.2g}" if name in prior else "" for name in self.names]
        return [["prior", *means], *rows] if prior else rows


def _cell(mean: Tensor, low: Tensor, high: Tensor) -> str:
    middle, *bounds = (float(one) for one in (mean, low, high))
    digits = interval_digits(*bounds)
    return f"{middle:.{digits}g} [{', '.join(f'{bound:.{digits}g}' for bound in bounds)}]"
