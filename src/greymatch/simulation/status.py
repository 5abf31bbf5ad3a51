"""How the solution of one member ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How the solution of one member ended."""

    SOLVED = 0
    TOO_MANY_STEPS = 1
    STEP_TOO_SMALL = 2
    NOT_FINITE = 3
    TOO_FAR = 4

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES = {
    Status.SOLVED: "solved",
    Status.TOO_MANY_STEPS: "needed more steps than allowed: the field is stiff or diverges",
    Status.STEP_TOO_SMALL: "the step shrank to nothing: the field blows up or is discontinuous",
    Status.NOT_FINITE: "left the finite numbers: the field diverges, or the start is not finite",
    Status.TOO_FAR: "went far beyond all data: what was learned does not hold there, and runs away",
}
