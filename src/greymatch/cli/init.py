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

LOOKED_AT = 64  # trajectories, for the size of a rate
STILL = 1e-12
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
    words = ["--physics", f"{name}.py:physics", "--data", str(used), *Source(columns=columns).words()]
    text = _physics(starter, name, shlex.join(words), recorded)
    texts = {Path(f"{name}.py"): text, Path(f"{name}.toml"): starter.settings()}
    _check_free([*texts, *([used] if example else [])])
    for path, content in texts.items():
        write_bytes(path, content.encode())
    if example:
        _write_example(starter, used)
    _tell(Output(quiet, as_json), [*map(str, texts), *([str(used)] if example else [])], words)


def _starter(kind: str) -> Starter:
    from greymatch.starters.kinds import STARTERS

    if kind not in STARTERS:
        raise GreymatchError(f"`--kind` must be one of {list(STARTERS)}; got {kind!r}.{did_you_mean(kind, STARTERS)}")
    return STARTERS[kind]


def _physics(starter: Starter, name: str, words: str, recorded: Trajectories | None) -> str:
    from greymatch.starters.starter import Subject

    if not Path(name).name.isidentifier():
        raise GreymatchError(f"NAME must be a name as Python has them, such as my_pendulum; got {name!r}.")
    if recorded is None:
        return starter.physics(name, words, starter.subject(), starter.median)
    if bool(recorded.grid) != bool(starter.grid):
        wanted = "first or second" if starter.grid else "field"
        raise GreymatchError(
            f"`--kind {starter.kind}` does not suit data with grid axes {list(recorded.grid)}. Use --kind {wanted}."
        )
    subject = Subject.of(recorded)
    return starter.physics(name, words, subject, rate(recorded, starter.order, tuple(subject.spacing.values())))


def rate(data: Trajectories, order: int, spacing: tuple[float, ...] = ()) -> float:
    """The size of the highest derivative beside that of the states, or of a field's Laplacian: where a prior may well
    begin. Noise is smoothed away, since derivatives make it larger."""
    import torch

    from greymatch.data.noise import assumed_noise, with_noise
    from greymatch.data.scaling import Scales
    from greymatch.matching.interpolants import interpolant
    from greymatch.physics.operators import laplacian

    data = data.select(slice(LOOKED_AT))
    data = with_noise(assumed_noise("auto", data), data)[0].smoothed()
    scales = Scales.of(data, interpolant("cubic")(data.times, data.values, data.mask))
    size = scales.spread
    if spacing:
        bent = laplacian(data.values.double(), spacing, "neumann").movedim(2, 0)
        whole = data.mask.flatten(3).all(3).movedim(2, 0)  # frames without a gap, which would look like a peak
        size = torch.stack([one[seen].square().mean().sqrt() for one, seen in zip(bent, whole, strict=True)])
    return float((scales.top(order) / size.clamp_min(STILL)).median())


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
