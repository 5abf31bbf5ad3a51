"""Settings that suit a problem, each with the reason for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from greymatch.data.noise import assumed_noise, with_noise
from greymatch.data.store import Store, sampled
from greymatch.data.trajectories import Trajectories
from greymatch.matching.left_out import left_out_error
from greymatch.models.curves import Curve
from greymatch.models.warm import Warm
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.settings_tree import flat

DEFAULT_MINUTES = 3.0
MOST_MINUTES = 15.0
LONGEST_WINDOW = 128  # what more costs, the encoder hardly gains
LEAST_WINDOW = 6
FINE_GRID = 64 * 64
SHAPING = ("encoder", "residual", "memory")
COARSE = 0.8  # another interpolant must leave less than this of the usual one's error


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen from the data, and why."""

    key: str
    value: Any
    why: str

    def __str__(self) -> str:
        return f"{self.key} = {self.value}: {self.why}"


@dataclass(frozen=True)
class Suited:
    """Settings, and those among them that were chosen from the data."""

    settings: Settings
    choices: list[Choice]


def suited(physics: Physics, data: Trajectories | Store) -> Settings:
    """Settings for this problem: the preset of a built-in system, or ones that suit the data.

    The window is up to a third of a trajectory, and histories down to a fifth of that are learned too. Fields get
    convolutions, fine grids more time, and coarse samples a plainer interpolant.
    """
    return choose(physics, sampled(data)).settings


def choose(physics: Physics, data: Trajectories, start: Warm | None = None) -> Suited:
    """The same with reasons; nets and window are those of `start`, which its weights must fit."""
    preset = _preset(physics)
    found = [] if preset else [*_windows(data), *_interpolant(data), *_nets(data), _budget(data)]
    found = found if start is None else _overruled(found, _as_in(start, physics))
    return Suited((preset or Settings()).updated({choice.key: choice.value for choice in found}), found)


def _preset(physics: Physics) -> Settings | None:
    from greymatch.systems import SYSTEMS

    return next((system.settings() for system in SYSTEMS.values() if system.physics == physics), None)


def _overruled(found: list[Choice], by: list[Choice]) -> list[Choice]:
    keys = {choice.key for choice in by}
    return [*by, *(choice for choice in found if choice.key not in keys)]


def _as_in(start: Warm, physics: Physics) -> list[Choice]:
    """What decides whether weights fit, where it is not the default; curves of states that are gone are left behind."""
    usual, same = flat(Settings().model_dump()), start.settings
    curves = [text for text in same.residual.curves or () if Curve.read(text).fits(physics)]
    same = same.updated({"residual.curves": curves}) if same.residual.curves else same
    return [
        Choice(key, value, "as in the model it starts from")
        for key, value in flat(same.model_dump()).items()
        if key in ("window", "shortest") or (key.split(".")[0] in SHAPING and value != usual[key])
    ]


def _windows(data: Trajectories) -> list[Choice]:
    points = int(data.lengths.median())
    third = min(max(LEAST_WINDOW, points // 3 + 1), max(2, points // 2))
    window = min(third, LONGEST_WINDOW)
    shortest = min(window, max(5, window // 5))
    why = f"about a third of the usual {points} points" if window == third else f"a part of the usual {points} points"
    return [
        Choice("window", window, why),
        Choice("shortest", shortest, "histories from this length on can be forecast"),
    ]


def _interpolant(data: Trajectories) -> list[Choice]:
    """Quintic, unless every second sample, its noise smoothed away, tells the others clearly better by a cubic."""
    (data,) = with_noise(assumed_noise("auto", data), data)
    usual, plain = (float(left_out_error(data, name).nan_to_num(0.0).max()) for name in ("quintic", "cubic"))
    if plain < COARSE * usual:
        return [Choice("matching.interpolant", "cubic", "samples are too coarse or uneven for a quintic")]
    return [Choice("matching.interpolant", "quintic", "samples are dense enough")]


def _nets(data: Trajectories) -> list[Choice]:
    if not data.grid:
        return []
    return [
        Choice("encoder.kind", "conv", "the states are fields"),
        Choice("encoder.width", 32, "channels, not units"),
        Choice("residual.kind", "conv", "the states are fields"),
        Choice("training.batch", 32, "fields are large"),
    ]


def _budget(data: Trajectories) -> Choice:
    pixels = data.values[0, 0, 0].numel()
    minutes = min(MOST_MINUTES, DEFAULT_MINUTES * max(1.0, pixels / FINE_GRID) ** 0.5)
    why = "usually enough; it shows whether more would help" if pixels <= FINE_GRID else "the grid is fine"
    return Choice("training.minutes", round(minutes, 1), why)
