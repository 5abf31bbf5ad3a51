"""`greymatch systems`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greymatch.cli.options import Json
from greymatch.cli.output import Output

if TYPE_CHECKING:
    from greymatch.systems.system import System

EXAMPLE = "Example: greymatch systems; greymatch data pendulum --out test.nc"


def command(as_json: Json = False) -> None:
    """List the built-in systems: what is known of each, and how much data it has."""
    from rich.table import Table

    from greymatch.systems import SYSTEMS

    found = [_described(system) for system in SYSTEMS.values()]
    table = Table(title="Built-in systems", title_justify="left")
    for column in ("name", "title", "known equations", "parameters", "trajectories x points", "given"):
        table.add_column(column)
    for one in found:
        sizes = "\n".join(f"{split} {count} x {points}" for split, (count, points) in one["splits"].items())
        known, parameters = "\n".join(one["known"]), "\n".join(f"{n}: {p}" for n, p in one["parameters"].items())
        table.add_row(one["name"], one["title"], known, parameters, sizes, str(one["given"]))
    output = Output(as_json=as_json)
    if not as_json:
        output.show(table)
    output.finish({"systems": found})


def _described(system: System) -> dict[str, Any]:
    from greymatch.cli.equations import equations

    return {
        "name": system.name,
        "title": system.title,
        "known": equations(system.physics),
        "truth": equations(system.truth),
        "states": list(system.physics.states),
        "parameters": {name: repr(prior) for name, prior in system.physics.params.items()},
        "splits": {name: [split.trajectories, len(split.times)] for name, split in system.splits.items()},
        "given": system.given,
        "paper_mse": system.paper_mse,
    }
