"""The real training loop of a system, one step at a time."""

from __future__ import annotations

from pathlib import Path

import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.device import fabric, ranks
from greymatch.training.loop import Loop
from greymatch.training.progress import Silent
from greymatch.training.recipe import recipe
from greymatch.training.reporting import Reporter
from greymatch.training.stock import stocked
from greymatch.training.validation import Validator

ENDLESS = {"training.steps": 10**9, "training.minutes": None}


def network_for(physics: Physics, data: Trajectories, settings: Settings) -> Network:
    """The nets before anything is known."""
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Network.fitting(physics, settings, Scales.of(data, path), window)


def loop_for(physics: Physics, data: Trajectories, settings: Settings, folder: Path) -> Loop:
    """A loop that never ends by itself; `step` advances it."""
    settings = settings.updated(ENDLESS)
    train = stocked(data, data, settings).train
    network = network_for(physics, train, settings)
    if settings.training.channels_last:
        network = network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - it is documented
    way = recipe(network, train, interpolated(train, settings, physics.order))
    validator = Validator.of(train, settings.window)
    machine, quiet = fabric(settings.training), Reporter(Silent(), [])
    return Loop(network, way, validator, settings.training, folder, quiet, machine, ranks=ranks(machine))


def settle(loop: Loop) -> Loop:
    """As in the later part of a fit, when trajectories have told their latents and nothing is encoded."""
    settings = loop.network.settings
    latents = loop.network.shapes.free + settings.encoder.latents
    loop.state.settled = torch.zeros(len(loop.way.sampler.labels), latents)
    return loop
