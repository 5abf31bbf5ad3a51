"""Histories and what a model made of them, so that it is found once for all that is asked."""

from __future__ import annotations

from dataclasses import dataclass

from greymatch.data.trajectories import Trajectories
from greymatch.models.network import Network
from greymatch.models.sight import Sight


@dataclass(frozen=True, eq=False)
class Seen:
    """What `network` knows of the end of each `history`: features and, where windows are asked, their own posteriors.

    ```python
    seen = model.observe(history)               # takes most of the time where windows are fields
    forecast = model.forecast(seen, times)      # as model.forecast(history, times)
    posterior = model.infer(seen)
    ```

    Not for another model, nor for the same one after its weights have changed: it has to look itself.
    """

    network: Network
    history: Trajectories
    sight: Sight

    def __len__(self) -> int:
        return len(self.history)
