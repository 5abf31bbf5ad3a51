"""The training loop: one step, validation, checkpoints; stoppable and resumable at every step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors
from greymatch.settings import TrainingSettings
from greymatch.together import Share
from greymatch.training.averaging import Swapped
from greymatch.training.cause import cause, sharp
from greymatch.training.engine import engine
from greymatch.training.frozen import Frozen
from greymatch.training.interrupt import Interrupt
from greymatch.training.noise import RunningMean
from greymatch.training.parts import learned
from greymatch.training.pool import Pool
from greymatch.training.ranks import ALONE, Ranks
from greymatch.training.recipe import Recipe, Terms, numbers
from greymatch.training.reporting import Reporter
from greymatch.training.schedule import schedule
from greymatch.training.settling import AFRESH, Settling, turn
from greymatch.training.state import RunState, load_state, save_state
from greymatch.training.validation import Judge

VALIDATING, RESTOCKING = 0.05, 0.1  # of the time, at most
SHELVES = 8  # of a store, before settling
AS_GOOD, NEARLY_AS_GOOD = 1.02, 2.0  # of two that are so the later knows more: with a field held, all that encoders do
CLEARLY = 0.95  # of the error of a law that was held: what a net adds to it must gain as much, or is noise
EXACT = 1e-6  # error of a field that is held, relative to the variance, which leaves nothing to learn but the encoder
NOISE_DECAY, KNOWN_FOR = 0.98, 50.0
LAST, BEST = "last.safetensors", "best.safetensors"
CLOCKS = {"wall": time.monotonic, "processor": time.process_time}


class NonFiniteError(GreymatchError):
    """Training met a loss that is not a number; the last good state is kept."""


@dataclass
class Loop:
    """Runs until the budget is used, patience ends or the user interrupts; `load_best` then gives the best weights.

    `network` is a module with `settings.matching.noise_floor` and a buffer `noise`, one number for each channel.
    Weights that are `held` stay as they are until latents are settled; if they are exact, the run ends then. Of the
    budget, `spent` seconds are gone.
    """

    network: Any
    way: Recipe
    validator: Judge
    settings: TrainingSettings
    folder: Path
    reporter: Reporter
    fabric: Any
    known_noise: Tensor | None = None
    ranks: Ranks = ALONE
    restock: Callable[[int], Recipe] | None = None
    held: Sequence[Tensor] = ()
    spent: float = 0.0
    began: dict[str, Any] = field(default_factory=dict)
    state: RunState = field(init=False)

    def __post_init__(self) -> None:
        device = next(self.network.parameters()).device
        self.engine = engine(self.network, self.way.objective, self.settings, self.fabric, self.ranks.count)
        self.generator = self._generator(device).manual_seed(self.settings.seed)
        self._batch = self.ranks.part(self.settings.batch, self.settings.parts)
        self._pool = Pool(lambda: self._generator(device))
        self._held = self.engine.own(self.held)
        self.state = RunState(
            noise=self._first_noise(torch.ones(self.way.objective.channels, device=device)),
            gradient=RunningMean.starting(torch.ones((), device=device), 0.99),
            elapsed=self.spent,
            began=self.began,
        )
        self._clock = CLOCKS[self.settings.clock]
        self._saved = time.monotonic()

    def _generator(self, device: torch.device) -> torch.Generator:
        return Share.of(device, self.ranks.rank, self.ranks.count) if self.ranks.count > 1 else torch.Generator(device)

    def _first_noise(self, unknown: Tensor) -> RunningMean:
        """What errors count before any is seen: nothing is known, or what the model that it starts from was off by."""
        if self.known_noise is None:
            return RunningMean.starting(unknown, NOISE_DECAY)
        known = self.known_noise.to(unknown).square()
        known = torch.cat([unknown[: len(unknown) - len(known)], known])
        return RunningMean(known, KNOWN_FOR, NOISE_DECAY)

    @property
    def fraction(self) -> float:
        """How much of the budget is used, by steps or by the clock, whichever is further."""
        by_steps = self.state.step / self.settings.steps if self.settings.steps else 0.0
        by_clock = self.state.elapsed / (60 * self.settings.minutes) if self.settings.minutes else 0.0
        return min(1.0, max(by_steps, by_clock))

    @property
    def trained(self) -> float:
        """How much is used of the part of the budget that the beginning left."""
        begun = min(1.0, self.spent / (60 * self.settings.minutes)) if self.settings.minutes else 0.0
        return max(0.0, self.fraction - begun) / (1 - begun) if begun < 1 else 1.0

    def resume(self) -> None:
        self.engine.scatter(load_state(self.folder / LAST, self.state, self.engine.gather(), self.generator))
        if self.restock and self.state.shelf:
            self.way = self.restock(self.state.shelf)
        if self.way.settling:
            self.way.settling.follow(self.state.course)
        self.reporter.resume(self.state.step)

    def run(self) -> None:
        """Train to the end of the budget; on Ctrl-C keep the state and raise."""
        self._ticked = self._clock()
        with Interrupt() as interrupt, Frozen():
            if not self.state.step:
                self._begin()
            while not self.state.finished:
                self._advance()
                if self.ranks.any(interrupt.asked):
                    self.checkpoint()
                    raise KeyboardInterrupt
        self.checkpoint()

    def _begin(self) -> None:
        """What begins with more than nothing is no worse than that: its first weights are judged, too."""
        if self.known_noise is not None:
            self._validate()
        if self.held:  # the field knows something, but not yet the encoder, whose errors are to count as usual
            self.state.noise = RunningMean.starting(torch.ones_like(self.state.noise.value), NOISE_DECAY)
        self.checkpoint()

    def _advance(self) -> None:
        loss = self.step()
        self._tick()
        validated = self._validate_if_due()
        self.state.finished = self.fraction >= 1 or self._out_of_patience() or self.all_known
        if validated:
            self._tick()
        self._report(loss, validated)
        if time.monotonic() - self._saved > self.settings.checkpoint_seconds:
            self.checkpoint()

    def _tick(self) -> None:
        """Count the time since the last tick; a budget in minutes pays for validation and checkpoints too."""
        now = self._clock()
        self.state.elapsed += now - self._ticked
        self._ticked = now
        if self.settings.minutes is not None:
            self.state.elapsed = self.ranks.agreed(self.state.elapsed)

    def step(self) -> Terms:
        """One batch, one update of the weights."""
        for group in self.engine.optimizer.param_groups:
            group["lr"] = self.settings.rate * schedule(self.fraction, self.settings.warmup)
        sample = self._sample()
        floor = self.network.settings.matching.noise_floor**2
        noise = self.state.noise.value.clamp_min(floor)
        loss = learned(self.engine, self.way.objective, sample, noise, self.generator, self.settings.parts)
        common = self.ranks.mean(loss)
        if not math.isfinite(common.total.item()):
            self.engine.gather()
            self._stop_for_nonfinite("loss", cause(self.network, sample, loss, self.way.sampler.labels))
        if self.state.settled is None:
            for weight in self._held:
                weight.grad = None
        self._clip()
        self.state.noise = self.state.noise.updated(common.errors)
        self.state.step += 1
        self.engine.step(self.state.step, self.settings.ema)
        return common

    def _sample(self) -> Any:
        """A batch, with the latents of its trajectories once those are settled."""
        if self.state.settled is None:
            begun = self.trained / (1 - self.settings.settle if self.way.settling else 1)
            self._restock(min(SHELVES - 1, int(SHELVES * begun)))
        self._settle_if_due()
        if self.state.settled is None or self.way.settling is None:
            return self.way.sampler.draw(self._batch, self.generator)
        return self._pool.take(self.state, self._settled_batches, self.generator)

    def _settled_batches(self, generator: torch.Generator) -> list[Any]:
        if self.way.settling is None or self.state.settled is None:
            return []
        batches = self.way.settling.at_once(self.settings.batch)
        return self.way.settling.draw(self.state.settled, self._batch, generator, batches)

    def _settle_if_due(self) -> None:
        due = turn(self.trained, self.settings.settle)
        if self.way.settling and due > self.state.turn and not self.all_known:
            self.state.turn = due
            self._pool.forget(self.state)
            restocked = self._restock(SHELVES + due)
            if restocked:
                self.state.settled = self.state.course = None
            with self.averaged_weights():
                self._tell_noise()
                self._settle(self.way.settling, restocked or due % AFRESH == 1, due)

    def _settle(self, settling: Settling, afresh: bool, due: int) -> None:
        settled = self.ranks.told(lambda: settling.latents(self.state.settled, due))
        self.state.settled = settled
        if afresh:
            self.state.course = self.ranks.told(lambda: settling.course(self.state.course, settled))
            settling.follow(self.state.course)

    def _restock(self, shelf: int) -> bool:
        """Learn from another shelf of a store from now on, unless it is there, or changes took too long."""
        if self.restock is None or shelf <= self.state.shelf:
            return False
        if not self.ranks.told(lambda: self._can_afford(self.state.restocking, RESTOCKING)):
            return False
        began = self._clock()
        self.way = self.restock(shelf)
        self.state.shelf = shelf
        self.state.restocking += self._clock() - began
        return True

    def _clip(self) -> None:
        """Cut a gradient that is far larger than usual; what is usual is learned as the run goes."""
        limit = self.settings.clip * float(self.state.gradient.value) if self.state.step else math.inf
        strict = self.settings.precision != "16-mixed"  # its scaler skips such steps
        try:
            norm = self.engine.clip(limit, strict)
        except RuntimeError:
            self.engine.gather()
            self._stop_for_nonfinite("gradient", sharp(self.network))
            raise
        self.state.gradient = self.state.gradient.updated(norm.detach().clamp_max(limit))

    def _validate_if_due(self) -> bool:
        due = int(self.fraction * self.settings.validations + 1e-9)  # 29 / 50 * 50 is less than 29
        affordable = self.fraction >= 1 or self._can_afford(self.state.validating, VALIDATING)
        if not self.all_known and (due <= self.state.validations or not affordable):
            return False
        began = self._clock()
        self._validate()
        self.state.validations = due
        self.state.validating += self._clock() - began
        return True

    def _can_afford(self, taken: float, part: float) -> bool:
        """Of a budget in minutes, some things may take up to a part; of one in steps, all there is to do is done."""
        timed = self.settings.minutes is not None and self.settings.steps is None
        return not timed or taken <= part * self.state.elapsed

    def _validate(self) -> None:
        with self.averaged_weights():
            self._tell_noise()
            found = self.ranks.told(lambda: self.validator.choose(self.network))
            self.state.waited = 0 if found.scaled < self.state.best else self.state.waited + 1
            self._judge(found.scaled)
        self.state.validation = found.mse

    def _judge(self, error: float) -> None:
        """Keep the weights if they are as good as the best; the error of a law stands as long as the law does."""
        as_held = bool(self.held) and self.state.settled is None
        bar = NEARLY_AS_GOOD if as_held else CLEARLY if self.state.lawful else AS_GOOD
        kept = error < bar * self.state.best
        if kept:
            self._keep_best()
            self.state.best_step, self.state.lawful = self.state.step, as_held
        if kept or not self.state.lawful:
            self.state.best = min(self.state.best, error)  # in this order nan is never the least

    def _keep_best(self) -> None:
        if self.ranks.first:
            tensors = {name: value.clone() for name, value in self.network.state_dict().items()}
            write_tensors(self.folder / BEST, tensors, {"kind": "weights", "step": self.state.step})

    def _tell_noise(self) -> None:
        """Let the network know how far off its derivatives are; what a solution is off by is none of theirs, nor what
        an encoder is off by with a field that is held."""
        if not self.way.solves and not (self.held and self.state.settled is None):
            noise = self.network.noise
            noise.copy_(self.state.noise.value[-len(noise) :].sqrt())

    def _out_of_patience(self) -> bool:
        return self.settings.patience is not None and self.state.waited >= self.settings.patience

    @property
    def all_known(self) -> bool:
        """Whether the field was exact before training, and the encoder has had its part of the budget."""
        settles = turn(self.trained, self.settings.settle) > 0
        return bool(self.held) and settles and self.state.best < EXACT

    def averaged_weights(self) -> Swapped:
        """A context in which the network holds the averaged weights."""
        return Swapped(self.network, self.engine.averaged())

    def load_best(self) -> None:
        """Leave the network with the weights that forecast best on validation data."""
        tensors, _ = read_tensors(self.folder / BEST)
        self.network.load_state_dict(tensors)

    def checkpoint(self) -> None:
        learned = self.engine.gather()
        if self.ranks.first:
            save_state(self.folder / LAST, self.state, learned, self.generator)
        self._saved = time.monotonic()

    def _report(self, loss: Terms, validated: bool) -> None:
        if self.reporter.due(validated) and self.ranks.first:
            terms = {name: value for name, value in numbers(loss).items() if name != "errors"}
            rate = self.engine.optimizer.param_groups[0]["lr"]
            self.reporter.say(self.state, self.fraction, terms, rate, validated)

    def _stop_for_nonfinite(self, what: str, cause: str) -> None:
        """Name the cause and keep the last state whose weights are numbers."""
        if all(bool(value.isfinite().all()) for value in self.network.parameters()):
            self.checkpoint()
        raise NonFiniteError(
            f"the {what} is not finite at step {self.state.step + 1}: {cause}. "
            f"The last good state is kept in {str(self.folder)!r}. Check the physics over its whole prior, "
            "or lower training.rate."
        )
