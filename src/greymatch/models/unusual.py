"""Is this history like those the model knows? If not, neither its forecasts nor its parameters mean much."""

from __future__ import annotations

import warnings

import numpy as np
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network

FAR = 3.0  # times what hardly a known window exceeds
NAMED = 5


class UnusualHistoryWarning(UserWarning):
    """A history moves in a way that the model cannot explain by any parameters and latents."""


def strangeness(network: Network, history: Trajectories, own: Laplace | None = None) -> np.ndarray:
    """How badly the model explains the end of each history (N,), in units of its worst on the data it knows.

    Up to 1 is usual. NaN where it cannot be told. `own` is what was found of the windows, if they were asked.
    """
    if not network.askable or not bool(network.usual):
        return np.full(len(history), np.nan)
    with torch.no_grad():
        own = own or network.observe(history, refine=True).own
    assert own is not None, "who can be asked gives a law"
    return (own.misfit / network.usual).cpu().double().numpy()


def warn_of_unusual(network: Network, history: Trajectories, own: Laplace | None) -> None:
    """Warn, once for all, of histories far outside of what the model knows."""
    found = strangeness(network, history, own)
    far = np.flatnonzero(found > FAR)
    if not len(far):
        return
    named = ", ".join(str(history.labels[row]) for row in far[:NAMED]) + ", ..." * (len(far) > NAMED)
    warnings.warn(
        f"{len(far)} of {len(found)} histories (trajectory {named}) move in a way that the model cannot explain: up to "
        f"{found[far].max():.0f} times worse than what it was fitted to. Do not trust what it says of them.",
        UnusualHistoryWarning,
        stacklevel=3,
    )
