"""A batch in parts: what it tells, what it holds in memory, and runs that go on with it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.methods import METHODS
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.device import fabric
from greymatch.training.engine import engine
from greymatch.training.fit import fit
from greymatch.training.parts import learned
from greymatch.training.recipe import recipe

Decays = Callable[..., Trajectories]

SPRING = Physics(lambda t, x, p: {"x": -4 * x.x}, ["x"], order=2)

ROTATION = Physics(lambda t, x, p: {"a": x.b, "b": -x.a}, ["a", "b"])


def turning() -> Trajectories:
    """Circles whose second state is seen at every other point, but for some."""
    times = torch.linspace(0, 6, 41, dtype=torch.float64).repeat(12, 1)
    angle = times + torch.arange(12)[:, None]
    values = torch.stack([angle.sin(), angle.cos()], -1)
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[::3, ::2, 1] = False
    return Trajectories(("a", "b"), times, values, mask, np.arange(12))


def gappy(data: Trajectories) -> Trajectories:
    """Parts of a batch then hold different numbers of observations."""
    mask = data.mask.clone()
    mask[::3, 20:24] = False
    return replace(data, mask=mask)


class Told(NamedTuple):
    """By one step: the terms of its loss, its gradient and the numbers that are drawn next."""

    terms: dict[str, Tensor]
    gradient: dict[str, Tensor]
    after: Tensor


def told(physics: Physics, data: Trajectories, settings: Settings, parts: int) -> Told:
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))
    torch.manual_seed(0)
    network = Network.fitting(physics, settings, Scales.of(data, path), window)
    for weight in network.parameters():
        weight.data += 0.05 * torch.randn_like(weight)
    way, generator = recipe(network, data, path), torch.Generator().manual_seed(1)
    made = engine(network, way.objective, settings.training, fabric(settings.training), 1)
    batch, noise = way.sampler.draw(32, generator), torch.full((way.objective.channels,), 0.1)
    learned(made, way.objective, batch, noise, generator, parts)  # of which nothing is left in the next step
    loss = learned(made, way.objective, batch, noise, generator, parts)
    terms = {name: term.detach() for name, term in loss._asdict().items() if term is not None}
    gradient = {name: one.grad for name, one in network.named_parameters() if one.grad is not None}
    return Told(terms, gradient, generator.get_state())


def check_same(physics: Physics, data: Trajectories, settings: Settings, rtol: float = 1e-4) -> None:
    whole, parts = (told(physics, data, settings, parts) for parts in (1, 4))
    assert torch.equal(whole.after, parts.after)
    for wanted, found in ((whole.terms, parts.terms), (whole.gradient, parts.gradient)):
        assert wanted.keys() == found.keys()
        for name, value in wanted.items():
            near = rtol * float(value.norm()) + 1e-7
            torch.testing.assert_close(found[name], value, rtol=rtol, atol=near, msg=f"{name} differs")


@pytest.mark.parametrize("method", METHODS)
def test_parts_tell_what_the_whole_batch_does(decay: Physics, decays: Decays, tiny: Settings, method: str) -> None:
    settings = tiny.updated({"method": method, "simulation.points": 5, "residual.products": 0})
    data = gappy(decays(12))
    check_same(decay, data, settings)


def test_so_they_do_of_accelerations_a_learned_velocity_and_doubtful_points(decays: Decays, tiny: Settings) -> None:
    changes = {"residual.kinematics": "learned", "method": "vgb-dm", "residual.products": 0}
    data = gappy(replace(decays(12), noise=(0.05,)))
    check_same(SPRING, data, tiny.updated(changes))


@pytest.mark.parametrize("method", ["vgb-dm", "tfm", "bb-node"])
def test_so_they_do_where_one_of_two_states_is_seen_less(tiny: Settings, method: str) -> None:
    check_same(ROTATION, turning(), tiny.updated({"method": method}))


def test_so_they_do_in_half_precision(decay: Physics, decays: Decays, tiny: Settings) -> None:
    settings = tiny.updated({"training.precision": "bf16-mixed", "training.device": "cpu", "residual.products": 0})
    check_same(decay, gappy(decays(12)), settings, rtol=0.05)


def test_a_part_is_all_that_is_kept_for_its_gradient(decay: Physics, decays: Decays, tiny: Settings) -> None:
    settings = tiny.updated({"encoder.width": 64, "residual.width": 64, "residual.products": 0})

    def kept(parts: int) -> int:
        most, now = 0, 0

        class Kept:
            """Counted as long as a graph holds it."""

            def __init__(self, tensor: Tensor) -> None:
                nonlocal most, now
                self.tensor, self.size = tensor, tensor.numel()
                now += self.size
                most = max(most, now)

            def __del__(self) -> None:
                nonlocal now
                now -= self.size

        with torch.autograd.graph.saved_tensors_hooks(Kept, lambda held: held.tensor):
            told(decay, decays(12), settings, parts)
        return most

    assert kept(4) < 0.5 * kept(1)


class Log:
    """A tracker that keeps what it is told, and stops the run after so many steps."""

    def __init__(self, last: int = 0) -> None:
        self.metrics: list[dict[str, float]] = []
        self._last = last

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.metrics.append(metrics)
        if step == self._last:
            signal.raise_signal(signal.SIGINT)

    def close(self) -> None: ...


@pytest.fixture
def settling(tiny: Settings) -> Settings:
    """Some steps with an encoder and some with latents that are settled, whose batches are drawn together."""
    changes = {"training.settle": 0.5, "training.steps": 12, "training.validations": 12, "residual.products": 0}
    return tiny.updated(changes | {"encoder.refine": True, "training.rate": 1e-3})


def same(model: GreyBox, other: GreyBox, near: float = 0.0) -> bool:
    pairs = zip(model.network.state_dict().values(), other.network.state_dict().values(), strict=True)
    return all(torch.allclose(one, two, rtol=near, atol=near) for one, two in pairs)


@pytest.mark.usefixtures("roughly")
def test_a_run_in_parts_is_the_run(decay: Physics, decays: Decays, settling: Settings) -> None:
    logs, models = {}, {}
    for parts in (1, 4):
        logs[parts] = Log()
        settings = settling.updated({"training.parts": parts})
        models[parts] = fit(decay, gappy(decays(12)), settings=settings, trackers=[logs[parts]], quiet=True)
    assert len(logs[1].metrics) == 12
    assert ["kl_z" in metrics for metrics in logs[4].metrics] == 6 * [True] + 6 * [False]
    for name in ("total", "matching", "noise_0", "forecast_mse"):
        found, wanted = ([metrics[name] for metrics in logs[parts].metrics] for parts in (4, 1))
        assert found == pytest.approx(wanted, rel=2e-4, abs=1e-7)
    assert same(models[1], models[4], near=1e-3)


@pytest.mark.usefixtures("roughly")
@pytest.mark.parametrize("step", [3, 9])
def test_a_run_in_parts_that_was_stopped_goes_on_as_if_it_had_not_been(
    decay: Physics, decays: Decays, settling: Settings, tmp_path: Path, step: int
) -> None:
    settings, data = settling.updated({"training.parts": 4}), decays(12)
    with pytest.raises(KeyboardInterrupt):
        fit(decay, data, settings=settings, folder=tmp_path, trackers=[Log(step)], quiet=True)
    resumed = fit(decay, data, settings=settings, folder=tmp_path, resume=True, quiet=True)
    assert same(resumed, fit(decay, data, settings=settings, quiet=True))


@pytest.mark.usefixtures("roughly")
def test_a_run_goes_on_in_other_parts(decay: Physics, decays: Decays, settling: Settings, tmp_path: Path) -> None:
    data = decays(12)
    with pytest.raises(KeyboardInterrupt):
        fit(decay, data, settings=settling, folder=tmp_path, trackers=[Log(3)], quiet=True)
    settings = settling.updated({"training.parts": 2})
    resumed = fit(decay, data, settings=settings, folder=tmp_path, resume=True, quiet=True)
    assert same(resumed, fit(decay, data, settings=settling, quiet=True), near=1e-3)
