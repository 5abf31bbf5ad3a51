"""One small interface to the adaptive solver: every member on its own times, with its own steps and status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.simulation.control import first_size, judged
from greymatch.simulation.slopes import columns
from greymatch.simulation.status import Status as Status
from greymatch.simulation.tsit5 import Flat, Step

Field = Callable[[Tensor, Tensor], Tensor]
CROWD = 0.5  # no more than this share of the members on their way: the others are no longer asked
MOST_KEPT, NUMBERS_KEPT = 64, 2**22  # steps whose states are told together, and what these may hold


@dataclass(frozen=True, eq=False)
class Solution:
    """`values` (B, T, *state), NaN from where a member failed or was not asked; `status` (B,) holds `Status`.

    `steps` is how many the slowest member took.
    """

    values: Tensor
    status: Tensor
    steps: int

    @staticmethod
    def joined(parts: Sequence[Solution]) -> Solution:
        if len(parts) == 1:
            return parts[0]
        values, status = (torch.cat([getattr(part, name) for part in parts]) for name in ("values", "status"))
        return Solution(values, status, max(part.steps for part in parts))


def solve(
    field: Field,
    start: Tensor,
    start_times: Tensor,
    times: Tensor,
    tolerance: float = 1e-5,
    max_steps: int = 10_000,
    narrowed: Callable[[Tensor], Field] | None = None,
    farthest: float = torch.inf,
) -> Solution:
    """Integrate d(state)/dt = field(t, state) for each member from its own start time to its own `times` (B, T).

    `start` (B, *state); `times` increase along rows from the start time on and may end in inf (not asked).
    `field` gets times (B,) in the precision of `times` and states (B, *state) in that of `start`. A member
    that fails becomes NaN from there on; the others go on. One that is `farthest` from zero has failed, too. With
    `narrowed`, the field of some members alone, those that are done cost nothing any more.
    """
    alive = start.flatten(1).isfinite().all(1)
    clock = _clock(start_times.to(times), times, alive)
    safe = start.masked_fill(~alive.reshape(-1, *[1] * (start.ndim - 1)), 0.0)
    with torch.no_grad():
        flight = _Flight(field, safe, start_times.to(times), clock, tolerance, max_steps, farthest)
        while flying := flight.go_on():
            if narrowed and flying <= CROWD * len(flight.rows):
                flight.narrow(narrowed)
        flight.record()
    status = flight.status.masked_fill(~alive, Status.NOT_FINITE)
    values = flight.values.masked_fill((~times.isfinite() | ~alive[:, None])[..., None], torch.nan)
    return Solution(values.reshape(*times.shape, *start.shape[1:]), status, flight.steps)


class _Flown(NamedTuple):
    """A step of all members, from `now` to `after` (B,): the same where it was not taken."""

    step: Step
    now: Tensor
    after: Tensor


class _Flight:
    """Members on their way: where each stands, and what it passed.

    A member fails when its step shrinks to nothing or it has used up its steps. It stays where it is, and so does one
    that has arrived, until the members are narrowed to those on their way.
    """

    def __init__(
        self,
        field: Field,
        start: Tensor,
        origin: Tensor,
        clock: Tensor,
        tolerance: float,
        max_steps: int,
        farthest: float,
    ) -> None:
        self.shape, self.tolerance, self.max_steps, self.farthest = start.shape[1:], tolerance, max_steps, farthest
        self.values = start.new_full((*clock.shape, start[0].numel() if len(start) else 1), torch.nan)
        self.status = torch.full((len(start),), int(Status.SOLVED), device=start.device)
        self.steps = 0
        self.rows = torch.arange(len(start), device=start.device)
        self.origin, self.clock = origin, clock
        self.end = clock[:, -1] if clock.shape[1] else torch.zeros_like(origin)
        self.now = torch.zeros_like(self.end)
        self.state = columns(start.flatten(1))
        self.flown: list[_Flown] = []
        # at no distance from the start there is nothing to solve, whatever the field
        self.values = torch.where((clock == 0)[..., None], self.state[:, None], self.values)
        # a step that neither the clock nor the state can resolve leads nowhere
        resolution = max(2 * torch.finfo(clock.dtype).eps, torch.finfo(start.dtype).eps / 4)
        self.tiny = resolution * self.end
        self._bind(field)
        self.slope = self.field(origin, self.state)
        self.size = first_size(self.field, origin, self.state, self.slope, self.end, tolerance).maximum(2 * self.tiny)

    def _bind(self, field: Field) -> None:
        def flat(t: Tensor, state: Tensor) -> Tensor:
            return field(t, state.reshape(-1, *self.shape)).to(state.dtype).flatten(1)

        self.field: Flat = flat

    def narrow(self, narrowed: Callable[[Tensor], Field]) -> None:
        """Forget those that are done."""
        self.record()
        kept = self._flying().nonzero()[:, 0]
        for name in ("rows", "origin", "clock", "end", "now", "tiny", "size"):
            setattr(self, name, getattr(self, name)[kept])
        self.state, self.slope = (columns(part[kept]) for part in (self.state, self.slope))
        self._bind(narrowed(self.rows))

    def _flying(self) -> Tensor:
        return (self.now < self.end) & (self.status[self.rows] == int(Status.SOLVED))

    def go_on(self) -> int:
        """One step of every member on its way; how many there were."""
        flying = self._flying()
        count = int(flying.sum())
        if not count:
            return 0
        left = self.end - self.now
        size = torch.minimum(self.size, left) * flying
        step = Step.taken(self.field, self.origin + self.now, self.state, self.slope, size)
        sound, exact, factor = judged(step, self.tolerance)
        taken = flying & exact
        after = torch.where(taken, torch.where(size >= left, self.end, self.now + size), self.now)
        self.flown.append(_Flown(step, self.now, after))
        self.now = after
        self.state = torch.where(taken[:, None], step.after, self.state)
        self.slope = torch.where(taken[:, None], step.slopes[-1], self.slope)
        self.size = factor * size
        self.steps += 1
        if len(self.flown) >= min(MOST_KEPT, NUMBERS_KEPT // step.slopes.numel()):
            self.record()
        self._fail(flying & (after < self.end), sound)
        return count

    def record(self) -> None:
        """The states at all times asked for that were passed since the last time."""
        if not self.flown:
            return
        steps, begun, ended = zip(*self.flown, strict=True)
        ends = torch.stack(ended, 1)
        which, column = ((self.clock > begun[0][:, None]) & (self.clock <= ends[:, -1:])).nonzero().unbind(1)
        # the first step that reaches so far: one that was not taken ends where it began
        nth = torch.searchsorted(ends, self.clock)[which, column]
        member = nth * len(ends) + which
        begin, end = (torch.cat(times)[member] for times in (begun, ended))
        states = Step.joined(steps).at(member, (self.clock[which, column] - begin) / (end - begin))
        self.values[self.rows[which], column] = states
        self.flown = []

    def _fail(self, unfinished: Tensor, sound: Tensor) -> None:
        stuck = unfinished & (self.size <= self.tiny)
        status = self.status[self.rows]
        if self.steps >= self.max_steps:
            status = status.masked_fill(unfinished, int(Status.TOO_MANY_STEPS))
        if self.farthest < torch.inf:
            status = status.masked_fill(unfinished & (self.state.abs().amax(1) > self.farthest), int(Status.TOO_FAR))
        status = status.masked_fill(stuck & sound, int(Status.STEP_TOO_SMALL))
        self.status[self.rows] = status.masked_fill(stuck & ~sound, int(Status.NOT_FINITE))


def _clock(origin: Tensor, times: Tensor, alive: Tensor) -> Tensor:
    """Time since each start (B, T); what is not asked repeats the last time asked."""
    since = times - origin[:, None]
    asked = times.isfinite()
    if bool((asked & (since < 0)).any()):
        row, at = (int(i) for i in (asked & (since < 0)).nonzero()[0])
        raise GreymatchError(
            f"`times` must not lie before the start; member {row} starts at {float(origin[row]):g} and is "
            f"asked at {float(times[row, at]):g}. Solve from an earlier start."
        )
    if not times.shape[1]:
        return since
    # a member without a finite start is not solved at all
    return since.masked_fill(~asked, 0.0).cummax(1).values * alive[:, None]
