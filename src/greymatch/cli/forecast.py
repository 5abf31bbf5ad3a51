"""`greymatch forecast`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.columns import Columns
from greymatch.cli.files import PICTURES, load_model, ready
from greymatch.cli.options import (
    Draws,
    History,
    Json,
    Model,
    PhysicsFile,
    Quiet,
    Seed,
    Until,
)
from greymatch.cli.output import Output
from greymatch.cli.spread import spread
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    import numpy as np

    from greymatch.data.trajectories import Trajectories
    from greymatch.forecast.forecast import Forecast

EXAMPLE = (
    "Example: greymatch forecast model.safetensors --history test.nc --until 2.5 --times 2.6:20:0.1 "
    "--out forecast.nc --plot forecast.png"
)
SUFFIXES = (".nc", ".zarr", ".netcdf", ".h5", ".npz", ".csv", ".parquet")
MOST_PANELS = 4


@spread
def command(
    model: Model,
    columns: Columns,
    history: History,
    out: Annotated[Path, typer.Option(metavar="FILE", help=f"Where the draws go: {', '.join(SUFFIXES)}.")],
    until: Until = None,
    times: Annotated[
        str | None, typer.Option(metavar="START:STOP:STEP", help="Times to forecast, both ends included.")
    ] = None,
    to: Annotated[
        float | None, typer.Option("--to", metavar="T", help="Forecast up to this time, by the history's own step.")
    ] = None,
    draws: Draws = 100,
    seed: Seed = 0,
    physics: PhysicsFile = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help=f"Picture: {', '.join(PICTURES)}.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Forecast from the end of each history, with an ensemble of draws from the posterior."""
    from greymatch.data.write import write

    if (times is None) == (to is None):
        raise GreymatchError("a forecast needs --times START:STOP:STEP or --to T, one of them.")
    ready(out, SUFFIXES)
    if plot is not None:
        ready(plot, PICTURES, "--plot")
    box = load_model(model, physics)
    recorded = columns.as_fitted(model, history).in_memory(box.physics, history)
    given = recorded if until is None else recorded.until(until)
    forecast = box.forecast(given, _times(times, to, given), draws=draws, seed=seed)
    write(forecast, out)
    if plot is not None:
        draw(forecast, given, recorded, plot)
    _tell(Output(quiet, as_json), forecast, out, plot)


def _times(times: str | None, to: float | None, history: Trajectories) -> np.ndarray:
    from greymatch.cli.times import parse_times, times_to

    return parse_times(times) if times is not None else times_to(history, float(to or 0.0))


def draw(forecast: Forecast, history: Trajectories, recorded: Trajectories, path: Path) -> None:
    """The first few trajectories, one row each, and the first few states, one column each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows, states = min(MOST_PANELS, len(forecast)), forecast.states[:MOST_PANELS]
    size = (6.0 * len(states) + 1, 2.6 * rows + 0.4)
    figure, axes = plt.subplots(rows, len(states), figsize=size, squeeze=False, layout="constrained")
    for row in range(rows):
        for column, state in enumerate(states):
            forecast.plot(row, state, truth=recorded, history=history, ax=axes[row, column])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _tell(output: Output, forecast: Forecast, out: Path, plot: Path | None) -> None:
    lead = forecast.lead[forecast.times.isfinite()]
    output.show(repr(forecast), f"written to {out}" + (f"; picture: {plot}" if plot else ""))
    result: dict[str, Any] = {
        "out": str(out),
        "plot": str(plot) if plot else None,
        "draws": len(forecast.draws),
        "trajectories": len(forecast),
        "times": forecast.times.shape[1],
        "states": list(forecast.states),
        "lead": [float(lead.min()), float(lead.max())],
        "failed": forecast.failed,
    }
    output.finish(result)
