from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import greymatch
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.files import read_tensors
from greymatch.forecast.references import hold, physics_only
from greymatch.forecast.scores import score
from greymatch.models.file import load
from greymatch.models.greybox import GreyBox
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.training.fit import fit, suited
from greymatch.training.progress import Moment

Decays = Callable[..., Trajectories]
Hurry = Callable[[], AbstractContextManager[None]]

pytestmark = pytest.mark.usefixtures("roughly")


def weights(model: GreyBox | Path) -> dict[str, torch.Tensor]:
    if isinstance(model, GreyBox):
        return dict(model.network.state_dict())
    return {name: value for name, value in read_tensors(model)[0].items() if name.startswith("weights.")}


def same(one: GreyBox | Path, two: GreyBox | Path) -> bool:
    """Whether all weights agree bit by bit."""
    first, second = weights(one), weights(two)
    return first.keys() == second.keys() and all(torch.equal(value, second[name]) for name, value in first.items())


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


# --- what a fit is for


@pytest.fixture(scope="module")
def tiny(tiny: Settings) -> Settings:
    """A net alone, which begins as nothing: a law that is found before training would leave nothing to do."""
    return tiny.updated({"residual.products": 0})


@pytest.fixture(scope="module")
def quick(tiny: Settings) -> Settings:
    """The same, and windows are not asked themselves: where it matters how a run goes, not what it finds."""
    return tiny.updated({"encoder.refine": False})


@pytest.fixture(scope="module")
def learned(decay: Physics, decays: Decays, tiny: Settings, hurry: Hurry) -> GreyBox:
    settings = tiny.updated({"training.rate": 1e-2, "training.ema": 0.98})
    with hurry():
        return fit(decay, decays(60), settings=settings, steps=600, quiet=True)


def test_parameters_are_found_although_the_physics_is_incomplete(learned: GreyBox, decays: Decays):
    test = decays(60, seed=9)
    error = learned.infer(test.first(8)).rmse(test.truth)["k"]
    prior = float(np.sqrt(np.mean((test.truth["k"] - learned.physics.params["k"].mean) ** 2)))
    assert error < 0.6 * prior


def test_forecasts_beat_the_physics_alone_and_holding(learned: GreyBox, decays: Decays):
    test = decays(60, seed=9)
    history, times = test.first(8), test.times[:, 8:]
    mine = score(learned.forecast(history, times, draws=1), test).mse
    for reference in (hold(history, times), physics_only(learned.physics, history, times)):
        assert mine < 0.02 * score(reference, test).mse


def test_the_residual_is_the_constant_that_is_missing(learned: GreyBox, decays: Decays):
    share = learned.physics_share(decays(60, seed=9))["x"]
    assert share["residual"] == pytest.approx(0.5, rel=0.3)


def test_a_single_trajectory_is_forecast_and_inferred(learned: GreyBox, decays: Decays):
    one = decays(5, seed=9).select([3])
    forecast = learned.forecast(one.first(8), one.times[0, 8:], draws=5)
    assert forecast.draws.shape == (5, 1, 33, 1)
    assert len(learned.infer(one.first(8))) == 1


def test_a_pendulum_learns_its_friction(small_model: GreyBox, swings: tuple[Trajectories, Trajectories]):
    test = swings[1]
    history, times = test.first(10), test.times[:, 10:]
    mine = score(small_model.forecast(history, times, draws=1), test).mse
    for reference in (hold(history, times), physics_only(small_model.physics, history, times)):
        assert mine < 0.3 * score(reference, test).mse
    omega = test.truth["omega"]
    assert small_model.infer(history).rmse(test.truth)["omega"] < 0.3 * float(omega.std())


def test_the_record_tells_how_the_model_was_made(learned: GreyBox, decays: Decays):
    record = learned.record
    assert (record["steps"], record["trajectories"]) == (600, {"train": 50, "validation": 10})
    assert record["parameters"] == sum(p.numel() for p in learned.network.parameters())
    assert 0 <= record["best_step"] <= 600  # what it began with may be the best
    assert 0 < record["validation_error"] < 0.1
    values = decays(60).values
    assert record["seen"] == {"x": [float(values.min()), float(values.max())]}
    assert json.loads(json.dumps(record)) == record


# --- kinds of problems


def test_every_method_fits_and_forecasts(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    for method in ("vgb-dm", "gb-dm", "vbb-dm"):
        model = fit(decay, data, settings=tiny, steps=4, method=method, quiet=True)
        assert model.settings.method == method
        assert bool(model.forecast(data.first(8), [1.0, 2.0], draws=3).draws.isfinite().all())


@pytest.mark.parametrize(
    "changes", [{"encoder.kind": "gru"}, {"encoder.kind": "conv"}, {"residual.composition": "informed"}]
)
def test_every_kind_of_net_learns(decay: Physics, decays: Decays, tiny: Settings, changes: dict[str, Any]):
    data = decays(30)
    log = Log()
    settings = tiny.updated({**changes, "training.rate": 5e-3, "training.ema": 0.9})
    fit(decay, data, settings=settings, steps=100, trackers=[log], quiet=True)
    errors = [metrics["forecast_mse"] for metrics in log.metrics if "forecast_mse" in metrics]
    assert errors[-1] < 0.8 * errors[0]


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed"])
def test_every_precision_gives_a_model_that_can_be_saved(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path, precision: str
):
    settings = tiny.updated({"training.precision": precision})
    model = fit(decay, decays(12), settings=settings, steps=4, quiet=True)
    again = load(model.save(tmp_path / "model.safetensors"), decay)
    history = decays(12).first(8)
    assert torch.equal(model.forecast(history, [1.0, 2.0], 3).draws, again.forecast(history, [1.0, 2.0], 3).draws)


@pytest.mark.parametrize("grid", [(6,), (5, 4)])
def test_fields_on_grids_fit(grid: tuple[int, ...]):
    axes = ("y", "x")[2 - len(grid) :]
    physics = Physics(
        lambda t, x, p: {"u": p.d * laplacian(x.u, 1.0, dims=len(grid))}, ["u"], {"d": Uniform(0.0, 1.0)}, grid=axes
    )
    generator = torch.Generator().manual_seed(0)
    times = torch.linspace(0, 1.2, 13, dtype=torch.float64)
    wave = torch.randn(8, 1, 1, *grid, generator=generator, dtype=torch.float64)
    values = wave * torch.exp(-times).reshape(1, -1, 1, *(1,) * len(grid)) + 1
    mask = torch.ones_like(values, dtype=torch.bool)
    data = Trajectories(("u",), times.repeat(8, 1), values, mask, np.arange(8), grid=axes)
    settings = suited(physics, data).updated({"encoder.width": 8, "residual.width": 8, "training.batch": 8})
    assert (settings.encoder.kind, settings.residual.kind) == ("conv", "conv")
    for changes in ({}, {"encoder.kind": "mlp", "residual.kind": "mlp", "residual.products": 0}):
        model = fit(physics, data, settings=settings.updated(changes), steps=3, quiet=True)
        forecast = model.forecast(data.first(settings.window), times[-2:], draws=2)
        assert forecast.draws.shape == (2, 8, 2, 1, *grid)
        assert bool(forecast.draws.isfinite().all())


def test_ragged_and_gappy_data_with_inputs_fit(tiny: Settings, decays: Decays):
    physics = Physics(lambda t, x, p, u: {"x": -p.k * x.x + u.u}, ["x"], {"k": Uniform(0.2, 2.0)}, inputs=["u"])
    data = decays(12)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    for row in range(12):
        times[row, 41 - row :], values[row, 41 - row :], mask[row, 41 - row :] = torch.inf, 0.0, False
        mask[row, 10 + row] = False
    signals = Signals(("u",), data.times, torch.ones_like(data.values) * 0.5)
    rough = replace(data, times=times, values=values * mask, mask=mask, inputs=signals)
    model = fit(physics, rough, settings=tiny, steps=5, quiet=True)
    assert bool(model.forecast(rough.first(9), [1.0, 2.0], draws=2).draws.isfinite().all())


def test_inputs_that_end_before_the_recording_are_refused(tiny: Settings, decays: Decays):
    physics = Physics(lambda t, x, p, u: {"x": -p.k * x.x + u.u}, ["x"], {"k": Uniform(0.2, 2.0)}, inputs=["u"])
    data = decays(12)
    early = replace(data, inputs=Signals(("u",), data.times[:, :20], torch.ones_like(data.values[:, :20])))
    with pytest.raises(GreymatchError, match=r"'u' of trajectory 0 is known from 0 to .* Give inputs over the whole"):
        fit(physics, early, settings=tiny, steps=5, quiet=True)


def test_a_state_that_stands_still_does_no_harm(tiny: Settings, decays: Decays):
    data = decays(12)
    values = torch.cat([data.values, torch.full_like(data.values, 3.7)], 2)
    both = Trajectories(("x", "mass"), data.times, values, torch.ones_like(values, dtype=torch.bool), data.labels)
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x, "mass": 0.1 * x.x}, ["x", "mass"], {"k": Uniform(0.2, 2.0)})
    settings = tiny.updated({"residual.products": None})  # a law is looked for, too
    model = fit(physics, both, settings=settings, steps=5, quiet=True)
    assert bool(model.forecast(both.first(8), [1.0, 2.0], draws=2).draws.isfinite().all())


def test_complete_equations_stay_pure_physics(tiny: Settings, decays: Decays):
    data = decays(12)
    values = torch.cat([data.values, -data.values], 2)
    both = Trajectories(("x", "y"), data.times, values, torch.ones_like(values, dtype=torch.bool), data.labels)
    physics = Physics(
        lambda t, x, p: {"x": -p.k * x.x, "y": -p.k * x.y}, ["x", "y"], {"k": Uniform(0.2, 2.0)}, complete=["y"]
    )
    share = fit(physics, both, settings=tiny, steps=20, quiet=True).physics_share(both)
    assert share["y"]["residual"] == 0.0
    assert share["x"]["residual"] > 0.0


class Log:
    """A tracker that keeps what it is told, and may do something at a step."""

    def __init__(self, at: int | None = None, do: Callable[[], object] | None = None) -> None:
        self.metrics: list[dict[str, float]] = []
        self.at, self.do = at, do

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.metrics.append({"step": step, **metrics})
        if step == self.at and self.do:
            self.do()

    def close(self) -> None:
        return None


def test_units_do_not_matter(decays: Decays, tiny: Settings):
    logs = []
    for state, clock in ((1.0, 1.0), (1000.0, 60.0)):
        # k has the unit 1/time, so its prior does too
        physics = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Uniform(0.2 / clock, 2.0 / clock)})
        log = Log()
        settings = tiny.updated({"training.validations": 6, "matching.horizon": 2.0 * clock})
        fit(physics, decays(20, state=state, time=clock), settings=settings, steps=6, trackers=[log], quiet=True)
        logs.append(log.metrics)
    for mine, its in zip(*logs, strict=True):
        assert its.keys() == mine.keys()
        for name in mine.keys() & {"total", "matching", "kl_theta", "kl_z", "residual", "noise_0"}:
            assert its[name] == pytest.approx(mine[name], rel=1e-2, abs=1e-5), name
        assert its["forecast_mse"] == pytest.approx(1e6 * mine["forecast_mse"], rel=1e-2)


# --- the same seed, the same model


def test_the_same_seed_gives_the_same_model_bit_by_bit(decay: Physics, decays: Decays, tiny: Settings):
    one, two, other = (fit(decay, decays(12), settings=tiny, seed=seed, quiet=True) for seed in (3, 3, 4))
    assert same(one, two)
    assert not same(one, other)


def test_global_generators_are_left_alone_and_do_not_matter(decay: Physics, decays: Decays, quick: Settings, seed: int):
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002 # pyright: ignore[reportIndexIssue, reportAttributeAccessIssue, reportArgumentType]
    one = fit(decay, decays(12), settings=quick, quiet=True)
    after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002 # pyright: ignore[reportIndexIssue, reportAttributeAccessIssue, reportArgumentType]
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    torch.manual_seed(99)
    assert same(one, fit(decay, decays(12), settings=quick, quiet=True))


# --- stopping and resuming


def test_a_run_stopped_by_ctrl_c_goes_on_as_if_it_had_not_been(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path
):
    said = Said()
    stop = Log(at=10, do=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(decay, decays(12), settings=tiny, folder=tmp_path / "a", trackers=[stop], progress=said)
    assert not (tmp_path / "a" / "model.safetensors").exists()
    assert read_tensors(tmp_path / "a" / "last.safetensors")[1]["step"] == 10
    assert said.closed
    assert "stopped at step 10; resume with" in said.texts[-1].lower()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed = fit(decay, decays(12), settings=tiny, folder=tmp_path / "a", resume=True, quiet=True)
    whole = fit(decay, decays(12), settings=tiny, folder=tmp_path / "b", quiet=True)
    assert same(resumed, whole)
    assert same(tmp_path / "a" / "model.safetensors", tmp_path / "b" / "model.safetensors")
    assert judged(tmp_path / "a") == [5, 10, 15, 20]


def test_a_run_stopped_among_batches_that_were_drawn_together_goes_on_with_the_rest(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path
):
    settings = tiny.updated({"training.steps": 60, "training.settle": 0.75, "residual.products": 0})
    stop = Log(at=45, do=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(decay, decays(12), settings=settings, folder=tmp_path / "a", trackers=[stop], quiet=True)
    assert read_tensors(tmp_path / "a" / "last.safetensors")[1]["taken"] > 0
    resumed = fit(decay, decays(12), settings=settings, folder=tmp_path / "a", resume=True, quiet=True)
    assert same(resumed, fit(decay, decays(12), settings=settings, quiet=True))


def judged(folder: Path) -> list[int]:
    """Steps after which a run was validated; a slow machine tells of others, too."""
    return [line["step"] for line in lines(folder) if "forecast_mse" in line]


class Said:
    """A meter that keeps what it is told."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.texts: list[str] = []
        self.closed = False

    def show(self, moment: Moment) -> None:
        self.moments.append(moment)

    def say(self, text: str) -> None:
        self.texts.append(text)

    def close(self) -> None:
        self.closed = True


def test_of_what_was_chosen_only_what_nobody_overruled_is_said(decay: Physics, decays: Decays):
    said = Said()
    fit(decay, decays(12), steps=1, progress=said)
    assert any(text.startswith("window = 14") for text in said.texts)
    assert not any("training.minutes" in text for text in said.texts)


def test_it_says_that_it_calibrates_and_keeps_shares(decay: Physics, decays: Decays, quick: Settings):
    said = Said()
    model = fit(decay, decays(12), settings=quick, progress=said)
    assert sum(text.startswith("calibrating") for text in said.texts) == 1
    assert model.physics_share() == model.record["physics_share"]
    assert set(model.physics_share()["x"]) == {"physics", "residual", "share"}


def test_a_resumed_run_reports_its_own_pace(decay: Physics, decays: Decays, quick: Settings, tmp_path: Path):
    stop = Log(at=15, do=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(decay, decays(12), settings=quick, folder=tmp_path, trackers=[stop], quiet=True)
    before = read_tensors(tmp_path / "last.safetensors")[1]["elapsed"]
    said = Said()
    fit(decay, decays(12), settings=quick, folder=tmp_path, resume=True, progress=said)
    last = said.moments[-1]
    assert last.step == 20
    assert last.rate <= 5 / (last.elapsed - before), "five steps were made, not twenty"


KILLED = """
import sys, time
import numpy as np, torch
torch.set_num_threads(1)
import greymatch as gm

physics = gm.Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": gm.Uniform(0.2, 2.0)}, name="decay")
k, start = (torch.as_tensor(np.random.default_rng(0).uniform(0.2, 2.0, (12, 1))) for _ in range(2))
times = torch.linspace(0, 4, 41, dtype=torch.float64).repeat(12, 1)
x = 0.5 / k + (start - 0.5 / k) * torch.exp(-k * times)
data = gm.Trajectories(("x",), times, x[..., None], torch.ones(12, 41, 1, dtype=torch.bool), np.arange(12))
small = {"encoder.width": 16, "residual.width": 16, "training.batch": 32, "training.validations": 10}
small |= {"residual.products": 0, "training.checkpoint_seconds": 0, "encoder.refine": False}
settings = gm.Settings(window=8).updated(small)

class Slow:
    def log(self, step, metrics):
        time.sleep(0.2)
    def close(self):
        pass

for argument in sys.argv[1:]:
    folder, _, way = argument.partition("?")
    watch = {"trackers": [Slow()]} if way == "slowly" else {}
    gm.fit(physics, data, settings=settings, steps=40, folder=folder, resume=way == "resume", quiet=True, **watch)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = str(Path(greymatch.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", KILLED]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with subprocess.Popen([*command, f"{killed}?slowly"], env=environment) as process:
        while process.poll() is None and len(_steps(killed)) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    reached = read_tensors(killed / "last.safetensors")[1]["step"]
    assert 0 < reached < 40, "in the middle of the run"
    assert not (killed / "model.safetensors").exists()
    monkeypatch.setattr(sys, "argv", ["-c", f"{killed}?resume", str(whole)])
    exec(KILLED, {})
    assert same(killed / "model.safetensors", whole / "model.safetensors")
    assert same(killed / "last.safetensors", whole / "last.safetensors")
    steps = _steps(killed)
    assert steps == sorted(set(steps)), "metrics have no duplicates"
    judged = [
        {line["step"]: line["forecast_mse"] for line in lines(folder) if "forecast_mse" in line}
        for folder in (killed, whole)
    ]
    assert judged[0] == judged[1]
    assert list(judged[0]) == list(range(4, 41, 4))


def _steps(folder: Path) -> list[int]:
    try:
        return [int(line.split(",")[0].split(":")[1]) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    except FileNotFoundError:
        return []


def test_a_finished_run_can_be_asked_for_again(decay: Physics, decays: Decays, quick: Settings, tmp_path: Path):
    first = fit(decay, decays(12), settings=quick, folder=tmp_path, quiet=True)
    log = Log()
    again = fit(decay, decays(12), settings=quick, folder=tmp_path, resume=True, trackers=[log], quiet=True)
    assert log.metrics == []
    assert same(first, again)
    assert judged(tmp_path) == [5, 10, 15, 20]


def test_another_run_is_not_resumed(decay: Physics, decays: Decays, quick: Settings, tmp_path: Path):
    fit(decay, decays(12), settings=quick, folder=tmp_path, quiet=True)
    wider = Physics(decay.function, ["x"], {"k": Uniform(0.1, 2.0)}, name="decay")
    changed: list[tuple[str, dict[str, Any]]] = [
        ("settings", {"settings": quick.updated({"training.rate": 1e-5})}),
        ("settings", {"seed": 5}),
        ("data", {"data": decays(12, seed=1)}),
        ("physics", {"physics": wider}),
    ]
    for what, change in changed:
        arguments: dict[str, Any] = {"physics": decay, "data": decays(12), "settings": quick} | change
        with pytest.raises(GreymatchError, match=f"must be the same run; .*{what}.* differ"):
            fit(**arguments, folder=tmp_path, resume=True, quiet=True)


def test_a_folder_with_a_run_is_not_overwritten(decay: Physics, decays: Decays, quick: Settings, tmp_path: Path):
    first = fit(decay, decays(12), settings=quick, folder=tmp_path, quiet=True)
    with pytest.raises(GreymatchError, match="holds a run already"):
        fit(decay, decays(12), settings=quick, folder=tmp_path, quiet=True)
    assert same(load(tmp_path / "model.safetensors", decay), first)


def test_two_runs_at_once_in_one_folder_are_refused(decay: Physics, decays: Decays, quick: Settings, tmp_path: Path):
    refused: list[str] = []

    def another() -> None:
        with pytest.raises(GreymatchError, match="in use by another run") as caught:
            fit(decay, decays(12), settings=quick, folder=tmp_path, quiet=True)
        refused.append(str(caught.value))

    fit(decay, decays(12), settings=quick, folder=tmp_path, trackers=[Log(at=10, do=another)], quiet=True)
    assert len(refused) == 1


def test_without_a_folder_nothing_is_left_behind(
    decay: Physics, decays: Decays, quick: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fit(decay, decays(12), settings=quick, steps=2, quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_without_a_folder_says_where_it_is_kept(
    decay: Physics, decays: Decays, quick: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = Said()
    stop = Log(at=5, do=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(decay, decays(12), settings=quick, trackers=[stop], progress=said)
    (kept,) = tmp_path.iterdir()
    assert repr(str(kept)) in said.texts[-1]
    fit(decay, decays(12), settings=quick, folder=kept, resume=True, quiet=True)


# --- what cannot be fitted


def test_data_that_do_not_suit_the_physics_are_refused(decay: Physics, decays: Decays, tiny: Settings):
    data = decays(12)
    driven = replace(data, inputs=Signals(("u",), data.times, data.values))
    field = Trajectories(("x",), data.times, data.values[..., None], data.mask[..., None], data.labels, grid=("y",))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"data": {"x": 1}}, "`data` must be Trajectories; got dict. Use read"),
        ({"physics": decay.function}, "`physics` must be a Physics; got <function"),
        ({"validation": 3}, "`validation` must be Trajectories; got int"),
        ({"data": replace(data, states=("y",))}, r"`data` must hold the physics' states \['x'\].*got \['y'\]"),
        ({"validation": replace(data, states=("y",))}, "`validation` must hold the physics' states"),
        ({"data": driven}, r"physics declares inputs \[\]; `data` carries \['u'\]"),
        ({"data": field}, r"`data` must have the physics' grid axes \[\].*got \['y'\]"),
        ({"data": data.first(8)}, "`window` must .*leave a future to match: it is 8 points"),
        ({"validation": data.first(8)}, "`validation` must hold a trajectory"),
        ({"method": "vgb"}, r"`method` must be one of .*Did you mean 'vgb-dm'\?"),
        ({"data": data.select([0])}, "one trajectory cannot be both"),
        ({"steps": 0}, "setting 'training.steps'"),
        ({"minutes": -1}, "setting 'training.minutes'"),
    ]
    for change, message in cases:
        arguments: dict[str, Any] = {"physics": decay, "data": data, "settings": tiny} | change
        with pytest.raises(GreymatchError, match=message):
            fit(**arguments, quiet=True)


def test_physics_that_cannot_be_trained_is_refused_before_anything_is_written(
    decays: Decays, tiny: Settings, tmp_path: Path
):
    import math

    cases = [
        (lambda t, x, p: {"x": math.exp(x.x)}, "use torch functions, not math"),
        (lambda t, x, p: {"x": x.x - x.x.mean()}, "must treat rows of a batch independently"),
        (lambda t, x, p: {"x": torch.log(p.k - 1) * x.x}, "must be finite over its prior"),
        (lambda t, x, p: {"y": x.x}, r"missing \['x'\], extra \['y'\]"),
    ]
    for function, message in cases:
        with pytest.raises(GreymatchError, match=message):
            fit(
                Physics(function, ["x"], {"k": Uniform(0.2, 2.0)}),
                decays(12),
                settings=tiny,
                folder=tmp_path,
                quiet=True,
            )
    assert list(tmp_path.iterdir()) == []


def test_the_arguments_of_fit_go_before_its_settings(decay: Physics, decays: Decays, quick: Settings):
    model = fit(decay, decays(12), settings=quick.updated({"training.minutes": 9}), steps=3, seed=8, quiet=True)
    training = model.settings.training
    assert (training.steps, training.minutes, training.seed) == (3, None, 8)


def test_validation_data_may_be_given(decay: Physics, decays: Decays, quick: Settings):
    model = fit(decay, decays(12), decays(5, seed=3), settings=quick, steps=2, quiet=True)
    assert model.record["trajectories"] == {"train": 12, "validation": 5}


def test_lines_are_shown_where_there_is_no_terminal(
    decay: Physics, decays: Decays, quick: Settings, capsys: pytest.CaptureFixture[str]
):
    fit(decay, decays(12), settings=quick)
    out, error = capsys.readouterr()
    assert out == ""
    steps = [line.split()[1] for line in error.splitlines() if line.startswith("step")]
    assert steps == ["5", "10", "15", "20"]


# --- noise


def shaken(data: Trajectories, size: float) -> Trajectories:
    noise = torch.randn(data.values.shape, generator=torch.Generator().manual_seed(0), dtype=data.values.dtype)
    return replace(data, values=data.values + size * noise)


def test_noise_is_estimated_told_kept_and_used_on_histories(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path
):
    said = Said()
    data = shaken(decays(24), 0.05)
    model = fit(decay, data, settings=tiny, progress=said)
    assert re.match(r"noise of the observations \(estimated\): x 0\.0[45]", said.texts[0])
    assert model.record["observation_noise"]["x"] == pytest.approx(0.05, rel=0.15)
    again = load(model.save(tmp_path / "model.safetensors"), decay)
    assert again.noise == model.noise == pytest.approx([0.05], rel=0.15)
    history, times = data.until(2.0), [2.5, 3.0]
    forecast = again.forecast(history, times, draws=8)
    assert torch.equal(forecast.draws, model.forecast(history, times, draws=8).draws)
    starts = again.forecast(history, [2.0001], draws=40).draws[:, :, 0, 0]
    assert bool((starts.std(0) > 0.002).all()), "what noise hides of the start is in the ensemble"


def test_clean_data_are_left_alone(decay: Physics, decays: Decays, tiny: Settings):
    said = Said()
    auto = fit(decay, decays(12), settings=tiny, progress=said)
    assert said.texts[0] == "noise of the observations: none (estimated); nothing is smoothed"
    none = fit(decay, decays(12), settings=tiny.updated({"data.noise": 0}), quiet=True)
    assert same(auto, none)
    assert auto.noise == ()


def test_a_noisy_run_that_was_stopped_goes_on_as_if_it_had_not_been(
    decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path
):
    data = shaken(decays(12), 0.05)
    settings = tiny.updated({"data.noise": {"x": 0.05}})
    whole = fit(decay, data, settings=settings, quiet=True)
    stop = Log(at=15, do=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(decay, data, settings=settings, folder=tmp_path, trackers=[stop], quiet=True)
    assert same(fit(decay, data, settings=settings, folder=tmp_path, resume=True, quiet=True), whole)


@pytest.mark.parametrize("method", ["tfm", "bb-node", "physvae", "gb-dm"])
def test_every_method_takes_noisy_data(decay: Physics, decays: Decays, tiny: Settings, method: str):
    data = shaken(decays(12), 0.05)
    model = fit(decay, data, settings=tiny, method=method, steps=4, quiet=True)
    assert bool(model.forecast(data.until(2.0), [2.5], draws=4).draws.isfinite().all())
