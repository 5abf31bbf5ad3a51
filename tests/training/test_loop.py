from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.files import read_tensors
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.training import reporting
from greymatch.training.fit import fit
from greymatch.training.loop import LAST, Loop, NonFiniteError
from greymatch.training.schedule import schedule
from greymatch.training.validation import ForecastError, Validator

Decays = Callable[..., Trajectories]

pytestmark = pytest.mark.usefixtures("roughly")


class Log:
    """A tracker that keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.metrics: list[dict[str, float]] = []
        self.closed = 0

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.steps.append(step)
        self.metrics.append(metrics)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def tiny(tiny: Settings) -> Settings:
    """A residual that begins as nothing."""
    return tiny.updated({"residual.products": 0})


@pytest.fixture(scope="module")
def quick(tiny: Settings) -> Settings:
    """And is soon validated, as no window is asked itself."""
    return tiny.updated({"encoder.refine": False})


def test_the_rate_of_a_run_in_steps_follows_the_schedule_over_all_of_it(
    decay: Physics, decays: Decays, quick: Settings
):
    log = Log()
    settings = quick.updated({"training.validations": 20, "training.rate": 0.01, "training.warmup": 0.2})
    fit(decay, decays(12), settings=settings, steps=20, trackers=[log], quiet=True)
    assert log.steps == list(range(1, 21))
    wanted = [0.01 * schedule(step / 20, 0.2) for step in range(20)]
    assert [metrics["rate"] for metrics in log.metrics] == pytest.approx(wanted)
    assert log.closed == 1


def test_the_rate_of_a_run_in_minutes_spans_its_time(
    decay: Physics, decays: Decays, quick: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reporting, "SHOW_SECONDS", 0.0)  # every step is logged
    log = Log()
    seconds = 1.2
    settings = quick.updated({"training.validations": 30, "training.steps": None, "training.rate": 0.01})
    model = fit(decay, decays(12), settings=settings, minutes=seconds / 60, trackers=[log], quiet=True)
    assert seconds <= model.record["seconds"] < seconds + 1.0
    rates = [metrics["rate"] for metrics in log.metrics]
    assert max(rates) > 0.006  # a slow machine may not take a step at the very top
    assert rates[-1] < 0.001
    for before, metrics in itertools.pairwise(log.metrics):
        # the rate of a step was set by the time that had passed before it, and falls after the warm-up
        low, high = before["elapsed"] / seconds, min(1.0, metrics["elapsed"] / seconds)
        if low > 0.02:
            assert schedule(high, 0.02) - 1e-9 <= metrics["rate"] / 0.01 <= schedule(min(1.0, low), 0.02) + 1e-9


@pytest.mark.parametrize(("budget", "share"), [({"minutes": 2.0 / 60}, 0.3), ({"steps": 20}, 1.0)])
def test_costly_validations_take_a_part_of_a_budget_in_minutes_and_all_they_need_of_one_in_steps(
    decay: Physics,
    decays: Decays,
    tiny: Settings,
    monkeypatch: pytest.MonkeyPatch,
    budget: dict[str, Any],
    share: float,
):
    spent: list[float] = []

    def choose(self: Validator, network: Network) -> ForecastError:
        time.sleep(0.1)
        spent.append(0.1)
        return ForecastError(mse=1.0, scaled=1.0 / len(spent), typical=1.0, failed=0)

    monkeypatch.setattr(Validator, "choose", choose)
    settings = tiny.updated({"training.validations": 20, "training.steps": None, "residual.products": 0})
    model = fit(decay, decays(12), settings=settings, quiet=True, **budget)
    assert len(spent) == 20 if "steps" in budget else 2 <= len(spent) <= 5
    assert sum(spent) <= share * model.record["seconds"]
    assert model.record["best_step"] == model.record["steps"]  # the end was judged


def test_both_budgets_end_with_whichever_is_first(decay: Physics, decays: Decays, quick: Settings):
    model = fit(decay, decays(12), settings=quick, steps=5, minutes=10.0, quiet=True)
    assert model.record["steps"] == 5
    model = fit(decay, decays(12), settings=quick, steps=10**9, minutes=0.01, quiet=True)
    assert 0 < model.record["steps"] < 10**4


class Sleeper(Log):
    """Waits at every report, which costs time but no work."""

    def log(self, step: int, metrics: dict[str, float]) -> None:
        super().log(step, metrics)
        time.sleep(0.05)


def test_processor_time_does_not_pass_while_the_run_waits(decay: Physics, decays: Decays, quick: Settings):
    passed = {}
    for clock in ("wall", "processor"):
        settings = quick.updated({"training.clock": clock, "training.validations": 20})
        passed[clock] = fit(decay, decays(12), settings=settings, steps=20, trackers=[Sleeper()], quiet=True).record[
            "seconds"
        ]
    assert passed["processor"] < passed["wall"] - 0.5


def test_the_last_step_is_validated_whatever_the_counts(decay: Physics, decays: Decays, quick: Settings):
    for steps, validations in ((7, 3), (2, 20), (1, 1)):
        log = Log()
        settings = quick.updated({"training.validations": validations})
        fit(decay, decays(12), settings=settings, steps=steps, trackers=[log], quiet=True)
        judged = [step for step, metrics in zip(log.steps, log.metrics, strict=True) if "forecast_mse" in metrics]
        assert judged[-1] == steps
        assert len(judged) == min(steps, validations)


def test_patience_ends_a_run_that_does_not_improve(decay: Physics, decays: Decays, quick: Settings):
    log = Log()
    # a window that is asked itself would answer better as more is known of the noise
    settings = quick.updated({"training.validations": 20, "training.patience": 3, "training.rate": 1e-30})
    model = fit(decay, decays(12), settings=settings, steps=100, trackers=[log], quiet=True)
    assert model.record["steps"] == 20, "one validation that set the mark, and three that did not beat it"
    assert model.record["best_step"] == 20, "of weights that are as good the last are kept"


def test_without_patience_it_goes_on(decay: Physics, decays: Decays, quick: Settings):
    settings = quick.updated({"training.validations": 20, "training.rate": 1e-30})
    assert fit(decay, decays(12), settings=settings, steps=40, quiet=True).record["steps"] == 40


def test_the_best_weights_are_kept_not_the_last(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    judged: list[dict[str, torch.Tensor]] = []
    scores = iter([5.0, 3.0, 4.0, 1.0, math.nan, 2.0])

    def choose(self: Validator, network: Network) -> ForecastError:
        judged.append({name: value.clone() for name, value in network.named_parameters()})
        return ForecastError(mse=0.0, scaled=next(scores), typical=0.0, failed=0)

    monkeypatch.setattr(Validator, "choose", choose)
    plain = tiny.updated({"residual.products": 0})  # else what it begins with is judged, too
    model = fit(decay, decays(12), settings=plain.updated({"training.validations": 6}), steps=12, quiet=True)
    assert (model.record["best_step"], model.record["validation_error"]) == (8, 1.0)
    kept = dict(model.network.named_parameters())
    assert [all(torch.equal(kept[name], value) for name, value in one.items()) for one in judged].index(True) == 3


def test_the_network_knows_the_noise_it_was_best_with(decay: Physics, decays: Decays, tiny: Settings):
    log = Log()
    model = fit(decay, decays(12), settings=tiny.updated({"residual.products": 0}), trackers=[log], quiet=True)
    told = dict(zip(log.steps, log.metrics, strict=True))[model.record["best_step"]]
    assert model.network.noise.tolist() == pytest.approx([told["noise_0"]])


def test_averaged_weights_are_a_mean_of_those_passed_through(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path
):
    tiny = tiny.updated({"training.settle": 0.0})  # trajectories are asked through the averaged weights
    fit(decay, decays(12), settings=tiny.updated({"training.ema": 0.0}), steps=9, folder=tmp_path / "a", quiet=True)
    tensors, _ = read_tensors(tmp_path / "a" / LAST)
    names = [name.removeprefix("weights.") for name in tensors if name.startswith("weights.")]
    assert all(torch.equal(tensors[f"averaged.{name}"], tensors[f"weights.{name}"]) for name in names)
    fit(decay, decays(12), settings=tiny.updated({"training.ema": 0.9}), steps=9, folder=tmp_path / "b", quiet=True)
    smooth, _ = read_tensors(tmp_path / "b" / LAST)
    assert any(not torch.equal(smooth[f"averaged.{name}"], smooth[f"weights.{name}"]) for name in names)
    # the averaging looks on: the run itself is the same
    assert all(torch.equal(smooth[f"weights.{name}"], tensors[f"weights.{name}"]) for name in names)


def stopped(physics: Physics, data: Trajectories, settings: Settings, folder: Path) -> tuple[str, dict[str, Any]]:
    """The message of a run that ends in numbers that are not finite, and the state it leaves."""
    with pytest.raises(NonFiniteError) as caught:
        fit(physics, data, settings=settings, steps=50, folder=folder, quiet=True)
    tensors, header = read_tensors(folder / LAST)
    assert all(bool(value.isfinite().all()) for name, value in tensors.items() if name.startswith("weights."))
    assert isinstance(caught.value, GreymatchError)
    assert repr(str(folder)) in str(caught.value)
    assert f"at step {header['step'] + 1}:" in str(caught.value)
    return str(caught.value), header


def broken_at(low: float, high: float) -> Physics:
    """Decay that is not a number between two times."""

    def decaying(t, x, p):
        return {"x": torch.where((t > low) & (t < high), torch.nan, -p.k * x.x)}

    return Physics(decaying, ["x"], {"k": Normal(1.0, 0.3)})


def test_physics_that_fails_in_the_future_is_named_with_its_place(decays: Decays, tiny: Settings, tmp_path: Path):
    # between two observations, so only matching points see it
    message, _ = stopped(broken_at(3.92, 3.98), decays(12), tiny, tmp_path)
    assert "the loss is not finite" in message
    assert "the known physics of 'x' is not finite at t = 3.9" in message


def test_physics_that_fails_in_windows_is_named_with_its_trajectory(decays: Decays, tiny: Settings, tmp_path: Path):
    data = decays(12)
    data.values[5, 20] = 50.0  # one point of many, which the check before training does not try
    broken = Physics(
        lambda t, x, p: {"x": torch.where(x.x > 10, torch.nan, -p.k * x.x)}, ["x"], {"k": Normal(1.0, 0.3)}
    )
    labels = np.array([f"run {i}" for i in range(12)])
    message, _ = stopped(broken, replace(data, labels=labels), tiny, tmp_path)
    assert "the features of the window of trajectory 'run 5' are not finite" in message


def test_a_slope_that_is_no_number_stops_the_run_before_it_spoils_the_weights(
    decays: Decays, tiny: Settings, tmp_path: Path
):
    # finite for every k, but torch.where differentiates the side it does not take
    def kinked(t, x, p):
        return {"x": -x.x * torch.where(p.k > 0.9, 1 + torch.sqrt(p.k - 0.9), torch.ones_like(p.k))}

    broken = Physics(kinked, ["x"], {"k": Normal(1.0, 1.0)})
    data = decays(12)
    still = data.values[:, :1] * torch.exp(-2.0 * data.times)[..., None]  # k = 1.9 all over
    message, _ = stopped(broken, Trajectories(("x",), data.times, still, data.mask, data.labels), tiny, tmp_path)
    assert "the gradient is not finite" in message
    assert "slope of the known physics in its parameters" in message


def test_a_stopped_run_can_be_resumed(decays: Decays, tiny: Settings, tmp_path: Path):
    broken = broken_at(3.92, 3.98)
    _, header = stopped(broken, decays(12), tiny, tmp_path)
    with pytest.raises(NonFiniteError, match=f"at step {header['step'] + 1}:"):
        fit(broken, decays(12), settings=tiny, steps=50, folder=tmp_path, resume=True, quiet=True)


def test_every_loss_term_is_reported_and_a_kl_as_long_as_latents_are_encoded(
    decay: Physics, decays: Decays, tiny: Settings
):
    log = Log()
    fit(decay, decays(12), settings=tiny.updated({"training.settle": 0.5}), steps=4, trackers=[log], quiet=True)
    for metrics in log.metrics:
        for name in ("total", "matching", "residual", "noise_0", "elapsed", "rate"):
            assert math.isfinite(metrics[name]), name
    for name in ("kl_theta", "kl_z"):
        assert [name in metrics for metrics in log.metrics] == [True, True, False, False]


def test_a_run_whose_law_is_exact_before_training_ends_when_the_encoder_has_learned(
    decay: Physics, decays: Decays, tiny: Settings
):
    log, exact = Log(), tiny.updated({"residual.products": None, "training.validations": 3, "training.settle": 0.75})
    model = fit(decay, decays(20), settings=exact, steps=40, trackers=[log], quiet=True)
    assert model.record["steps"] == model.record["best_step"] == 10
    assert model.record["validation_error"] < 1e-6
    assert "kl_theta" in log.metrics[-1]  # no trajectory was asked as a whole


@pytest.mark.parametrize(
    ("errors", "kept"),
    [
        ([1.0, 1.5, 0.99, 0.96], 2),  # a net that gains little is no better than the law; an encoder may be worse
        ([1.0, 1.0, 0.94, 0.955], 4),  # one that gains much is, and from then on those as good are kept
        ([1.0, 0.99, 0.99, 0.98], 2),
    ],
)
def test_a_law_stands_unless_a_net_makes_it_clearly_better(errors: list[float], kept: int):
    """The first two are of a law that is held, the others of what a net made of it."""
    told = []
    state = SimpleNamespace(best=float("inf"), best_step=0, lawful=False, settled=None, step=0)
    loop = SimpleNamespace(held=[torch.ones(1)], state=state, _keep_best=lambda: told.append(state.step))
    for step, error in enumerate(errors, start=1):
        state.step, state.settled = step, None if step <= 2 else torch.zeros(1)
        Loop._judge(loop, error)  # pyright: ignore[reportArgumentType, reportPrivateUsage]
    assert told[-1] == state.best_step == kept
