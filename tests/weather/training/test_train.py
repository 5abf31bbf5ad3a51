from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.training.progress import Moment, Silent
from greymatch.weather.archive import Archive
from greymatch.weather.clock import after
from greymatch.weather.labelled import labelled
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.references import persistence
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.sphere import area_weights
from greymatch.weather.training.objective import Objective
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.states import States
from greymatch.weather.training.train import train

LEADS = (6, 24)


def sampler(archive: Archive, settings: WeatherSettings) -> Sampler:
    network = WeatherNetwork.fitting(settings, archive)
    return Sampler(network, States.of(archive, network, settings.net.history + 2))


def test_points_lie_on_the_way_between_two_states_and_the_past_before_it(
    drifting: Archive, tiny: WeatherSettings
) -> None:
    drawn = sampler(drifting, tiny.updated({"matching.sigma": 0.0}))
    sample = drawn.draw(16, torch.Generator().manual_seed(0))
    values, _ = drawn.states.chunk(sample.rows)
    part = ((sample.matched.time[:, 0] - sample.began) / 6).float()[:, None, None, None]
    assert ((part >= 0) & (part <= 1)).all()
    torch.testing.assert_close(sample.matched.position[:, 0], torch.lerp(values[:, 2], values[:, 3], part))
    torch.testing.assert_close(sample.matched.velocity[:, 0], (values[:, 3] - values[:, 2]) / 6)
    torch.testing.assert_close(sample.past, values[:, :3])


def test_the_bridge_departs_from_the_way_by_its_sigma(drifting: Archive, tiny: WeatherSettings) -> None:
    drawn = sampler(drifting, tiny.updated({"matching.sigma": 0.5}))
    sample = drawn.draw(256, torch.Generator().manual_seed(0))
    values, _ = drawn.states.chunk(sample.rows)
    part = ((sample.matched.time[:, 0] - sample.began) / 6).float()[:, None, None, None]
    apart = sample.matched.position[:, 0] - torch.lerp(values[:, 2], values[:, 3], part)
    usual = (apart / (part * (1 - part)).sqrt()).square().mean((0, 2, 3)).sqrt()
    scale = drawn.network.change / drawn.network.spread
    torch.testing.assert_close(usual, 0.5 * scale, rtol=0.05, atol=0)


def test_a_network_that_says_nothing_is_wrong_by_the_usual_change(drifting: Archive, tiny: WeatherSettings) -> None:
    drawn = sampler(drifting, tiny)
    sample = drawn.draw(512, torch.Generator().manual_seed(0))
    loss = Objective(drawn.network)(sample, torch.ones(2), None)
    torch.testing.assert_close(loss.errors, torch.ones(2), rtol=0.1, atol=0)
    assert float(area_weights(sample.past).mean()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("method", "steps", "most"), [("vgb-dm", 150, 0.4), ("black-box", 150, 0.4), ("climode", 30, 0.7)]
)
def test_it_learns_a_drift_that_persistence_does_not_know(
    drifting: Archive, tiny: WeatherSettings, method: str, steps: int, most: float
) -> None:
    changes = {"training.steps": steps, "method": method, "solving.steps": 2, "transport.substeps": 1}
    model = train(drifting, settings=tiny.updated(changes), quiet=True)
    starts = drifting.times[-60:-10:7]
    ours, stays = (
        predict(starts).to_array().values
        for predict in (model.predictor(drifting, LEADS), persistence(drifting, LEADS))
    )
    truth = labelled(drifting, starts, LEADS, drifting.maps(after(starts, np.array(LEADS), 6))).to_array().values
    ratio = np.sqrt(((ours - truth) ** 2).mean((1, 3, 4)) / ((stays - truth) ** 2).mean((1, 3, 4)))  # by field and lead
    assert ratio.max() < most
    assert model.record["steps"] == steps


class Stopping(Silent):
    def show(self, moment: Moment) -> None:
        if moment.validated:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("parts", [1, 4])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(
    drifting: Archive, tiny: WeatherSettings, tmp_path: Path, parts: int
) -> None:
    tiny = tiny.updated({"training.parts": parts})
    with pytest.raises(KeyboardInterrupt):
        train(drifting, settings=tiny, folder=tmp_path / "a", progress=Stopping())
    resumed = train(drifting, settings=tiny, folder=tmp_path / "a", resume=True, quiet=True)
    whole = train(drifting, settings=tiny, folder=tmp_path / "b", quiet=True)
    for name, value in whole.network.state_dict().items():
        torch.testing.assert_close(resumed.network.state_dict()[name], value, rtol=0, atol=0)


class Curve(Silent):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def show(self, moment: Moment) -> None:
        self.losses.append(moment.terms["total"])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method": "black-box", "net.variational": True},
        {"method": "climode", "solving.steps": 2, "transport.substeps": 1},
    ],
    ids=lambda changes: changes.get("method", "vgb-dm"),
)
def test_a_run_in_parts_is_the_run(drifting: Archive, tiny: WeatherSettings, changes: dict[str, Any]) -> None:
    curves, models = {}, {}
    for parts in (1, 4):
        curves[parts] = Curve()
        settings = tiny.updated({**changes, "training.parts": parts, "training.validations": 6})
        models[parts] = train(drifting, settings=settings, progress=curves[parts])
    assert len(curves[1].losses) >= 6
    assert curves[4].losses == pytest.approx(curves[1].losses, rel=1e-4)
    for name, value in models[1].network.state_dict().items():
        torch.testing.assert_close(models[4].network.state_dict()[name], value, rtol=1e-3, atol=1e-3, msg=name)


def test_latents_that_are_drawn_are_pulled_to_the_normal_law(drifting: Archive, tiny: WeatherSettings) -> None:
    drawn = sampler(drifting, tiny.updated({"net.variational": True}))
    sample = drawn.draw(8, torch.Generator().manual_seed(0))
    loss = Objective(drawn.network)(sample, torch.ones(2), torch.Generator().manual_seed(0))
    torch.testing.assert_close(loss.total, loss.matching + loss.divergence)
    loss.divergence.backward()
    width = drawn.network.dynamics.encoder.width.weight
    assert width.grad is not None
    assert width.grad.any()


def test_half_precision_trains_too(drifting: Archive, tiny: WeatherSettings) -> None:
    model = train(drifting, settings=tiny.updated({"training.precision": "bf16-mixed"}), quiet=True)
    assert np.isfinite(model.record["validation_error"])


def test_another_archive_than_that_of_the_run_is_refused(
    drifting: Archive, tiny: WeatherSettings, tmp_path: Path
) -> None:
    train(drifting, settings=tiny, folder=tmp_path / "a", quiet=True)
    with pytest.raises(GreymatchError, match="settings differ"):
        train(drifting, settings=tiny, steps=7, folder=tmp_path / "a", resume=True, quiet=True)
