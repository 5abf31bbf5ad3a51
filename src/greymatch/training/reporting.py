"""What a run says of itself on its way: to people a line at a time, to trackers every number."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from greymatch.training.progress import Meter, Moment
from greymatch.training.state import RunState
from greymatch.training.tracker import Tracker

SHOW_SECONDS, RATE_SECONDS = 0.5, 5.0


@dataclass
class Reporter:
    """Speaks whenever something was validated, and else not more often than one can read."""

    meter: Meter
    trackers: list[Tracker]
    _shown: float = field(default_factory=time.monotonic)
    _since: tuple[float, int] = field(default_factory=lambda: (time.monotonic(), 0))

    def resume(self, step: int) -> None:
        """Count steps per second from here on."""
        self._since = (time.monotonic(), step)

    def due(self, validated: bool) -> bool:
        now = time.monotonic()
        if not validated and now - self._shown < SHOW_SECONDS:
            return False
        self._shown = now
        return True

    def say(self, state: RunState, fraction: float, terms: Mapping[str, float], rate: float, validated: bool) -> None:
        """The loss in its `terms`, at a learning `rate`, after a `fraction` of the budget."""
        speed = self._speed(state.step)
        self.meter.show(Moment(state.step, fraction, state.elapsed, speed, dict(terms), state.validation, validated))
        noise = {f"noise_{i}": float(value) ** 0.5 for i, value in enumerate(state.noise.value)}
        metrics = {**terms, **noise, "elapsed": state.elapsed, "rate": rate}
        if validated and state.validation is not None:
            metrics["forecast_mse"] = state.validation
        for tracker in self.trackers:
            tracker.log(state.step, metrics)

    def _speed(self, step: int) -> float:
        now, (then, before) = time.monotonic(), self._since
        if now - then > RATE_SECONDS:
            self._since = (now, step)
        return (step - before) / max(now - then, 1e-9)
