"""Validation by what counts: the error of forecasts on trajectories not trained on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, gather
from greymatch.models.network import Network
from greymatch.models.rollout import roll_out

MOST_TRAJECTORIES = 128
WORST = 1e3


@dataclass(frozen=True)
class ForecastError:
    """`mse` in physical units, for people; `scaled` relative to each state's spread, for choosing; `failed` members."""

    mse: float
    scaled: float
    failed: int


@dataclass(frozen=True)
class Validator:
    """Forecasts from the first window of each validation trajectory to its end, with the posterior's means."""

    window: Window
    times: Tensor
    truth: Tensor
    seen: Tensor
    signals: Signals | None

    @staticmethod
    def of(data: Trajectories, length: int) -> Validator:
        data = data.select((data.lengths > length).nonzero()[:MOST_TRAJECTORIES, 0].cpu())
        rows = torch.arange(len(data), device=data.times.device)
        window = gather(data, rows, torch.full_like(rows, length - 1), length)
        return Validator(
            window, data.times[:, length:], data.values[:, length:], data.mask[:, length:], data.inputs
        )

    def error(self, network: Network) -> ForecastError:
        with torch.no_grad():
            latents = network.encode(network.features(self.window), None, sample=False).latents
            solution = roll_out(network, self.window, latents, self.times, self.signals, tolerance=1e-4)
        spread = network.scales.spread.reshape(-1, *(1,) * (self.truth.ndim - 3))
        error = (solution.values - self.truth.float())[self.seen]
        scaled = ((solution.values - self.truth.float()) / spread)[self.seen]
        bounded = scaled.nan_to_num(WORST, WORST, WORST).clamp(-WORST, WORST)
        return ForecastError(
            float(error.square().mean()), float(bounded.square().mean()), int((solution.status != 0).sum())
        )
