"""The variants of an ablation, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Variant:
    """One thing changed.

    `steps_ahead` limits matching to so many sampling steps beyond the window; `grids` says that only fields differ.
    """

    label: str
    part: str
    meaning: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    method: str = "vgb-dm"
    steps_ahead: int | None = None
    grids: bool = False


WHOLE = Variant("whole", "", "vgb-dm as it is")
# A law that the beginning finds is exact before any training, which hides what the other parts are worth.
NET = Variant("net", "beginning", "none, nor products: a net alone", {"residual.products": 0})


def _of_net(label: str, part: str, meaning: str, changes: Mapping[str, Any] | None = None, **more: Any) -> Variant:
    return Variant(label, part, meaning, {**NET.changes, **(changes or {})}, **more)


def _interpolant(spec: str) -> Variant:
    return _of_net(spec, "interpolant", spec, {"matching.interpolant": spec})


VARIANTS = (
    WHOLE,
    NET,
    *(_interpolant(spec) for spec in ("linear", "lagrange-3", "cubic", "quintic")),
    _of_net("next-step", "future matching", "the next step alone", steps_ahead=1),
    _of_net("unstructured", "posterior", "theta does not depend on z", {"encoder.structured": False}),
    _of_net("no-refine", "posterior", "the encoder's alone", {"encoder.refine": False}),
    _of_net("no-sensitivity", "residual penalty", "none on what it depends on", {"matching.sensitivity": 0.0}),
    _of_net("no-size", "residual penalty", "none on its size", {"matching.size": 0.0}),
    _of_net("no-penalty", "residual penalty", "none", {"matching.sensitivity": 0.0, "matching.size": 0.0}),
    _of_net("no-settling", "settling", "none: the encoder teaches to the end", {"training.settle": 0.0}),
    _of_net("sees-theta", "residual", "is shown theta", {"residual.sees_theta": True}),
    _of_net("no-probes", "window features", "z is not solved for", {"encoder.probes": 0}),
    _of_net("future-only", "window features", "no matching inside the window", {"matching.past": 0}),
    _of_net("secant", "window features", "velocities by the secant", {"encoder.stencil": 2}),
    _of_net("bfloat16", "numbers", "bfloat16 where it is safe", {"training.precision": "bf16-mixed"}),
    _of_net(
        "channels-last", "numbers", "convolutions with channels last", {"training.channels_last": True}, grids=True
    ),
    _of_net("net", "latents", "means only, no KL (gb-dm)", method="gb-dm"),
    _of_net("net", "physics", "none (vbb-dm)", method="vbb-dm"),
)
