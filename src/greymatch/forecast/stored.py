"""A forecast that lies in a Zarr store, and may be larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from greymatch.forecast.forecast import Forecast


@dataclass(frozen=True)
class StoredForecast:
    """Draws x_d(t_ij) in the store at `path`, of which `failed` members could not be solved to the end.

    ```python
    stored = model.forecast(history, times, draws=1000, out="store.zarr")
    stored.dataset()["angle"].mean("draw").compute()     # read chunk by chunk
    stored.first(4).plot(trajectory=0)
    ```

    Not to be read whole where it does not fit in memory: `Forecast.read(path)` does that.
    """

    path: Path
    draws: int
    trajectories: int
    failed: int

    def __repr__(self) -> str:
        members = self.draws * self.trajectories
        return (
            f"StoredForecast({self.draws} draws x {self.trajectories} trajectories in {str(self.path)!r}, "
            f"{self.failed} of {members} members failed)"
        )

    def __len__(self) -> int:
        return self.trajectories

    def dataset(self) -> xr.Dataset:
        """Every draw, as `Forecast.to_dataset` gives it, but lazily."""
        import xarray as xr

        return xr.open_zarr(self.path, decode_timedelta=False)

    def first(self, count: int) -> Forecast:
        """The first trajectories, in memory."""
        from greymatch.forecast.forecast import Forecast

        return Forecast.from_dataset(self.dataset().isel(trajectory=np.arange(min(count, len(self)))).load())

    def read(self) -> Forecast:
        """All of it, in memory."""
        return self.first(len(self))
