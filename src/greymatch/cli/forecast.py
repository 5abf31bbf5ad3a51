"""`greymatch forecast`."""

from __future__ import annotations

from dataclasses import dataclass
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
    from greymatch.models.greybox import GreyBox

EXAMPLE = (
    "Example: greymatch forecast model.safetensors --history test.nc --until 2.5 --times 2.6:20:0.1 "
    "--out forecast.nc --plot forecast.png"
)
SUFFIXES = (".nc", ".zarr", ".netcdf", ".h5", ".npz", ".csv", ".parquet")
MOST_PANELS = 4
STREAMED = ".zarr"


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
        str | None,
        typer.Option("--to", metavar="T", help="Forecast up to this time, or date, by the history's own step."),
    ] = None,
    draws: Draws = 100,
    seed: Seed = 0,
    physics: PhysicsFile = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a .zarr store that was stopped.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help=f"Picture: {', '.join(PICTURES)}.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Forecast from the end of each history, with an ensemble of draws from the posterior."""
    if (times is None) == (to is None):
        raise GreymatchError("a forecast needs --times START:STOP:STEP or --to T, one of them.")
    ready(out, SUFFIXES, read=history)
    if resume and out.suffix != STREAMED:
        raise GreymatchError(f"`--resume` needs an --out that ends in {STREAMED}; got {str(out)!r}.")
    if plot is not None:
        ready(plot, PICTURES, "--plot")
    box = load_model(model, physics)
    recorded = columns.as_fitted(model, history).in_memory(box.physics, history)
    given = recorded if until is None else recorded.until(until)
    how = {"times": _times(times, to, given), "draws": draws, "seed": seed}
    made = _streamed(box, given, how, out, resume) if out.suffix == STREAMED else _written(box, given, how, out)
    if plot is not None:
        draw(made.first, given, recorded, plot)
    _tell(Output(quiet, as_json), made, out, plot)


@dataclass(frozen=True)
class Made:
    """A forecast that was written: its first trajectories at least, and what is to be told of all of it."""

    first: Forecast
    words: str
    trajectories: int
    failed: int


def _written(box: GreyBox, given: Trajectories, how: dict[str, Any], out: Path) -> Made:
    from greymatch.data.write import write

    forecast = box.forecast(given, **how)
    write(forecast, out)
    return Made(forecast, repr(forecast), len(forecast), forecast.failed)


def _streamed(box: GreyBox, given: Trajectories, how: dict[str, Any], out: Path, resume: bool) -> Made:
    """Member after member into the store, never all of them in memory."""
    stored = box.forecast(given, **how, out=out, resume=resume)
    return Made(stored.first(MOST_PANELS), repr(stored), len(stored), stored.failed)


def _times(times: str | None, to: str | None, history: Trajectories) -> np.ndarray:
    from greymatch.cli.times import parse_times, times_to

    return parse_times(times) if times is not None else times_to(history, to or 0.0)


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
            ax = forecast.plot(row, state, truth=recorded, history=history, ax=axes[row, column])
            ax.get_legend().remove()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _tell(output: Output, made: Made, out: Path, plot: Path | None) -> None:
    forecast = made.first
    lead = forecast.lead[forecast.times.isfinite()]
    output.show(made.words, f"written to {out}" + (f"; picture: {plot}" if plot else ""))
    result: dict[str, Any] = {
        "out": str(out),
        "plot": str(plot) if plot else None,
        "draws": len(forecast.draws),
        "trajectories": made.trajectories,
        "times": forecast.times.shape[1],
        "states": list(forecast.states),
        "lead": [float(lead.min()), float(lead.max())],
        "failed": made.failed,
    }
    output.finish(result)
