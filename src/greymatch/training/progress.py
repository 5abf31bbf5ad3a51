"""What the user sees while it runs: a live bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


@dataclass(frozen=True)
class Moment:
    """Where a run stands: part of the budget used, rate, time left, loss terms and the last forecast error."""

    step: int
    fraction: float
    elapsed: float
    rate: float
    terms: dict[str, float]
    validation: float | None
    validated: bool

    @property
    def left(self) -> float:
        return self.elapsed * (1 - self.fraction) / self.fraction if self.fraction > 0 else float("nan")

    def line(self) -> str:
        terms = "  ".join(f"{name} {value:.3g}" for name, value in self.terms.items())
        error = "" if self.validation is None else f"  forecast MSE {self.validation:.3e}"
        where = f"step {self.step:6d}  {100 * self.fraction:3.0f} %  {self.rate:.0f} steps/s  {_clock(self.left)} left"
        return f"{where}  {terms}{error}"


class Meter(Protocol):
    """Shows the moments of a run."""

    def show(self, moment: Moment) -> None: ...

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def show(self, moment: Moment) -> None:
        return None

    def say(self, text: str) -> None:
        return None

    def close(self) -> None:
        return None


class Lines:
    """A line at each validation, for logs."""

    def show(self, moment: Moment) -> None:
        if moment.validated:
            self.say(moment.line())

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        return None


class Bar:
    """A live bar for terminals."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            BarColumn(12), TextColumn("{task.percentage:>3.0f} %  {task.description}"), console=console
        )
        self._task = self._bar.add_task("starting", total=1.0)
        self._bar.start()

    def show(self, moment: Moment) -> None:
        error = "" if moment.validation is None else f"  forecast MSE {moment.validation:.1e}"
        text = f"{moment.rate:.0f}/s  {_clock(moment.left)} left{error}  {_short(moment.terms)}"
        self._bar.update(self._task, completed=moment.fraction, description=text)

    def say(self, text: str) -> None:
        self._bar.console.print(text, highlight=False)

    def close(self) -> None:
        self._bar.stop()


def meter(quiet: bool = False) -> Meter:
    """The meter that suits where standard error goes."""
    if quiet:
        return Silent()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines()


def _short(terms: dict[str, float]) -> str:
    """The loss and its three terms of the paper, in little room."""
    names = {"total": "loss", "matching": "match", "kl_theta": "KLp", "kl_z": "KLz"}
    return " ".join(f"{short} {terms[name]:.2g}" for name, short in names.items() if name in terms)


def _clock(seconds: float) -> str:
    if seconds != seconds:
        return "--:--"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
