"""What a weather model can be told, frozen and checked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from greymatch.settings import TrainingSettings
from greymatch.settings_tree import Section, Tree
from greymatch.weather.halves import computes_in_half

Method = Literal["vgb-dm", "black-box", "climode"]
METHODS: tuple[Method, ...] = ("vgb-dm", "black-box", "climode")
SUITED: dict[str, dict[str, Any]] = {
    "climode": {"training.batch": 4, "net.history": 2},
    "black-box": {"net.history": 4},
}
"""What suits a method alone. A step of one that solves is as dear as many points that are matched, and winds at its
start are those of the last changes."""


class NetSettings(Section):
    """The networks of velocity and source, and the encoder of the past."""

    width: int = Field(default=64, ge=4, description="channels of the velocity network; twice as many when halved")
    source_width: int = Field(default=32, ge=4, description="channels of the source network")
    depth: int = Field(default=3, ge=1, description="residual blocks of each network, on its coarsest grid")
    halvings: int = Field(default=1, ge=0, description="times that the grid is halved on the way, where it can be")
    history: int = Field(default=8, ge=1, description="past states that are seen")
    latents: int = Field(default=16, ge=1, description="maps that it makes of them")
    heads: int = Field(default=4, ge=1, description="heads of its attention, which share the latents")
    variational: bool = Field(default=False, description="latents drawn from a normal law, for ensembles")


class TransportSettings(Section):
    """How fields are carried."""

    known: Literal["balanced", "nothing"] = Field(
        default="balanced",
        description="told of the rates, where all five fields are there: winds in balance, what they carry, and forces",
    )
    form: Literal["flux", "advection"] = Field(
        default="flux", description="flux: div(u v), as in the paper, which conserves; advection: v . grad u"
    )
    substeps: int = Field(default=1, ge=1, description="steps of Runge-Kutta 4 from a state to the next")
    courant: float = Field(
        default=2.5, gt=0, lt=2.8, description="most cells that a wind may cross in a step; stable up to 2.8"
    )


class PathSettings(Section):
    """The path between two states, on which the field is matched."""

    sigma: float = Field(default=0.3, ge=0, description="noise of the bridge, relative to the usual change in a step")
    velocity: Literal["mean", "flow", "drift"] = Field(
        default="mean", description="velocity that is matched: of the bridge's mean, of its flow, or its drift"
    )
    noise_floor: float = Field(default=1e-3, gt=0, description="least error of a velocity, relative to the usual one")


class InferenceSettings(Section):
    """For climode: the winds at the start, which best explain the last changes."""

    smoothing: int = Field(default=3, ge=0, description="how often winds are averaged over neighbours")
    ridge: float = Field(default=1.0, gt=0, description="what large winds cost, beside changes left unexplained")
    iterations: int = Field(default=20, ge=1, description="of conjugate gradients")


class SolvingSettings(Section):
    """For climode: windows that are solved for in training."""

    steps: int = Field(default=7, ge=1, description="states of a window after its start")
    prior: float = Field(default=1e-3, ge=0, description="what a large standard deviation costs")


class WeatherSettings(Tree):
    """All settings of a weather model.

    ```python
    settings = WeatherSettings().updated({"net.width": 32, "training.minutes": 60})
    ```
    """

    method: Method = "vgb-dm"
    net: NetSettings = NetSettings()
    transport: TransportSettings = TransportSettings()
    matching: PathSettings = PathSettings()
    inference: InferenceSettings = InferenceSettings()
    solving: SolvingSettings = SolvingSettings()
    training: TrainingSettings = TrainingSettings(batch=8, rate=2e-3, warmup=0.05, validations=10)

    @staticmethod
    def suited(method: str) -> WeatherSettings:
        """What a method is trained with on this machine, unless told otherwise."""
        quick = {"training.precision": "bf16-mixed", "training.channels_last": True} if computes_in_half() else {}
        return WeatherSettings().updated({"method": method} | quick | SUITED.get(method, {}))
