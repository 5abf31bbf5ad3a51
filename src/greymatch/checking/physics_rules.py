"""What the known physics says on the data: its size, and whether its parameters do anything."""

from __future__ import annotations

import itertools

from torch import Tensor

from greymatch.checking.estimate import Estimate
from greymatch.checking.finding import Finding, warning
from greymatch.checking.points import Points

TOO_LARGE, TOO_SMALL = 30.0, 0.01
HARDLY = 1e-3
ALIKE = 0.9999
AT_THE_EDGE = 2.5  # standard deviations of the latent normal; 1 % of the prior lies beyond
KINDS = {1: "velocity", 2: "acceleration"}


def size(points: Points) -> list[Finding]:
    """Known physics of quite another size than the motion: mostly a unit."""
    kind = KINDS[points.physics.order]
    ratio = (points.size(points.known(points.drawn()).double()) / points.size(points.top).clamp_min(1e-300)).tolist()
    found = []
    for name, part in zip(points.physics.states, ratio, strict=True):
        if part > TOO_LARGE:
            what = f"with the prior's parameters the {kind} of {name!r} is {part:.3g} times that of the data"
            found.append(warning(what, "compare the units of time, states and priors"))
        elif 0 < part < TOO_SMALL:
            what = f"the known {kind} of {name!r} is {100 * part:.2g} % of the data's"
            found.append(warning(what, "compare the units of time, states and priors; noise in the data does this too"))
    return found


def movement(points: Points) -> list[Finding]:
    """Parameters that the known physics does not feel on these data cannot be inferred from them."""
    found = []
    for name, slope in zip(points.physics.free, points.slopes(points.drawn()), strict=True):
        most = float(points.size(slope).max())
        if most == 0:
            fix = f"use p.{name} in the function, fix it with gm.Fixed(value), or drop it"
            found.append(warning(f"parameter {name!r} does not move the known physics at all", fix))
        elif most < HARDLY:
            what = f"parameter {name!r} hardly moves the known physics: its prior's spread changes {100 * most:.1g} %"
            found.append(warning(what, "its posterior will be its prior; widen the prior, or fix it"))
    return found


def twins(points: Points) -> list[Finding]:
    """Two parameters that move the physics alike, such as a and b of a * b."""
    slopes = dict(zip(points.physics.free, map(points.flat, points.slopes(points.middle())), strict=True))
    return [
        warning(
            f"parameters {one!r} and {other!r} move the known physics alike: no data tell them apart",
            "keep one of them, or fix the other with gm.Fixed(value)",
        )
        for one, other in itertools.combinations(slopes, 2)
        if _alike(slopes[one], slopes[other])
    ]


def _alike(one: Tensor, other: Tensor) -> bool:
    inner = (one * other).sum(1).abs()
    size = (one.square().sum(1) * other.square().sum(1)).sqrt()
    return bool((size > 0).any()) and bool((inner[size > 0] > ALIKE * size[size > 0]).all())


def priors(points: Points, alone: Estimate, beside: Estimate) -> list[Finding]:
    """Most trajectories ask for a value at the edge of the prior, whether or not something is missing."""
    far = ((alone.eps.abs() > AT_THE_EDGE) & (beside.eps.abs() > AT_THE_EDGE)).float().mean(0).tolist()
    found = []
    for name, share in zip(points.physics.free, far, strict=True):
        if share > 0.5:
            prior = points.physics.params[name]
            low, high = prior.quantile(0.01), prior.quantile(0.99)
            found.append(
                warning(
                    f"{100 * share:.0f} % of the trajectories ask for {name!r} at or beyond the edge of its prior "
                    f"({low:.3g} to {high:.3g})",
                    "widen the prior, and compare units",
                )
            )
    return found
