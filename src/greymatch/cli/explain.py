"""`greymatch explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greymatch.cli.columns import Columns
from greymatch.cli.files import load_model, ready
from greymatch.cli.options import Json, Model, PhysicsFile, Quiet
from greymatch.cli.output import Output
from greymatch.cli.spread import spread

if TYPE_CHECKING:
    from greymatch.explain import Explanation

EXAMPLE = "Example: greymatch explain model.safetensors --data train.nc --out missing.json"
REFIT = "To forecast and infer with these terms and no net: model.explain(data).refit(data) in Python."


@spread
def command(
    model: Model,
    columns: Columns,
    data: Annotated[Path, typer.Option(help="Data file with whole trajectories, such as the model was fitted to.")],
    degree: Annotated[int, typer.Option(min=1, help="Highest degree of a term.")] = 3,
    among: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What the missing part may depend on, with commas between.")
    ] = None,
    physics: PhysicsFile = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The terms and their coefficients (.json).")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what the physics was missing, as a sum of few terms with the coefficients of each trajectory."""
    from greymatch.bench.result import plain
    from greymatch.files import write_json

    if out is not None:
        ready(out, (".json",))
    box = load_model(model, physics)
    names = [name.strip() for name in among.split(",")] if among else None
    found = box.explain(columns.as_fitted(model, data).in_memory(box.physics, data), degree, names)
    told = tree(found)
    if out is not None:
        write_json(out, plain(told))
    output = Output(quiet, as_json)
    output.show(str(found), *([REFIT] if any(found.missing.values()) else []), *([f"written to {out}"] if out else []))
    output.finish(told)


def tree(found: Explanation) -> dict[str, Any]:
    """By equation: its terms with median, spread between trajectories and all coefficients, and the fidelity."""
    return {
        state: {
            "fidelity": found.fidelity[state] if terms else None,
            "residual_ignored": found.ignored[state],
            "terms": [
                {
                    "term": one.term.text,
                    "median": one.middle,
                    "spread": one.spread,
                    "follows": one.follows[0] if one.follows else None,
                    "coefficients": one.values.tolist(),
                }
                for one in terms
            ],
        }
        for state, terms in found.missing.items()
    }
