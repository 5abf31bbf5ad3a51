"""Is this history like those the model knows? If not, neither its forecasts nor its parameters mean much."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import last_window
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network

FAR = 3.0  # times what hardly a known window exceeds
BEYOND = 0.5  # widths of the range seen
NAMED = 5
CALLER = 4  # of the model's verb, which looks by one function


class UnusualHistoryWarning(UserWarning):
    """A history moves in a way that the model cannot explain by any parameters and latents."""


def strangeness(network: Network, history: Trajectories, own: Laplace | None = None) -> np.ndarray:
    """How badly the model explains the end of each history (N,), in units of its worst on the data it knows.

    Up to 1 is usual. NaN where it cannot be told. `own` is what was found of the windows, if they were asked.
    """
    if not network.askable or not bool(network.usual):
        return np.full(len(history), np.nan)
    with torch.no_grad():
        misfit = own.misfit if own else _misfit(network, history)
    return (misfit / network.usual).cpu().double().numpy()


def _misfit(network: Network, history: Trajectories) -> Tensor:
    """Of the end of each history (N,), as far as a window reaches."""
    fitting = network.fitting_windows(history, refine=True)
    found = [network.misfit(last_window(history.select(rows), length)) for length, rows in fitting]
    return torch.cat(found)[torch.cat([rows for _, rows in fitting]).argsort()]


def warn_of_unusual(network: Network, history: Trajectories, own: Laplace | None) -> None:
    """Warn, once for all, of histories far outside of what the model knows."""
    found = strangeness(network, history, own)
    far = np.flatnonzero(found > FAR)
    if not len(far):
        return
    warnings.warn(
        f"{_named(history, far)} move in a way that the model cannot explain: up to {found[far].max():.0f} times worse "
        "than what it was fitted to. Do not trust what it says of them.",
        UnusualHistoryWarning,
        stacklevel=CALLER,
    )


def seen_range(*data: Trajectories) -> dict[str, list[float]]:
    """The smallest and the largest value observed of each state; a state never observed is left out."""
    found = {}
    for index, name in enumerate(data[0].states):
        values = torch.cat([some.values[:, :, index][some.mask[:, :, index]] for some in data])
        if len(values):
            found[name] = [float(values.min()), float(values.max())]
    return found


def warn_of_range(seen: Mapping[str, Sequence[float]], history: Trajectories) -> None:
    """Warn of histories that leave the range `seen` by more than half its width: the field was not learned there."""
    for name, (low, high) in seen.items():
        values, mask = (part[:, :, history.states.index(name)].flatten(1) for part in (history.values, history.mask))
        over = torch.maximum(values - high, low - values).masked_fill(~mask, -torch.inf).amax(1)
        out = np.flatnonzero((over > BEYOND * (high - low)).cpu().numpy())
        if len(out):
            warnings.warn(
                f"{_named(history, out)} go far beyond what the model was fitted to: {name} lies up to "
                f"{float(over.max()):.3g} outside of {low:.3g} to {high:.3g}. What it says of them is a guess.",
                UnusualHistoryWarning,
                stacklevel=CALLER,
            )


def _named(history: Trajectories, rows: np.ndarray) -> str:
    """How many histories these are, and some of their labels."""
    labels = ", ".join(str(history.labels[row]) for row in rows[:NAMED]) + ", ..." * (len(rows) > NAMED)
    return f"{len(rows)} of {len(history)} histories (trajectory {labels})"
