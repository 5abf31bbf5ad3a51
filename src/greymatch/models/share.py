"""Was the physics used at all? How much of the velocity comes from each part."""

from __future__ import annotations

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, usable
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.models.latents import Latents
from greymatch.models.network import Network


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
    path = interpolated(data.to("cpu"), settings, physics.order).to(data.times.device, torch.float32)
    rows = torch.arange(len(data), device=data.times.device)
    window = gather(data, rows, torch.full_like(rows, settings.window - 1), settings.window)
    observed = data.times[:, settings.window :]
    times = torch.where(observed.isfinite(), observed, window.end[:, None])
    matched = path.at(rows, times)
    moving = [matched.position] + [matched.velocity] * (physics.order - 1)
    inputs = data.inputs.at(rows, times).float() if data.inputs else None
    with torch.no_grad():
        latents: Latents = network.encode(network.features(window), None, sample=False).latents
        parts = network.dynamics.parts(matched.time, torch.cat(moving, 2), latents.over(times.shape[1]), inputs)
    sound = path.trust(rows, times, physics.order) & observed.isfinite()[..., None]
    shares = {}
    for index, name in enumerate(physics.states):
        chosen = sound[:, :, index]
        known = float(parts.physics[:, :, index][chosen].double().square().mean().sqrt())
        learned = float(parts.residual[:, :, index][chosen].double().square().mean().sqrt())
        shares[name] = {"physics": known, "residual": learned, "share": known / max(known + learned, 1e-30)}
    return shares
