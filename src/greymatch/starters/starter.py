"""`Starter`: a kind of physics to begin with, as data, and the files written from it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import numpy as np

from greymatch.data.trajectories import Trajectories

PHYSICS = Template('''"""The known part of $title. What it misses, greymatch learns from data.

    greymatch check $words
    greymatch fit $words --config $settings --out runs/$name
"""

import greymatch as gm

# In `known`, x.$first is a tensor of many points at once, and p.$parameter broadcasts against it.$given
# Use torch functions (import torch; torch.sin, torch.exp ...), not math or numpy.
$preamble

def known($arguments):
    """$returns"""
    return {
$equations
    }


physics = gm.Physics(
    known,
    states=$states,  # columns, or variables, of the data
    params={
        # what you do not know, with the range you believe in: gm.Uniform(low, high), gm.Normal(mean, std),
        # gm.LogNormal(median, log_std); a plain number is known and not inferred
        "$parameter": gm.LogNormal($median, 0.7),
    },
    order=$order,  # $order_note
$more    # complete=["$first"],  # equations that miss nothing: nothing is learned there, and parameters are surer
)
''')

SETTINGS = Template("""# Settings of a fit. All may be left out: what is not said is chosen from the data, and shown.
# `greymatch settings` lists every one; greymatch fit ... --set KEY=VALUE overrules this file.

# window = 26              # points of a history that a forecast starts from

[training]
minutes = 3.0
seed = 0

[encoder]
latents = 2                # numbers in which trajectories may differ, beside the parameters

# [residual]
# kind = "polynomial"      # of a missing part that must hold beyond what was seen; else a net
# degree = 3

# [matching]
# horizon = 5.0            # how far beyond a history to learn, in units of time
""")


@dataclass(frozen=True)
class Subject:
    """What a starter is about: the names of states and inputs, and the spacing along each axis of a grid."""

    states: Sequence[str]
    inputs: Sequence[str] = ()
    spacing: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(data: Trajectories) -> Subject:
        inputs = data.inputs.names if data.inputs else ()
        return Subject(data.states, inputs, {axis: _step(data.grid_coords.get(axis)) for axis in data.grid})


@dataclass(frozen=True)
class Starter:
    """What differs between kinds: the equation of one state, the words about it, and recordings to try it on."""

    kind: str
    title: str
    states: tuple[str, ...]
    order: int
    parameter: str
    median: float
    equation: str
    returns: str
    order_note: str
    example: Callable[[int], Trajectories]
    suffix: str = ".csv"
    grid: tuple[str, ...] = ()

    def subject(self) -> Subject:
        """Of its own example."""
        return Subject(self.states, spacing=dict.fromkeys(self.grid, 1.0))

    def physics(self, name: str, words: str, subject: Subject, median: float) -> str:
        """The text of NAME.py, which `words` on the command line say how to use; NAME may be in a folder."""
        states, grid, inputs = subject.states, subject.spacing, subject.inputs
        lines = [f'        "{state}": {self.equation.format(state=state)},' for state in states]
        return PHYSICS.substitute(
            title=self.title,
            words=words,
            settings=shlex.quote(f"{name}.toml"),
            name=Path(name).name,
            first=states[0],
            parameter=self.parameter,
            given=f" So does u.{inputs[0]}, an input." if inputs else "",
            preamble=_spacing(grid),
            arguments="t, x, p, u" if inputs else "t, x, p",
            returns=self.returns,
            equations="\n".join(lines),
            states=_list(states),
            median=f"{median:.2g}",
            order=self.order,
            order_note=self.order_note,
            more=(f"    grid={_list([*grid])},  # axes of the data\n" if grid else "") + _inputs(inputs),
        )

    def settings(self) -> str:
        """The text of NAME.toml."""
        return SETTINGS.substitute()


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _inputs(names: Sequence[str]) -> str:
    if names:
        return f"    inputs={_list(names)},  # measured: u.{names[0]} in the function\n"
    return '    # inputs=["drive"],  # measured inputs: the function is then known(t, x, p, u), with u.drive\n'


def _spacing(grid: Mapping[str, float]) -> str:
    if not grid:
        return ""
    steps = ", ".join(f"{step:.6g}" for step in grid.values())
    return f"\nspacing = ({steps}{',' * (len(grid) == 1)})  # between grid points, for each of {', '.join(grid)}\n"


def _step(coords: np.ndarray | None) -> float:
    """Between neighbours on an axis; 1 where their places are not told in numbers."""
    if coords is None or coords.dtype.kind not in "iuf" or len(coords) < 2:
        return 1.0
    step = float(np.median(np.abs(np.diff(coords.astype(float)))))
    return step if step > 0 else 1.0
