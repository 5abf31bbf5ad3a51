"""`Finding`: one thing that a check has to say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad it is: a problem keeps a fit from running, a warning from being good, a note is worth knowing."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """What was found, how bad it is, and what to do about it."""

    level: Level
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.level.value}: {self.what}" + (f"\n  {self.fix}" if self.fix else "")


def problem(what: str, fix: str = "") -> Finding:
    return Finding(Level.PROBLEM, what, fix)


def warning(what: str, fix: str = "") -> Finding:
    return Finding(Level.WARNING, what, fix)


def note(what: str, fix: str = "") -> Finding:
    return Finding(Level.NOTE, what, fix)
