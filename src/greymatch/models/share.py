"""Was the physics used at all? How much of the velocity comes from each part."""

from __future__ import annotations

import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather
from greymatch.matching.observed import interpolated
from greymatch.models.latents import Latents
from greymatch.models.network import Network


def physics_share(network: Network, data: Trajectories) -> dict[str, dict[str, float]]:
    """Root mean square of the physics and of the residual in each equation, and the physics' share of the two."""
    physics, settings = network.physics, network.settings
    path = interpolated(data, settings, physics.order).to(dtype=torch.float32)
    rows = torch.arange(len(data))
    window = gather(data, rows, torch.full_like(rows, settings.window - 1), settings.window)
    observed = data.times[:, settings.window :]
    times = torch.where(observed.isfinite(), observed, window.end[:, None])
    matched = path.at(rows, times)
    moving = [matched.position] + [matched.velocity] * (physics.order - 1)
    inputs = data.inputs.at(rows, times).float() if data.inputs else None
    with torch.no_grad():
        latents: Latents = network.encode(network.features(window), None, sample=False).latents
        parts = network.dynamics.parts(
            matched.time, torch.cat(moving, 2), latents.over(times.shape[1]), inputs
        )
    sound = path.trust(rows, times, physics.order) & observed.isfinite()[..., None]
    shares = {}
    for index, name in enumerate(physics.states):
        chosen = sound[:, :, index]
        known = float(parts.physics[:, :, index][chosen].square().mean().sqrt())
        learned = float(parts.residual[:, :, index][chosen].square().mean().sqrt())
        shares[name] = {"physics": known, "residual": learned, "share": known / max(known + learned, 1e-30)}
    return shares
