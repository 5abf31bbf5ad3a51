"""The interpolants by name."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from functools import partial
from typing import Protocol

from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.matching.bridge import Bridge
from greymatch.matching.lagrange import Lagrange
from greymatch.matching.linear import Linear
from greymatch.matching.path import AnyPath
from greymatch.matching.spline import Spline


class Interpolant(Protocol):
    """Turns observations into paths: times (row, time), values and mask (row, time, state, *grid).

    Times end in +inf padding; values are zero, and the mask False, where nothing was observed.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, times: Tensor, values: Tensor, mask: Tensor) -> AnyPath: ...


INTERPOLANTS: dict[str, Callable[..., Interpolant]] = {
    "linear": Linear,
    "lagrange": Lagrange,
    "cubic": partial(Spline, 3),
    "quintic": partial(Spline, 5),
    "bridge": Bridge,
}
_EXAMPLES = {"lagrange": "lagrange-5", "bridge": "bridge-0.1"}


def interpolant(spec: str) -> Interpolant:
    """The interpolant called "linear", "cubic", "quintic", "lagrange-<points>" or "bridge-<sigma>".

    As in interpolant("lagrange-3"), interpolant("bridge-0.1"), interpolant("bridge-0.1,0.5")
    """
    name, dash, setting = spec.partition("-")
    if name not in INTERPOLANTS:
        known = ", ".join(_EXAMPLES.get(known, known) for known in INTERPOLANTS)
        raise GreymatchError(f"`interpolant` must be one of {known}; got {spec!r}.{did_you_mean(name, INTERPOLANTS)}")
    if bool(dash) != (name in _EXAMPLES):
        raise GreymatchError(f"`interpolant` must read like {_EXAMPLES.get(name, name)!r}; got {spec!r}.")
    return INTERPOLANTS[name](_number(spec, setting, name)) if dash else INTERPOLANTS[name]()


def _number(spec: str, setting: str, name: str) -> object:
    try:
        return literal_eval(setting)
    except (ValueError, SyntaxError):
        raise GreymatchError(f"`interpolant` must read like {_EXAMPLES[name]!r}; got {spec!r}.") from None
