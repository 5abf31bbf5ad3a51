"""`Starter`: a kind of physics to begin with, as data, and the files written from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

from greymatch.data.trajectories import Trajectories

PHYSICS = Template('''"""The known part of $title. What it misses, greymatch learns from data.

    greymatch check --physics $file --data $data
    greymatch fit --physics $file --data $data --config $name.toml --out runs/$name
"""

import greymatch as gm

# In `known`, x.$first is a tensor of many points at once, and p.$parameter broadcasts against it.
# Use torch functions (import torch; torch.sin, torch.exp ...), not math or numpy.
$preamble

def known(t, x, p):
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
$more    # inputs=["drive"],  # measured inputs: the function is then known(t, x, p, u), with u.drive
    # complete=["$first"],  # equations that miss nothing: nothing is learned there, and parameters are surer
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

    def physics(self, name: str, data: str, states: Sequence[str], grid: Sequence[str], median: float) -> str:
        """The text of NAME.py."""
        lines = [f'        "{state}": {self.equation.format(state=state)},' for state in states]
        return PHYSICS.substitute(
            title=self.title,
            file=f"{name}.py:physics",
            data=data,
            name=name,
            first=states[0],
            parameter=self.parameter,
            preamble=_spacing(grid),
            returns=self.returns,
            equations="\n".join(lines),
            states=_list(states),
            median=f"{median:.2g}",
            order=self.order,
            order_note=self.order_note,
            more=f"    grid={_list(grid)},  # axes of the data\n" if grid else "",
        )

    def settings(self) -> str:
        """The text of NAME.toml."""
        return SETTINGS.substitute()


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _spacing(grid: Sequence[str]) -> str:
    if not grid:
        return ""
    return f"\nspacing = ({', '.join('1.0' for _ in grid)},)  # between grid points, for each of {', '.join(grid)}\n"
