"""Was the physics used at all? How much of the velocity comes from each part."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, usable
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.models.latents import Latents
from greymatch.models.march import march
from greymatch.models.network import Network
from greymatch.simulation.start import Start


def physics_share(network: Network, data: Trajectories) -> dict[str, dict[str, float]]:
    """Root mean square of the physics and of the residual in each equation, and the physics' share of the two."""
    physics, settings = network.physics, network.settings
    first = usable(data, settings.window)[:, settings.window - 1 : settings.window].any(1)
    if not bool(first.any()):
        raise GreymatchError(
            f"`data` must go on after the {settings.window} points of the model's window; the longest trajectory has "
            f"{int(data.lengths.max())}. Give whole trajectories, not histories."
        )
    data = data.select(first.nonzero()[:, 0])
    if network.recalls:
        return _named(network, data)
    path = interpolated(data.to("cpu"), settings, physics.order).to(data.times.device, torch.float32)
    rows = torch.arange(len(data), device=data.times.device)
    window = gather(data, rows, torch.full_like(rows, settings.window - 1), settings.window)
    observed = data.times[:, settings.window :]
    times = torch.where(observed.isfinite(), observed, window.end[:, None])
    matched = path.at(rows, times)
    moving = [matched.position] + [matched.velocity] * (physics.order - 1)
    inputs = data.inputs.at(rows, times).float() if data.inputs else None
    with torch.no_grad():
        latents: Latents = network.central(network.look(window)).latents
        parts = network.dynamics.parts(matched.time, torch.cat(moving, 2), latents.over(times.shape[1]), inputs)
    sound = path.trust(rows, times, physics.order) & observed.isfinite()[..., None]
    return {
        name: _share(parts.physics[:, :, index][sound[:, :, index]], parts.residual[:, :, index][sound[:, :, index]])
        for index, name in enumerate(physics.states)
    }


def _share(known: Tensor, learned: Tensor) -> dict[str, float]:
    ours, its = (float(part.double().square().mean().sqrt()) for part in (known, learned))
    return {"physics": ours, "residual": its, "share": ours / max(ours + its, 1e-30)}


def _named(network: Network, data: Trajectories) -> dict[str, dict[str, float]]:
    """For a method that names the next point: the velocity to it, after each trajectory's first window."""
    length, scales = network.settings.window, network.scales
    rows = torch.arange(len(data), device=data.times.device)
    window = gather(data, rows, torch.full_like(rows, length - 1), length)
    with torch.no_grad():
        members = network.central(network.look(window))
        start = Start.of(window, network.physics.order)
        after = start.time[:, None] + scales.step.to(start.time)
        values = march(network, start, members, after, data.inputs).values[:, 0]
    moved = (values - start.phase[:, : values.shape[1]].to(values)) / scales.step
    return {name: _share(torch.zeros(1), moved[:, index]) for index, name in enumerate(network.physics.states)}
