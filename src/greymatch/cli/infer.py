"""`greymatch infer`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.columns import Columns
from greymatch.cli.files import load_model, ready
from greymatch.cli.options import History, Json, Model, PhysicsFile, Quiet, Seed, Until
from greymatch.cli.output import Output
from greymatch.cli.spread import spread

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from greymatch.forecast.posterior import Posterior

EXAMPLE = "Example: greymatch infer model.safetensors --history test.nc --until 2.5 --out posterior.csv"
TABLES, DRAWS = (".csv", ".parquet"), (".nc", ".netcdf", ".h5", ".zarr")
SHOWN = 20


@spread
def command(
    model: Model,
    columns: Columns,
    history: History,
    until: Until = None,
    level: Annotated[float, typer.Option(help="Share of the posterior within the interval.")] = 0.9,
    draws: Annotated[int, typer.Option(min=2, help="Draws from the posterior.")] = 1000,
    seed: Seed = 0,
    physics: PhysicsFile = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Means and intervals ({', '.join(TABLES)}) or draws ({', '.join(DRAWS)})."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Infer the parameters of the known physics for each trajectory, with intervals."""
    from greymatch.forecast.forecast import check_level

    check_level(level)
    if out is not None:
        ready(out, TABLES + DRAWS, read=history)
    box = load_model(model, physics)
    recorded = columns.as_fitted(model, history).in_memory(box.physics, history)
    posterior = box.infer(recorded if until is None else recorded.until(until), draws=draws, seed=seed)
    found = summary(posterior, level)
    if out is not None:
        save(posterior, found, out)
    output = Output(quiet, as_json)
    output.show(_table(found, posterior, level), *([f"written to {out}"] if out else []))
    output.finish(_tree(found, level, out))


def summary(posterior: Posterior, level: float) -> pd.DataFrame:
    """One row for each trajectory and parameter: mean, standard deviation and interval."""
    import pandas as pd

    mean, std, interval = posterior.mean(), posterior.std(), posterior.interval(level)
    parts = [
        pd.DataFrame(
            {
                "trajectory": posterior.labels,
                "parameter": name,
                "mean": mean[name].values,
                "std": std[name].values,
                "low": interval[name].sel(bound="low").values,
                "high": interval[name].sel(bound="high").values,
            }
        )
        for name in posterior.names
    ]
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def save(posterior: Posterior, found: pd.DataFrame, path: Path) -> None:
    from greymatch.data.write import write
    from greymatch.files import write_bytes

    suffix = path.suffix.lower()
    if suffix in DRAWS:
        write(posterior, path)
    elif suffix == ".csv":
        write_bytes(path, found.to_csv(index=False).encode())
    else:
        write_bytes(path, found.to_parquet(index=False))


def _table(found: pd.DataFrame, posterior: Posterior, level: float) -> Table:
    from rich.table import Table

    more = f"; the first {SHOWN} of {len(posterior)}" if len(posterior) > SHOWN else ""
    table = Table(title=f"Mean and {100 * level:g} % interval{more}", title_justify="left")
    for name in ("trajectory", "parameter", "mean", "low", "high"):
        table.add_column(name, justify="left" if name in ("trajectory", "parameter") else "right")
    for row in found.head(SHOWN * len(posterior.names)).to_dict("records"):
        numbers = (f"{row[name]:.4g}" for name in ("mean", "low", "high"))
        table.add_row(str(row["trajectory"]), row["parameter"], *numbers)
    return table


def _tree(found: pd.DataFrame, level: float, out: Path | None) -> dict[str, Any]:
    return {"level": level, "out": str(out) if out else None, "posterior": found.to_dict("records")}
