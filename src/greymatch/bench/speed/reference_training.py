"""What one writes first: eager PyTorch, a DataLoader of windows, a spline a trajectory, the objective as it reads.

Same nets, batch and objective as ours. What is not here costs nothing here: no averaged weights, no validation, no
checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.interpolate import make_interp_spline
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window
from greymatch.models.dynamics import Dynamics, Parts
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.settings import Settings

SKIPPED = 3  # points at the start of a trajectory, where splines err
NOISE_DECAY, CLIP = 0.98, 10.0
Item = dict[str, np.ndarray]


class WindowDataset(Dataset[Item]):
    """A window, and points of its inside and of its future on the spline through the trajectory."""

    def __init__(self, data: Trajectories, settings: Settings, order: int) -> None:
        self.times, self.values = data.times.numpy(), data.values.numpy()
        self.window, self.matching, self.order = settings.window, settings.matching, order
        splines = [make_interp_spline(t, x, k=5) for t, x in zip(self.times, self.values, strict=True)]
        self.curves = [[spline, *(spline.derivative(n) for n in range(1, order + 1))] for spline in splines]
        last = self.times.shape[1] - 1
        self.places = [(row, end) for row in range(len(self.times)) for end in range(self.window - 1, last)]
        self.rng = np.random.default_rng(settings.training.seed)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> Item:
        row, end = self.places[number]
        first = end - self.window + 1
        at = self._points(self.times[row], first, end)
        item = {"times": self.times[row, first : end + 1], "values": self.values[row, first : end + 1], "at": at}
        return item | {f"derivative_{n}": curve(at).astype(np.float32) for n, curve in enumerate(self.curves[row])}

    def _points(self, times: np.ndarray, first: int, end: int) -> np.ndarray:
        """Times inside the window, and in its future: more of them where it is near."""
        inside = self.rng.uniform(times[first + SKIPPED], times[end], self.matching.past)
        part = (np.arange(self.matching.points) + self.rng.random(self.matching.points)) / self.matching.points
        return np.concatenate([inside, times[end] + part**2 * (times[-1] - times[end])])


class PlainLoop:
    """Epoch after epoch, batch after batch."""

    def __init__(self, network: Network, data: Trajectories, settings: Settings) -> None:
        self.network = network
        dataset = WindowDataset(data, settings, network.physics.order)
        self.loader = DataLoader(dataset, settings.training.batch, shuffle=True, drop_last=True)
        training = settings.training
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=training.rate, weight_decay=training.decay)
        self.noise = torch.ones(len(network.physics.states))
        self.batches = self._forever()

    def _forever(self) -> Iterator[dict[str, Tensor]]:
        while True:
            yield from self.loader

    def step(self) -> float:
        loss, errors = objective(self.network, next(self.batches), self.noise)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        self.noise = NOISE_DECAY * self.noise + (1 - NOISE_DECAY) * errors
        return loss.item()


def objective(
    network: Network, batch: dict[str, Tensor], noise: Tensor, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Squared errors of the highest derivative over the noise, KL of both latents, size and slopes of the residual."""
    settings, field, order = network.settings.matching, network.dynamics, network.physics.order
    features = network.features(window_of(batch))
    encoded = network.encode(features, generator)
    position, *derivatives = (batch[f"derivative_{n}"] for n in range(order + 1))
    phase = torch.cat([position, *derivatives[:-1]], 2)
    latents = encoded.latents.over(phase.shape[1])
    parts = field.parts(batch["at"], phase, latents)
    unit = _over((field.scales_top * features.amplitude)[:, None], parts.total)
    errors = ((parts.total - derivatives[-1]) / unit).square().transpose(0, 2).flatten(1).mean(1)
    size = (parts.residual / unit).abs().mean()
    slopes = _slopes(field, (batch["at"], phase, latents), parts, generator)
    evidence = settings.evidence or float(network.settings.window)
    alpha = settings.alpha if order == 2 else 1.0
    fit = 0.5 * alpha * (errors / noise.clamp_min(settings.noise_floor**2)).sum()
    kl = encoded.eps.kl().mean() + encoded.z.kl().mean()
    return evidence * (fit + settings.size * size + settings.sensitivity * slopes) + kl, errors.detach()


def _slopes(
    field: Dynamics, point: tuple[Tensor, Tensor, Latents], parts: Parts, generator: torch.Generator | None
) -> Tensor:
    """How much the residual changes when one column of the state is moved a little."""
    at, phase, latents = point
    columns = phase.shape[2]
    chosen = torch.randint(columns, phase.shape[:2], generator=generator)
    step = torch.randn(phase.shape[:2], generator=generator)
    move = step[..., None] * torch.nn.functional.one_hot(chosen, columns) * field.scales_spread
    after = field.learned(at, phase + _over(move, phase), latents, None, parts.physics)
    return columns * ((after - parts.learned) / _over(step.abs().clamp_min(0.1)[..., None], after)).abs().mean()


def window_of(batch: dict[str, Tensor]) -> Window:
    values = batch["values"].float()
    return Window(batch["times"], values, torch.ones_like(values, dtype=torch.bool), None)


def _over(scale: Tensor, like: Tensor) -> Tensor:
    """Trailing axes for the grid."""
    return scale.reshape(*scale.shape, *(1,) * (like.ndim - scale.ndim))
