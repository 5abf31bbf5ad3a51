"""`evaluate`: forecasts judged by lead time, a few starts at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.clock import after
from greymatch.weather.labelled import Predictor, start_dates, unlabelled
from greymatch.weather.references import LEADS
from greymatch.weather.sums import Batch, Sums
from greymatch.weather.weights import by_cosine

_TOGETHER = 32  # starts in memory at once


def evaluate(
    predict: Predictor,
    truth: Archive,
    usual: Climatology,
    leads: Sequence[int] = LEADS,
    starts: np.ndarray | None = None,
    together: int = _TOGETHER,
) -> xr.Dataset:
    """Scores (lead, field) of a predictor over `starts`, by default all that the archive can judge.

    ```python
    parts = archive.split()
    usual = Climatology.of(parts["train"])
    scores = evaluate(persistence(parts["test"]), parts["test"], usual)
    scores["rmse"].sel(field="z500")                       # by lead
    ```

    | score | |
    |---|---|
    | `rmse_paper`, `rmse_paper_std` | mean over starts of the root of cos-weighted mean squares, and its spread |
    | `acc_paper` | one ratio pooled over starts and grid, anomalies from the mean of the truth |
    | `rmse`, `rmse_std` | WeatherBench 2's sqrt of the mean over starts, and the spread of single starts |
    | `acc`, `acc_std` | WeatherBench 2's mean of the correlations of single starts, anomalies from `usual` |
    | `mae`, `bias` | mean absolute error, mean error |
    | `rmse_map`, `bias_map` | (lead, field, lat, lon) |
    | `spectrum`, `spectrum_truth` | (lead, field, wavenumber), see `zonal_spectrum` |
    | `crps`, `spread`, `spread_skill` | of ensembles: the fair CRPS; the mean variance's root, and it over the `rmse` |

    Not for regions or single seasons: cut the archive first, by `starts`.
    """
    starts = start_dates(truth, leads) if starts is None else np.asarray(starts)
    if not len(starts):
        raise GreymatchError("`starts` must hold at least one date; got none.")
    sums, members = Sums(truth.fields["lat"].values, usual.mean), 1
    for first in range(0, len(starts), together):
        some = starts[first : first + together]
        valid = after(some, np.asarray(leads), truth.step)
        draws = unlabelled(predict(some).sel(lead=list(leads)), truth.names)
        members = draws.shape[2]
        sums.add(Batch(draws, truth.maps(valid), usual.at(valid)))
    return _labelled(_scores(sums, members), truth, leads, sums.count)


def _scores(sums: Sums, members: int) -> dict[str, np.ndarray]:
    mean = {name: values / sums.count for name, values in sums.total.items()}
    found = {
        "rmse_paper": mean["paper_root"],
        "rmse_paper_std": _spread(mean["paper_root"], mean["paper_square"]),
        "acc_paper": _pooled_correlation(mean, sums.lat),
        "rmse": np.sqrt(mean["square"]),
        "rmse_std": _spread(mean["root"], mean["square"]),
        "acc": mean["correlation"],
        "acc_std": _spread(mean["correlation"], mean["correlation_square"]),
        "mae": mean["absolute"],
        "bias": mean["error"],
        "rmse_map": np.sqrt(mean["square_map"]),
        "bias_map": mean["error_map"],
        "spectrum": mean["spectrum"],
        "spectrum_truth": mean["truth_spectrum"],
    }
    return found | (_ensemble_scores(mean, members) if members > 1 else {})


def _ensemble_scores(mean: dict[str, np.ndarray], members: int) -> dict[str, np.ndarray]:
    spread = np.sqrt(mean["variance"])
    # the mean of n members misses the truth by 1 + 1/n of their variance, were they drawn as the truth is
    skill = np.sqrt(mean["square"] / (1 + 1 / members))
    return {"crps": mean["crps"], "spread": spread, "spread_skill": spread / skill}


def _spread(mean: np.ndarray, square: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(square - mean**2, 0.0))


def _pooled_correlation(mean: dict[str, np.ndarray], lat: np.ndarray) -> np.ndarray:
    """The sums were taken about another field than the mean of the truth, C: this shifts them there."""

    def over_grid(values: np.ndarray) -> np.ndarray:
        return np.einsum("...hw,h->...", values, by_cosine(lat)) / (values.shape[-1] * len(lat))

    c, forecast = mean["truth_map"], mean["forecast_map"]
    product = mean["product"] - over_grid(c * forecast)
    forecast_power = mean["forecast_square"] - over_grid(2 * c * forecast - c**2)
    power = forecast_power * (mean["truth_square"] - over_grid(c**2))
    return np.divide(product, np.sqrt(np.maximum(power, 0)), out=np.zeros_like(power), where=power > 0)


def _labelled(found: dict[str, np.ndarray], truth: Archive, leads: Sequence[int], count: int) -> xr.Dataset:
    dims = ("lead", "field")
    more = {2: dims, 3: (*dims, "wavenumber"), 4: (*dims, "lat", "lon")}
    unit = "months" if truth.step == "month" else "hours"
    coords = {
        "lead": ("lead", list(leads), {"units": unit}),
        "field": list(truth.names),
        "lat": truth.fields["lat"].values,
        "lon": truth.fields["lon"].values,
    }
    arrays = {name: (more[values.ndim], values) for name, values in found.items()}
    return xr.Dataset(arrays, coords, {"starts": count, "simulated": int(truth.simulated)})
