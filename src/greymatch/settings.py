"""Everything a run can be told, frozen and checked; an unknown key is an error."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from greymatch.settings_tree import Section, Tree


class DataSettings(Section):
    """What is assumed of the observations."""

    noise: Literal["auto"] | Annotated[float, Field(ge=0)] | dict[str, Annotated[float, Field(ge=0)]] = Field(
        default="auto",
        description="standard deviation of each state's observations: auto (estimated), one number for all, or "
        "data.noise.STATE for each; 0: none, and nothing is smoothed",
    )
    shelf: int | None = Field(
        default=None, ge=2, description="recordings, or pieces of long ones, of a lazy store in memory at a time"
    )


class EncoderSettings(Section):
    """q(z | window) and q(theta | window, z)."""

    kind: Literal["mlp", "gru", "conv"] = "mlp"
    width: int = Field(default=128, ge=1, description="units of each hidden layer")
    depth: int = Field(default=2, ge=1, description="hidden layers of the trunk")
    latents: int = Field(default=2, ge=0, description="dimension of z, what varies between trajectories beside theta")
    structured: bool = Field(default=True, description="q(theta | x, z): theta depends on the draw of z")
    stencil: int = Field(default=7, ge=2, description="points of the finite differences that give velocities")
    refine: bool = Field(
        default=True,
        description="ask each window itself, unless the encoder alone forecasts the median trajectory better",
    )
    probes: int = Field(
        default=8, ge=0, description="points of the window at which the residual is solved for z; 0: it is not"
    )


class ResidualSettings(Section):
    """The missing part r(x | z)."""

    kind: Literal["mlp", "conv", "polynomial"] = "mlp"
    width: int = Field(default=64, ge=1, description="units (or channels) of each hidden layer")
    depth: int = Field(default=2, ge=1, description="hidden layers of the shared trunk")
    degree: int = Field(default=3, ge=1, le=5, description="highest power (polynomial only)")
    products: int | None = Field(
        default=None,
        ge=0,
        le=3,
        description="beside the net, all products of up to so many states and inputs, point by point; 0: none, null: "
        "two (conv: none), or as many as forecast well before any training",
    )
    curves: tuple[str, ...] | None = Field(
        default=None,
        description="beside states, what is seen of them, as 'saturation(x, 0.5)', 'abs(x_dot, 1)' or, of a field, "
        "'slope(u along x periodic, 1)', in units of a scale; null: those that explain far more "
        "than products, before any training",
    )
    kernel: int = Field(default=1, ge=1, description="size of the first convolution (conv only); 1 is pointwise")
    padding: Literal["circular", "replicate", "zeros"] = Field(
        default="circular", description="beyond the grid (conv only)"
    )
    composition: Literal["additive", "informed", "multiplicative"] = "additive"
    among: tuple[str, ...] | None = Field(
        default=None, description="states, velocities (x_dot) and inputs it may depend on; None: all of them"
    )
    sees_theta: bool = Field(default=False, description="give theta to the residual; it may then undo the physics")
    sees_time: bool = Field(default=False, description="give t to the residual: a field that is not autonomous")
    kinematics: Literal["exact", "learned"] = Field(
        default="exact", description="order 2: whether dx/dt = v is certain"
    )

    @property
    def convolves(self) -> bool:
        """Whether the net itself sees neighbours on the grid."""
        return self.kind == "conv" and self.kernel > 1

    @property
    def pointwise(self) -> bool:
        """Whether the residual at a point of the grid depends on that point alone."""
        return not self.convolves and not any(" along " in curve for curve in self.curves or ())


class MatchingSettings(Section):
    """What is matched, and how errors are weighed."""

    interpolant: str = Field(default="quintic", description="linear, lagrange-N, cubic, quintic or bridge-SIGMA")
    points: int = Field(default=8, ge=1, description="matching points drawn in the future of each window")
    past: int = Field(default=4, ge=0, description="matching points drawn inside each window, beside those")
    horizon: float | None = Field(
        default=None, gt=0, description="how far beyond the window to match; None: to the end"
    )
    pixels: int = Field(
        default=64, ge=1, description="points of the grid matched at each time, where the residual is pointwise"
    )
    alpha: float = Field(default=1.0, gt=0, description="order 2: weight of the acceleration term")
    size: float = Field(default=0.001, ge=0, description="weight of the residual's absolute size: the least one")
    sensitivity: float = Field(
        default=0.5, ge=0, description="weight of what the residual depends on: the simplest one"
    )
    evidence: float | None = Field(
        default=None, gt=0, description="independent velocities that the future counts for; None: the window's points"
    )
    noise_floor: float = Field(
        default=1e-4, gt=0, description="least velocity noise, relative to the data's velocities"
    )
    amplitude_floor: float = Field(
        default=0.2, gt=0, description="least window amplitude, relative to the data's spread"
    )


class SimulationSettings(Section):
    """Learning with a solver in the loop (BB-NODE and PhysVAE); the weights are PhysVAE's."""

    points: int = Field(default=24, ge=1, description="observations after each window that the solution must meet")
    substeps: int = Field(default=1, ge=1, description="steps of Runge-Kutta 4 from each observation to the next")
    kl: float = Field(default=1.234e-4, ge=0, description="weight of both KL terms beside the sum of squares")
    ppc: float = Field(default=1e-2, ge=0, description="weight of what the residual does to the solution")
    unmix: float = Field(
        default=1e-3, ge=0, description="weight of the cleansed window's distance to the physics' own (R_DA1)"
    )
    augment: float = Field(
        default=1e-1, ge=0, description="weight of the error of parameters read off simulated windows (R_DA2)"
    )


class MemorySettings(Section):
    """The last observations as the net's input, in place of an encoder (TFM); kind and padding are the residual's."""

    points: int = Field(default=3, ge=2, description="last observations that the net sees")
    noise: float = Field(default=0.1, ge=0, description="sigma of the bridge between two, relative to a state's spread")
    substeps: int = Field(default=1, ge=1, description="parts in which a forecast goes from one point to the next")
    width: int = Field(default=192, ge=1, description="units (or channels) of each hidden layer")
    depth: int = Field(default=3, ge=1, description="hidden layers")
    kernel: int = Field(default=3, ge=1, description="size of the convolutions (conv only)")


class TrainingSettings(Section):
    """Budget, optimiser and machine."""

    steps: int | None = Field(default=None, ge=1, description="budget in optimiser steps")
    minutes: float | None = Field(default=None, gt=0, description="budget in minutes (default 3)")
    clock: Literal["wall", "processor"] = Field(
        default="wall", description="what minutes count: time that passes, or time of processors, however busy they are"
    )
    batch: int = Field(default=256, ge=1, description="windows a step")
    parts: int = Field(
        default=1, ge=1, description="equal parts of a batch, one after another: the same step, in less memory"
    )
    rate: float = Field(default=2e-3, gt=0, description="peak learning rate")
    warmup: float = Field(default=0.02, ge=0, lt=1, description="part of the budget over which the rate rises")
    decay: float = Field(default=1e-4, ge=0, description="weight decay")
    clip: float = Field(
        default=5.0, gt=0, description="gradients larger than this multiple of their usual norm are cut"
    )
    ema: float = Field(default=0.999, ge=0, lt=1, description="decay of the averaged weights that are kept; 0: none")
    validations: int = Field(
        default=20,
        ge=1,
        description="how often the forecast is validated in the run; less if that took a twentieth of its minutes",
    )
    settle: float = Field(
        default=0.75, ge=0, lt=1, description="last part of the budget, when whole trajectories tell the latents"
    )
    patience: int | None = Field(default=None, ge=1, description="stop after so many validations without gain")
    checkpoint_seconds: float = Field(default=30.0, ge=0, description="longest time between two checkpoints")
    device: str = Field(default="auto", description="auto, cpu, cuda or cuda:N")
    devices: int = Field(default=1, ge=1, description="processes on each machine, which share each batch")
    nodes: int = Field(default=1, ge=1, description="machines")
    strategy: Literal["ddp", "fsdp"] = Field(
        default="ddp", description="how processes train together: each holds the whole model (ddp) or a part (fsdp)"
    )
    precision: Literal["32-true", "bf16-mixed", "16-mixed", "64-true"] = "32-true"
    channels_last: bool = Field(default=False, description="how 2-D convolutions lie in memory; for GPUs, mostly")
    seed: int = 0

    @model_validator(mode="after")
    def _divided(self) -> Self:
        if self.batch % self.parts:
            nearest = max(parts for parts in range(1, self.parts) if self.batch % parts == 0)
            raise ValueError(
                f"setting 'training.parts' must divide 'training.batch' = {self.batch}; got {self.parts}. "
                f"Set {nearest}, for instance."
            )
        return self


class Settings(Tree):
    """All settings of a fit.

    ```python
    settings = Settings().updated({"residual.width": 32, "training.minutes": 2})
    ```
    """

    method: str = "vgb-dm"
    window: int = Field(default=26, ge=2, description="points the encoder sees, the last of which starts the forecast")
    shortest: int | None = Field(
        default=None, ge=2, description="least points of a history; None: the window, and no shorter history will do"
    )
    data: DataSettings = DataSettings()
    encoder: EncoderSettings = EncoderSettings()
    residual: ResidualSettings = ResidualSettings()
    matching: MatchingSettings = MatchingSettings()
    simulation: SimulationSettings = SimulationSettings()
    memory: MemorySettings = MemorySettings()
    training: TrainingSettings = TrainingSettings()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.shortest is not None and self.shortest > self.window:
            raise ValueError(f"setting 'shortest' must not exceed 'window' = {self.window}; got {self.shortest}.")
        return self

    @property
    def lengths(self) -> tuple[int, ...]:
        """Window lengths the encoder is trained on, longest first: each about two thirds of the one before."""
        shortest = self.shortest or self.window
        found = [self.window]
        while found[-1] > shortest:
            found.append(max(shortest, round(found[-1] / 1.5)))
        return tuple(found)
