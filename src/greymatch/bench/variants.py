"""The variants of an ablation, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Variant:
    """One thing changed; an empty label is a run that other benchmarks share.

    `steps_ahead` limits matching to so many sampling steps beyond the window; `grids` says that only fields differ.
    """

    label: str
    part: str
    meaning: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    method: str = "vgb-dm"
    steps_ahead: int | None = None
    grids: bool = False


def _interpolant(spec: str) -> Variant:
    return Variant(spec, "interpolant", spec, {"matching.interpolant": spec})


WHOLE = Variant("", "", "vgb-dm as it is")
VARIANTS = (
    WHOLE,
    *(_interpolant(spec) for spec in ("linear", "lagrange-3", "cubic", "quintic")),
    Variant("next-step", "future matching", "the next step alone", steps_ahead=1),
    Variant("unstructured", "posterior", "theta does not depend on z", {"encoder.structured": False}),
    Variant("no-refine", "posterior", "the encoder's alone", {"encoder.refine": False}),
    Variant("no-sensitivity", "residual penalty", "none on what it depends on", {"matching.sensitivity": 0.0}),
    Variant("no-size", "residual penalty", "none on its size", {"matching.size": 0.0}),
    Variant("no-penalty", "residual penalty", "none", {"matching.sensitivity": 0.0, "matching.size": 0.0}),
    Variant("no-settling", "settling", "none: the encoder teaches to the end", {"training.settle": 0.0}),
    Variant("sees-theta", "residual", "is shown theta", {"residual.sees_theta": True}),
    Variant("no-probes", "window features", "z is not solved for", {"encoder.probes": 0}),
    Variant("future-only", "window features", "no matching inside the window", {"matching.past": 0}),
    Variant("secant", "window features", "velocities by the secant", {"encoder.stencil": 2}),
    Variant("bfloat16", "numbers", "bfloat16 where it is safe", {"training.precision": "bf16-mixed"}),
    Variant(
        "channels-last", "numbers", "convolutions with channels last", {"training.channels_last": True}, grids=True
    ),
    Variant("", "latents", "means only, no KL (gb-dm)", method="gb-dm"),
    Variant("", "physics", "none (vbb-dm)", method="vbb-dm"),
)
