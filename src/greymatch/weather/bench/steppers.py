"""Training steps, one at a time, without the rest of the loop."""

from __future__ import annotations

import time
from dataclasses import replace

import torch
from torch import Tensor

from greymatch.training.device import fabric
from greymatch.training.engine import engine
from greymatch.training.parts import learned
from greymatch.weather.archive import Archive
from greymatch.weather.bench import plain
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.settings import WeatherSettings
from greymatch.weather.training.recalling import recalled
from greymatch.weather.training.sampler import Sampler
from greymatch.weather.training.ways import WAYS

RATE = 1e-4


class Stepper:
    """As `train` takes them, with what the pasts say found beforehand: that took `once` seconds of the processor."""

    def __init__(self, train: Archive, settings: WeatherSettings) -> None:
        self.network = _network(train, settings)
        if settings.training.channels_last:
            self.network = self.network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.way, self.training = WAYS[settings.method](self.network, train), settings.training
        training = self.training.model_copy(update={"rate": RATE})
        self.engine = engine(self.network, self.way.objective, training, fabric(training), 1)
        self.sampler, self.generator = self.way.sampler, torch.Generator().manual_seed(0)
        self.noise, began = torch.ones(self.way.objective.channels), time.process_time()
        if isinstance(self.sampler, Sampler):
            self.sampler = replace(self.sampler, recalled=recalled(self.network, self.sampler.states))
        self.once = time.process_time() - began

    def step(self) -> float:
        """Seconds of the processor."""
        began = time.process_time()
        batch = self.sampler.draw(self.training.batch, self.generator)
        learned(self.engine, self.way.objective, batch, self.noise, self.generator, self.training.parts)
        self.engine.optimizer.step()
        return time.process_time() - began


class PlainStepper:
    """An ordinary loop: float32, channels first, every layer by the call that torch has for it, see `plain`."""

    once = 0.0

    def __init__(self, train: Archive, settings: WeatherSettings) -> None:
        self.network, self.batch = _network(train, settings), settings.training.batch
        self.sampler = WAYS[settings.method](self.network, train).sampler
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=RATE)
        self.noise, self.generator = torch.ones(len(self.network.shape.names)), torch.Generator().manual_seed(0)

    def loss(self) -> Tensor:
        return plain.loss(self.network, self.sampler.draw(self.batch, self.generator), self.noise)

    def step(self) -> float:
        """Seconds of the processor."""
        began = time.process_time()
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()
        return time.process_time() - began


STEPPERS = {"ours": Stepper, "plain": PlainStepper}


def _network(train: Archive, settings: WeatherSettings) -> WeatherNetwork:
    torch.manual_seed(0)
    return WeatherNetwork.fitting(settings, train)
