"""A model like those that forecasts come from, and what it is asked."""

from __future__ import annotations

from functools import cache

from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.systems import SYSTEMS
from greymatch.training.fit import fit

SYSTEM = "pendulum"
TRAJECTORIES, VALIDATION = 100, 20


@cache
def fitted(steps: int) -> GreyBox:
    """What a forecast costs hardly depends on how well it was learned: a few hundred steps are enough."""
    system = SYSTEMS[SYSTEM]
    settings = system.settings().updated({"training.minutes": None, "training.steps": steps, "training.validations": 1})
    train, validation = system.data("train", trajectories=TRAJECTORIES), system.data("val", trajectories=VALIDATION)
    return fit(system.physics, train, validation, settings=settings, quiet=True)


def asked(count: int) -> tuple[Trajectories, Tensor]:
    """Histories, and the times that follow them."""
    system = SYSTEMS[SYSTEM]
    test = system.data("test", trajectories=count)
    return test.first(system.given), test.times[0, system.given :]
