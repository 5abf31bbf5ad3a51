"""Step size control under which a member that fails ends alone, and the others go on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from greymatch.simulation.status import Status

_FIRST_STEP = 1e-6  # of the span, where no first step could be estimated
_SHRINK = 0.2  # after a step into numbers that are not finite


class Control:
    """torchode's controller, with failures kept here instead of stopping the whole batch.

    A step into NaN or infinity is tried again with a smaller one. A member fails when its step shrinks to
    nothing or it has used up its steps; it then leaps to its end in one step, which makes it finish, and
    what it holds after `failed_at` (in solver time) is void. One object serves one solve.
    """

    status: Tensor
    failed_at: Tensor

    def __init__(self, inner: Any, max_steps: int) -> None:
        self.inner = inner
        self.max_steps = max_steps

    def init(self, term: Any, problem: Any, order: int, dt0: Any, *, stats: dict[str, Any], args: Any) -> Any:
        dt, state, slope = self.inner.init(term, problem, order, dt0, stats=stats, args=args)
        self.end = problem.t_end
        span = problem.t_end - problem.t_start
        # a step that neither the clock nor the state can resolve leads nowhere
        self.tiny = max(2 * torch.finfo(span.dtype).eps, torch.finfo(problem.y0.dtype).eps / 4) * span
        self.status = torch.full(span.shape, Status.SOLVED, device=span.device)
        self.failed_at = torch.full_like(span, torch.inf)
        self.used = torch.zeros_like(self.status)
        first = torch.where(dt.isfinite() & (dt > 0), dt, _FIRST_STEP * span)
        return torch.maximum(first, 2 * self.tiny), state, slope

    def adapt_step_size(
        self, t0: Tensor, dt: Tensor, y0: Tensor, result: Any, state: Any, stats: dict[str, Any]
    ) -> tuple[Tensor, Tensor, Any, None]:
        accept, proposed, state, _ = self.inner.adapt_step_size(t0, dt, y0, result, state, stats)
        sound = result.y.isfinite().all(1) & proposed.isfinite()
        proposed = torch.where(sound, proposed, _SHRINK * dt)
        self._judge(t0, torch.where(accept & sound, t0 + dt, t0), proposed, sound)
        failed = self.status != Status.SOLVED
        return (accept & sound) | failed, proposed.masked_fill(failed, torch.inf), state, None

    def _judge(self, before: Tensor, after: Tensor, proposed: Tensor, sound: Tensor) -> None:
        """Mark the members that fail at this step."""
        active = (before < self.end) & (self.status == Status.SOLVED)
        self.used += active
        unfinished = active & (after < self.end)
        stuck = unfinished & (proposed <= self.tiny)
        spent = unfinished & (self.used >= self.max_steps)
        for failing, why in (
            (spent, Status.TOO_MANY_STEPS),
            (stuck & sound, Status.STEP_TOO_SMALL),
            (stuck & ~sound, Status.NOT_FINITE),
        ):
            self.status = self.status.masked_fill(failing, why)
        self.failed_at = torch.where(stuck | spent, after, self.failed_at)

    def merge_states(self, running: Tensor, current: Any, previous: Any) -> Any:
        return self.inner.merge_states(running, current, previous)
