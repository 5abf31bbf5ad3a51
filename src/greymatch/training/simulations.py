"""Windows that the known physics makes by itself, with parameters of its prior: what PhysVAE's encoder learns from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.windows import Window, Windows
from greymatch.models.features import Features
from greymatch.models.motion import Motion
from greymatch.models.network import Network
from greymatch.simulation.objective import Course, Simulated, physics_only
from greymatch.simulation.start import Start
from greymatch.simulation.unroll import stage_times
from greymatch.together import integers

MOST, AT_ONCE = 16_384, 1024
TIMES_THE_DATA = 4  # a few for each window of the data
ROOM = 2**28  # bytes


def past_course(network: Network, windows: Windows, rows: Tensor, window: Window) -> Course:
    """Through each window from its first point on, with the velocity that its stencil shows there."""
    motion = Motion.of(window, network.settings.encoder.stencil)
    start = Start(motion.phase(network.physics.order)[:, 0], window.times[:, 0])
    stages = stage_times(start.time, window.times[:, 1:], network.settings.simulation.substeps)
    return Course.of(start, stages, windows.data.inputs, rows, window.values[:, 1:], window.mask[:, 1:])


@dataclass(frozen=True)
class Simulations:
    """A bank of simulated windows, made once, since they do not depend on what is learned."""

    features: Features
    eps: Tensor

    @staticmethod
    def of(network: Network, windows: Windows, shared: int) -> Simulations:
        """From the starts, times, gaps and inputs of windows of the data; `shared` such banks share the room."""
        generator = torch.Generator(windows.pairs.device).manual_seed(network.settings.training.seed)
        one = simulated(network, windows, windows.draw(1, generator), generator)
        size = 4 * sum(tensor.numel() for tensor in one.features)
        count = max(1, min(MOST, TIMES_THE_DATA * len(windows), ROOM // size) // shared)
        numbers = windows.draw(count, generator).split(AT_ONCE)
        parts = [simulated(network, windows, chosen, generator) for chosen in numbers]
        features = Features(*(torch.cat(part) for part in zip(*(part.features for part in parts), strict=True)))
        eps = torch.cat([part.eps for part in parts])
        sound = torch.stack([part.flatten(1).isfinite().all(1) for part in features]).all(0)
        return Simulations(Features(*(part[sound] for part in features)), eps[sound])

    def draw(self, count: int, generator: torch.Generator) -> Simulated:
        chosen = integers(len(self.eps), (count,), generator, generator.device)
        return Simulated(Features(*(part[chosen] for part in self.features)), self.eps[chosen])


def simulated(network: Network, windows: Windows, chosen: Tensor, generator: torch.Generator) -> Simulated:
    """What the physics alone makes from the starts of the chosen windows, as the encoder sees it."""
    window = windows.gather(chosen)
    past = past_course(network, windows, windows.rows(chosen), window)
    eps = torch.randn((len(chosen), network.shapes.free), generator=generator, device=chosen.device)
    with torch.no_grad():
        after = physics_only(network, eps, past)
        first = past.phase[:, None, : after.shape[2]].to(after)
        made = Window(window.times, torch.cat([first, after], 1), window.mask, window.inputs)
        return Simulated(network.features(made), eps)
