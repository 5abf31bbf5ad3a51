"""The path through observed trajectories that a fit matches."""

from __future__ import annotations

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.matching.interpolants import interpolant
from greymatch.matching.path import AnyPath
from greymatch.settings import Settings


def interpolated(data: Trajectories, settings: Settings, order: int) -> AnyPath:
    """The path through the observations, their noise smoothed away, that the settings ask for; fit for the order."""
    data = data.smoothed()
    path = interpolant(settings.matching.interpolant)(data.times, data.values, data.mask)
    if path.degree < order:
        raise GreymatchError(
            f"`matching.interpolant` = {settings.matching.interpolant!r} has no acceleration to match, which physics "
            "of order 2 needs. Use lagrange-3 or higher, cubic or quintic."
        )
    return path
