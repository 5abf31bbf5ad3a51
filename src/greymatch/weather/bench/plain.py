"""The same network as anyone would write it: what the speed of training is measured against, and checked by."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from greymatch.weather.model.attention import TemporalEncoder
from greymatch.weather.model.dynamics import Dynamics
from greymatch.weather.model.net import Net, SphereConv
from greymatch.weather.model.network import WeatherNetwork
from greymatch.weather.model.transport import USUAL_WIND, carried, limited, slopes
from greymatch.weather.sphere import area_weights, polar_filtered
from greymatch.weather.training.objective import POLES
from greymatch.weather.training.sampler import Sample

silu = nn.functional.silu


def loss(network: WeatherNetwork, sample: Sample, noise: Tensor) -> Tensor:
    """The matching term of `Objective`, layer by layer, each by the call that torch has for it."""
    matched = sample.matched
    wrong = (rate(network, sample) - matched.velocity[:, 0]) / network.unit
    weights = (area_weights(wrong) + POLES) / (1 + POLES)
    return 0.5 * ((wrong.square() * weights).mean((0, 2, 3)) / noise).sum()


def rate(network: WeatherNetwork, sample: Sample) -> Tensor:
    """du/dt (B, C, lat, lon) of the transport model, its latents their means."""
    dynamics: Dynamics = network.dynamics
    unit, state, hours = network.unit, sample.matched.position[:, 0], sample.matched.time[:, 0]
    changes = sample.past.diff(dim=1) / (unit * dynamics.step)
    around = dynamics.surroundings(hours, (hours - sample.began) / dynamics.step)
    differences = slopes(state, dynamics.flips)
    known = dynamics.outset.said_now(dynamics.outset.of_now(state, around))
    recalled = dynamics.outset.said_then(dynamics.outset.of_the_past(sample.past, changes))
    seen = torch.cat([state, *differences, known, encoded(dynamics.encoder, state, changes), around], 1)
    winds, source = through(dynamics.velocity, seen), known + recalled + through(dynamics.source, seen)
    transport = dynamics.settings.transport
    east, north = (USUAL_WIND * winds).chunk(2, 1)
    east, north = limited(east, north, dynamics.substep, transport.courant)
    return polar_filtered(carried(state, differences, east, north, transport.form) + unit * source)


def through(net: Net, maps: Tensor) -> Tensor:
    maps, passed = convolved(net.enter, maps), []
    for down in net.down:
        passed.append(maps)
        maps = convolved(down, silu(maps))
    for block in net.blocks:
        maps = maps + convolved(block.second, silu(convolved(block.first, silu(maps))))
    for up, before in zip(reversed(net.up), reversed(passed), strict=True):
        fine = nn.functional.interpolate(maps, scale_factor=2, mode="nearest")
        maps = convolved(up, silu(torch.cat([before, fine], 1)))
    return convolved(net.leave, silu(maps))


def convolved(layer: SphereConv, maps: Tensor) -> Tensor:
    flips, half = layer.flips[:, None, None], maps.shape[-1] // 2
    south, north = (edge.roll(half, -1) * flips for edge in (maps[..., :1, :], maps[..., -1:, :]))
    wide = nn.functional.pad(torch.cat([south, maps, north], -2), (1, 1, 0, 0), mode="circular")
    return layer.conv(wide)


def encoded(encoder: TemporalEncoder, state: Tensor, changes: Tensor) -> Tensor:
    """Attention of the state over keys and values of the changes."""
    heads, seen = encoder.heads, changes.flatten(0, 1)
    key, value = (
        layer(seen).unflatten(0, (len(changes), -1)).unflatten(2, (heads, -1)) for layer in (encoder.key, encoder.value)
    )
    age, query = encoder.age.unflatten(1, (heads, -1)), encoder.query(state).unflatten(1, (heads, -1))[:, None]
    match = (query * (key + age)).sum(3, keepdim=True) * query.shape[3] ** -0.5
    return encoder.out(((value + age) * match.softmax(1)).sum(1).flatten(1, 2))
