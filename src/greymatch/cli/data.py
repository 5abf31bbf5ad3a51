"""`greymatch data`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from greymatch.cli.files import ready
from greymatch.cli.options import Json, Quiet
from greymatch.cli.output import Output

EXAMPLE = "Example: greymatch data pendulum --split test --out test.nc"
SUFFIXES = (".nc", ".zarr", ".netcdf", ".h5", ".npz", ".csv", ".parquet")


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in system.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FILE", help=f"One of {', '.join(SUFFIXES)}.")],
    split: Annotated[str, typer.Option(help="train, val or test.")] = "test",
    seed: Annotated[int | None, typer.Option(help="Another seed than the split's own.")] = None,
    trajectories: Annotated[int | None, typer.Option(help="Another number than the split's own.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write simulated trajectories of a built-in system to a file."""
    from greymatch.bench.plan import system_named
    from greymatch.data.write import write

    output = Output(quiet, as_json)
    ready(out, SUFFIXES)
    data = system_named(name).data(split, seed=seed, trajectories=trajectories)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write(data, out)
    for warning in caught:
        output.note(f"warning: {warning.message}")
    output.show(repr(data), f"written to {out}")
    states, truth = list(data.states), list(data.truth)
    output.finish({"out": str(out), "split": split, "trajectories": len(data), "states": states, "truth": truth})
