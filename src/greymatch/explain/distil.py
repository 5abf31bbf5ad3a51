"""The learned residual as numbers: what it says at states of the data, for each trajectory's own latents."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, gather, usable
from greymatch.errors import GreymatchError
from greymatch.matching.observed import interpolated
from greymatch.models.credit import slope
from greymatch.models.latents import Latents
from greymatch.models.network import Network

MOST_TRAJECTORIES, POINTS = 64, 400
EDGE = 3  # points at either end, where the interpolant is poorest


@dataclass(frozen=True)
class Distilled:
    """`residual` (N, M, S) of N trajectories' latents at the same M places, where variables have `columns` (M,).

    The places are drawn from all trajectories: along one alone, states move together and hide what does what.
    `speed` (S,) is the root mean square of the highest derivative there, `slopes` (M, S, L) how the known physics moves
    with each parameter (none for fields, whose physics needs all of the grid), `latents` those of the trajectories,
    which are `rows` (N,) of the data.
    """

    columns: dict[str, Tensor]
    residual: Tensor
    speed: Tensor
    slopes: Tensor
    latents: Latents
    rows: Tensor


def distil(network: Network, data: Trajectories, seed: int = 0) -> Distilled:
    """Ask the residual of a model at places that `data` visits."""
    _check(network)
    rows = _long_enough(network, data)
    data = data.select(rows.cpu())
    window = _first_window(network, data)
    with torch.no_grad():
        latents = network.central(network.look(window)).latents
        places = _places(network, data, seed)
    residual = _asked(network, places, latents)
    return Distilled(
        columns=_columns(network, places),
        residual=residual.double(),
        speed=places.top.double().square().mean(0).sqrt(),
        slopes=_slopes(network, places, latents).double(),
        latents=latents,
        rows=rows,
    )


def _check(network: Network) -> None:
    settings = network.settings.residual
    if network.recalls:
        raise GreymatchError(
            f"a {network.settings.method!r} model names the next point; it has no residual to explain."
        )
    for good, what in (
        (settings.composition == "additive", f"composition {settings.composition!r}"),
        (not settings.convolves, f"kernel {settings.kernel}"),
        (not settings.sees_time, "sees_time = true"),
    ):
        if not good:
            raise GreymatchError(
                f"only a residual that is added at each point and knows no time can be explained; this one has {what}."
            )


def _long_enough(network: Network, data: Trajectories) -> Tensor:
    """Trajectories (n,) with a window to read the latents from."""
    length = network.settings.window
    whole = usable(data, length)[:, length - 1 : length].any(1).nonzero()[:MOST_TRAJECTORIES, 0]
    if not len(whole):
        raise GreymatchError(
            f"`data` must go on after the {length} points of the model's window; the longest trajectory has "
            f"{int(data.lengths.max())}. Give whole trajectories, not histories."
        )
    return whole


def _first_window(network: Network, data: Trajectories) -> Window:
    length, rows = network.settings.window, torch.arange(len(data), device=data.times.device)
    return gather(data, rows, torch.full_like(rows, length - 1), length)


@dataclass(frozen=True)
class _Places:
    """`phase` (M, order*S), the `state` (M, C) that is visible of it, `inputs` (M, U) or None, and `top` (M, S), the
    highest derivative of the data there."""

    times: Tensor
    phase: Tensor
    state: Tensor
    inputs: Tensor | None
    top: Tensor


def _places(network: Network, data: Trajectories, seed: int) -> _Places:
    """Some observations of all trajectories, and of a field some of its pixels."""
    physics, generator = network.physics, torch.Generator().manual_seed(seed)
    path = interpolated(data.to("cpu"), network.settings, physics.order).to(data.times.device, torch.float32)
    rows, points = _inner(data, generator)
    times = data.times[rows, points][:, None]
    matched = path.at(rows, times)
    phase = torch.cat([matched.position] + [matched.velocity] * (physics.order - 1), 2)[:, 0]
    top = matched.velocity if matched.acceleration is None or physics.order == 1 else matched.acceleration
    top, state = top[:, 0], network.dynamics.visible(phase)
    if physics.grid:
        pixel = torch.randint(phase.shape[2:].numel(), (len(rows),), generator=generator).to(phase.device)
        phase, state, top = (
            part.flatten(2).gather(2, pixel[:, None, None].expand(-1, part.shape[1], 1))[..., 0]
            for part in (phase, state, top)
        )
    inputs = data.inputs.at(rows, times)[:, 0].float() if data.inputs else None
    return _Places(times[:, 0], phase, state, inputs, top)


def _columns(network: Network, places: _Places) -> dict[str, Tensor]:
    """Variables and curves (M,), by their names."""
    physics, curves = network.physics, network.dynamics.curves
    columns = [*places.phase.unbind(1), *(() if places.inputs is None else places.inputs.unbind(1))]
    bent = places.state[:, places.state.shape[1] - len(curves) :].unbind(1)
    columns += [column * curve.unit for curve, column in zip(curves, bent, strict=True)]
    names = (*physics.phase, *physics.inputs, *(curve.words for curve in curves))
    return {name: column.double() for name, column in zip(names, columns, strict=True)}


def _slopes(network: Network, places: _Places, latents: Latents) -> Tensor:
    """With the parameters of the middle of all trajectories."""
    if network.physics.grid or not network.physics.free:
        return places.top.new_zeros(*places.top.shape, 0)
    middle = [part.mean(0).expand(len(places.times), -1) for part in (latents.eps, latents.z)]
    where = (places.times, places.phase, places.inputs, Latents(*middle))
    with torch.no_grad():
        found = [slope(network.dynamics, *where, index) for index in range(len(network.physics.free))]
    return torch.stack(found, -1)


def _inner(data: Trajectories, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows and points (M,) at which all states were observed, away from the ends."""
    seen = data.mask.flatten(2).all(2).cpu()
    count = data.lengths.cpu()[:, None]
    place = torch.arange(seen.shape[1])
    pairs = (seen & (place >= EDGE) & (place < count - EDGE)).nonzero()
    if not len(pairs):
        raise GreymatchError("`data` must hold points at which all states were observed, away from the ends.")
    chosen = pairs[torch.randint(len(pairs), (POINTS,), generator=generator)].to(data.times.device)
    return chosen[:, 0], chosen[:, 1]


def _asked(network: Network, places: _Places, latents: Latents) -> Tensor:
    """The residual (N, M, S) at every place with every trajectory's latents."""
    count, axes = len(latents.z), (1,) * len(network.physics.grid)
    state = places.state.reshape(1, *places.state.shape, *axes).expand(count, *places.state.shape, *axes)
    inputs = None if places.inputs is None else places.inputs.expand(count, *places.inputs.shape)
    nothing = state.new_zeros(count, len(places.times), len(network.physics.states), *axes)
    with torch.no_grad():
        learned = network.dynamics.said(
            state, places.times.expand(count, -1), latents.over(len(places.times)), inputs, nothing
        )
    return network.dynamics.composed(nothing, learned).residual.flatten(2)
