"""What can be wrong with the data by themselves: too few, too short, too coarse, too noisy."""

from __future__ import annotations

from torch import Tensor

from greymatch.checking.finding import Finding, note, problem, warning
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import observed_lengths, usable
from greymatch.matching.left_out import derivative_doubt
from greymatch.physics.physics import Physics
from greymatch.settings import Settings

FEW = 10
SHORT_WINDOW = 5  # points below which derivatives at the end of a history are crude
DOUBTED, LOST = 0.3, 0.6
USUAL, FAR = 0.95, 50.0  # most values are so near to the median; what is so many times farther is none
MOST_LEVELS, SAMPLES_EACH = 5, 10  # of an input that may be a switch


def amount(data: Trajectories, validation: Trajectories | None) -> list[Finding]:
    """One trajectory cannot be validated on; few show little of what varies between them."""
    if len(data) == 1 and validation is None:
        return [
            problem(
                "one trajectory cannot be both learned from and validated on",
                "name the column that tells trajectories apart, cut it, data.cut(points), or give validation data",
            )
        ]
    if len(data) < FEW:
        what = f"{len(data)} trajectories show little of how parameters vary between them"
        return [warning(what, "record more, or cut long recordings into several, data.cut(points)")]
    return []


def still(data: Trajectories) -> list[Finding]:
    """A state that never changes teaches nothing."""
    found = []
    for index, name in enumerate(data.states):
        seen = _seen(data, index)
        if not len(seen):
            found.append(problem(f"state {name!r} is never observed", "leave it out, or read another column for it"))
        elif _still(seen):
            found.append(warning(f"state {name!r} never changes: it is always {float(seen[0]):g}", "is it the sensor?"))
    return found


def _seen(data: Trajectories, index: int) -> Tensor:
    return data.values[:, :, index][data.mask[:, :, index]]


def _still(seen: Tensor) -> bool:
    return not len(seen) or float(seen.min()) == float(seen.max())


def strays(data: Trajectories) -> list[Finding]:
    """A logger's code for a lost sample, such as -9999, is no value."""
    found = []
    for index, name in enumerate(data.states):
        seen = _seen(data, index).double()
        away = (seen - seen.median()).abs() if len(seen) else seen
        usual = float(away.sort().values[int(USUAL * (len(away) - 1))]) if len(away) else 0.0
        far = seen[away > FAR * usual] if usual else seen[:0]
        if len(far):
            what = f"state {name!r} is far from all others at {len(far)} points, such as {float(far[0]):g}"
            found.append(warning(what, "if that stands for a missing value, leave it empty"))
    return found


def switches(data: Trajectories) -> list[Finding]:
    """An input of few values jumps between them, which a smooth curve does not."""
    signals = data.inputs
    if signals is None or signals.kind == "hold":
        return []
    found = []
    for index, name in enumerate(signals.names):
        seen = signals.values[..., index][signals.seen[..., index]]
        levels = len(seen.unique())
        if name not in signals.functions and 1 < levels <= min(MOST_LEVELS, len(seen) // SAMPLES_EACH):
            what = f"input {name!r} has only {levels} values, as a switch has, and is {signals.kind} between samples"
            found.append(note(what, "if it jumps, say input_kind='hold' (--input-kind hold)"))
    return found


def windows(data: Trajectories, settings: Settings) -> list[Finding]:
    """The window must fit into trajectories and leave a future."""
    length, longest = settings.window, int(observed_lengths(data).max())
    if length >= data.times.shape[1] or not bool(usable(data, length).any()):
        return [
            problem(
                f"the window of {length} points leaves no future to learn: the longest trajectory has {longest} points",
                f"set a smaller window, such as --set window={max(2, longest // 3)}",
            )
        ]
    found = []
    short = int((observed_lengths(data) <= length).sum())
    if 2 * short > len(data):
        what = f"{short} of {len(data)} trajectories are no longer than the window of {length} points, and not used"
        found.append(warning(what, "set a smaller window"))
    if length < SHORT_WINDOW:
        found.append(warning(f"a window of {length} points shows derivatives crudely", "record at shorter steps"))
    return found + _horizon(data, settings)


def _horizon(data: Trajectories, settings: Settings) -> list[Finding]:
    asked, covered = settings.matching.horizon, (settings.window - 1) * data.step
    if asked is not None and asked < data.step:
        fix = "set matching.horizon to none, or to several steps"
        return [problem(f"matching.horizon = {asked:g} is less than one step ({data.step:.3g})", fix)]
    duration = float((observed_lengths(data) - 1).max()) * data.step
    if asked is not None and asked > duration - covered:
        what = f"matching.horizon = {asked:g} is more than the longest trajectory has beyond a window"
        return [note(f"{what}: {duration - covered:.3g}", "forecasts beyond that extrapolate")]
    return []


def derivatives(physics: Physics, data: Trajectories, settings: Settings) -> list[Finding]:
    """Derivatives that change when every second sample is left out are those of noise, or of too few samples; noise
    that is assumed of the data is smoothed away before, as `fit` does."""
    what = "acceleration" if physics.order == 2 else "velocity"
    what, coarse = (f"smoothed {what}", "") if data.noise else (what, ", or the samples are too coarse")
    doubts = derivative_doubt(data, settings.matching.interpolant, physics.order).tolist()
    found = []
    for index, (name, doubt) in enumerate(zip(data.states, doubts, strict=True)):
        if _still(_seen(data, index)):  # its derivative is rounding
            continue
        told = f"the {what} of {name!r} changes by {100 * doubt:.0f} % when every second sample is left out"
        if doubt > LOST:
            fix = "record with less noise or at other steps; parameters will be poor as it is"
            found.append(warning(f"{told}: most of it is noise{coarse}", fix))
        elif doubt > DOUBTED:
            found.append(warning(f"{told}: noise, or coarse samples", "expect wide intervals"))
    return found
