"""One small interface to the adaptive solver: every member on its own times, with its own steps and status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.simulation.control import Control
from greymatch.simulation.status import Status as Status

Field = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Solution:
    """`values` (B, T, *state), NaN from where a member failed or was not asked; `status` (B,) holds `Status`.

    `steps` is how many the slowest member took.
    """

    values: Tensor
    status: Tensor
    steps: int


def solve(
    field: Field,
    start: Tensor,
    start_times: Tensor,
    times: Tensor,
    tolerance: float = 1e-5,
    max_steps: int = 10_000,
) -> Solution:
    """Integrate d(state)/dt = field(t, state) for each member from its own start time to its own `times` (B, T).

    `start` (B, *state); `times` increase along rows from the start time on and may end in inf (not asked).
    `field` gets times (B,) in the precision of `times` and states (B, *state) in that of `start`. A member
    that fails becomes NaN from there on; the others go on.
    """
    origin = start_times.to(times)
    alive = start.flatten(1).isfinite().all(1)
    clock = _clock(origin, times, alive)
    safe = start.masked_fill(~alive.reshape(-1, *[1] * (start.ndim - 1)), 0.0)

    def flat(t: Tensor, y: Tensor) -> Tensor:
        return field(origin + t, y.reshape(start.shape)).to(y.dtype).flatten(1)

    with torch.no_grad():
        ys, control = _integrate(flat, safe.flatten(1), clock, tolerance, max_steps)
    # at no distance from the start there is nothing to solve, whatever the field
    ys = torch.where((clock == 0)[..., None], safe.flatten(1)[:, None], ys)
    status = control.status.masked_fill(~alive, Status.NOT_FINITE)
    void = ~times.isfinite() | ~alive[:, None] | (clock[:, 1:] > control.failed_at[:, None])
    values = ys[:, 1:].masked_fill(void[..., None], torch.nan).reshape(*times.shape, *start.shape[1:])
    return Solution(values, status, int(control.used.max(dim=0).values) if len(start) else 0)


def _clock(origin: Tensor, times: Tensor, alive: Tensor) -> Tensor:
    """Time since each start (B, 1 + T), beginning with 0; what is not asked repeats the last time asked."""
    since = times - origin[:, None]
    asked = times.isfinite()
    if bool((asked & (since < 0)).any()):
        row, at = (int(i) for i in (asked & (since < 0)).nonzero()[0])
        raise GreymatchError(
            f"`times` must not lie before the start; member {row} starts at {float(origin[row]):g} and is "
            f"asked at {float(times[row, at]):g}. Solve from an earlier start."
        )
    since = torch.cat([torch.zeros_like(origin[:, None]), since.masked_fill(~asked, 0.0)], 1)
    # a member without a finite start is not solved at all
    return since.cummax(1).values * alive[:, None]


def _integrate(flat: Field, start: Tensor, clock: Tensor, tolerance: float, max_steps: int) -> tuple[Tensor, Control]:
    import torchode

    library: Any = torchode  # its annotations do not describe plain tensors
    term = library.ODETerm(flat)
    inner = library.IntegralController(atol=tolerance, rtol=tolerance, term=term).to(start.device)
    control = Control(inner, max_steps)
    solver = library.AutoDiffAdjoint(library.Tsit5(term=term), control)
    return solver.solve(library.InitialValueProblem(y0=start, t_eval=clock)).ys, control
