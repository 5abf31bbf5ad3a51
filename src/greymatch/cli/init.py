"""`greymatch init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greymatch.cli.columns import Columns
from greymatch.cli.files import folder
from greymatch.cli.options import Json, Quiet
from greymatch.cli.output import Output
from greymatch.cli.source import Source
from greymatch.cli.spread import spread
from greymatch.errors import GreymatchError, did_you_mean

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.starters.starter import Starter

EXAMPLE = "Examples:\n\ngreymatch init swing --kind second --data swings.csv\n\ngreymatch init --example"


@spread
def command(
    columns: Columns,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the files: NAME.py and NAME.toml.")] = "my_physics",
    kind: Annotated[
        str, typer.Option(help="first (order), second (order: accelerations) or field (on a grid).")
    ] = "first",
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your recordings, whose names the starter is to use.")
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Write recordings to try it on, too.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a commented physics file to begin with, and its settings; nothing is written over."""
    from greymatch.files import write_bytes

    starter = _starter(kind)
    if example and data is not None:
        raise GreymatchError("`--example` writes recordings of its own; leave out --data or --example.")
    recorded = None if data is None else columns.in_memory(None, data)
    used = data or Path(f"{name}{starter.suffix}")
    texts = {Path(f"{name}.py"): _physics(starter, name, used, recorded), Path(f"{name}.toml"): starter.settings()}
    _check_free([*texts, *([used] if example else [])])
    for path, text in texts.items():
        write_bytes(path, text.encode())
    if example:
        _write_example(starter, used)
    words = ["--physics", f"{name}.py:physics", "--data", str(used)]
    words += Source(columns=columns).words()
    _tell(Output(quiet, as_json), [*map(str, texts), *([str(used)] if example else [])], words)


def _starter(kind: str) -> Starter:
    from greymatch.starters.kinds import STARTERS

    if kind not in STARTERS:
        raise GreymatchError(f"`--kind` must be one of {list(STARTERS)}; got {kind!r}.{did_you_mean(kind, STARTERS)}")
    return STARTERS[kind]


def _physics(starter: Starter, name: str, used: Path, recorded: Trajectories | None) -> str:
    stem = Path(name).name
    if not stem.isidentifier():
        raise GreymatchError(f"NAME must be a name as Python has them, such as my_pendulum; got {name!r}.")
    if recorded is None:
        return starter.physics(stem, used.name, starter.states, starter.grid, starter.median)
    if bool(recorded.grid) != bool(starter.grid):
        wanted = "first or second" if starter.grid else "field"
        raise GreymatchError(
            f"`--kind {starter.kind}` does not suit data with grid axes {list(recorded.grid)}. Use --kind {wanted}."
        )
    return starter.physics(stem, str(used), recorded.states, recorded.grid, rate(recorded, starter.order))


def rate(data: Trajectories, order: int) -> float:
    """The size of the highest derivative beside that of the states, where a prior may well begin."""
    from greymatch.data.scaling import Scales
    from greymatch.matching.interpolants import interpolant

    scales = Scales.of(data, interpolant("cubic")(data.times, data.values, data.mask))
    return float((scales.top(order) / scales.spread).median())


def _check_free(paths: list[Path]) -> None:
    """Nothing is written over, and everything can be written, before anything is."""
    for path in paths:
        if path.exists():
            raise GreymatchError(f"{str(path)!r} is there already, and is not written over. Choose another NAME.")
    folder(paths[0].parent, "NAME")


def _write_example(starter: Starter, path: Path) -> None:
    from greymatch.data.write import write

    write(starter.example(0), path)


def _tell(output: Output, written: list[str], words: list[str]) -> None:
    following = shlex.join(["greymatch", "check", *words])
    output.show(f"written: {', '.join(written)}\n\nNext:\n  {following}")
    output.finish({"written": written, "next": following})
