"""Was the physics used at all? How much of the velocity comes from each part."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, usable
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.methods import method_named
from greymatch.models.latents import Latents
from greymatch.models.march import march
from greymatch.models.network import Network
from greymatch.simulation.start import Start

LEAST = 0.5  # of an equation: where the physics does less, the residual has taken over
FEW, FEW_FIELDS = 16, 2  # trajectories that the shares in a model's record are of

Shares = dict[str, dict[str, float]]


class ResidualTookOverWarning(UserWarning):
    """The learned residual does more than the known physics."""


def taken_over(shares: Mapping[str, Mapping[str, float]], method: str) -> list[str]:
    """The states in whose equations the residual does more than the physics, if the method was given one."""
    if not method_named(method).uses_physics:
        return []
    return [name for name, part in shares.items() if part["share"] < LEAST]


def warn_of_takeover(shares: Mapping[str, Mapping[str, float]], method: str) -> None:
    """Warn, once for all equations, where the residual has taken over."""
    taken = taken_over(shares, method)
    if taken:
        told = ", ".join(f"{name} (share of the physics {shares[name]['share']:.2g})" for name in taken)
        warnings.warn(
            f"the residual does more than the physics in the equation of {told}. The inferred parameters may mean "
            "little: name equations that are complete, or let the residual pay more (`matching.sensitivity`).",
            ResidualTookOverWarning,
            stacklevel=3,
        )


def kept_share(network: Network, data: Trajectories) -> Shares:
    """The shares over a few trajectories, for a model's record; none where no trajectory shows a first window."""
    rows = _going_on(network, data).nonzero()[: FEW_FIELDS if data.grid else FEW, 0]
    return physics_share(network, data.select(rows)) if len(rows) else {}


def physics_share(network: Network, data: Trajectories) -> Shares:
    """Root mean square of the physics and of the residual in each equation, and the physics' share of the two."""
    physics, settings = network.physics, network.settings
    first = _going_on(network, data)
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


def _going_on(network: Network, data: Trajectories) -> Tensor:
    """Which trajectories (N,) show a first window, and go on after it."""
    length = network.settings.window
    return usable(data, length)[:, length - 1 : length].any(1)


def _share(known: Tensor, learned: Tensor) -> dict[str, float]:
    ours, its = (float(part.double().square().mean().sqrt()) for part in (known, learned))
    return {"physics": ours, "residual": its, "share": ours / max(ours + its, 1e-30)}


def _named(network: Network, data: Trajectories) -> Shares:
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
