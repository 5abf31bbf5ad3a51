"""One posterior from all of a recording, not from its last window alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.smoothing import Smoothed
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import gather, last_window, observed_lengths
from greymatch.models.credit import Credit, credit
from greymatch.models.evidence import FEWEST_POINTS, Evidence
from greymatch.models.features import Features
from greymatch.models.laplace import Laplace, Search
from greymatch.models.latents import Latents
from greymatch.models.network import MOST_POINTS, Network
from greymatch.models.pooled import pooled
from greymatch.models.sight import Sight

LONGEST_PATH = 256  # points
MOST = 0.5  # of the parts of a recording must have a path


@dataclass(frozen=True)
class Recordings:
    """Trajectories to be asked as wholes: what each shows, in `groups` (rows, evidence) of one length, the `features`
    of a window of it, and its own `amplitude` (N, S). None of it depends on what is learned."""

    features: Features
    groups: list[tuple[Tensor, Evidence]]
    amplitude: Tensor

    @staticmethod
    @torch.no_grad()
    def of(
        network: Network,
        data: Trajectories,
        features: Features,
        most: int = MOST_POINTS,
        course: Smoothed | None = None,
        around: Latents | None = None,
    ) -> Recordings:
        """At up to `most` points of each; `course` is where noisy ones went, if more than smoothing tells, and `around`
        what is known of their latents, see `Network.evidence`."""
        return Recordings(features, evidence_of(network, data, most, course, around), whole_amplitude(network, data))

    @torch.no_grad()
    def posterior(self, network: Network, before: Laplace | None = None, search: Search | None = None) -> Laplace:
        """Of each from all its points; the search begins with what was found `before`, or what the encoder says."""
        told = before or Laplace.of(network.encode(self.features, None, sample=False))
        unit = network.dynamics.scales_top * self.amplitude
        for rows, evidence in self.groups:
            told = told.put(rows, network.ask(evidence, told.select(rows), unit[rows], search))
        return told

    @torch.no_grad()
    def credit(self, network: Network, law: Laplace, noise: Tensor | None = None) -> Credit:
        """What the residual owes the parameters of each; nothing to those that show too little. `noise` (S,) of the
        field is the usual one if none is given."""
        noise = network.noise if noise is None else noise
        owed = law.mean.new_zeros(len(law.mean), law.free)
        doubt = torch.zeros_like(owed)
        for rows, evidence in self.groups:
            owed[rows], doubt[rows] = credit(network.dynamics, evidence, law.select(rows).latents(), noise)
        return Credit(owed, doubt)


def evidence_of(
    network: Network,
    data: Trajectories,
    most: int,
    course: Smoothed | None = None,
    around: Latents | None = None,
) -> list[tuple[Tensor, Evidence]]:
    """What up to `most` points of each recording show, in groups (rows, evidence) of one length."""
    data = data if course is None else replace(data, noise=())
    lengths, groups = observed_lengths(data), []
    for length in lengths.unique().tolist():
        rows = (lengths == length).nonzero()[:, 0]
        if length >= FEWEST_POINTS:
            window = last_window(data.select(rows.cpu()), length)
            if course is not None:
                taken = course.select(rows)
                window = replace(window, smooth=replace(taken, **_until(taken, length)))
            groups.append((rows, network.evidence(window, most, around=around and around.select(rows))))
    return groups


def whole_amplitude(network: Network, data: Trajectories) -> Tensor:
    """Spread of each recording (N, S) over all of it relative to the data's, never below the floor of a window's.

    A recording is measured by it, not by any one window of it: one at rest would make errors elsewhere look huge.
    """
    values, seen = (part.movedim(2, 1).flatten(2) for part in (data.values, data.mask))
    values = values.double().masked_fill(~seen, torch.nan)
    mean = values.nanmean(-1, keepdim=True)
    spread = (values - mean).square().nanmean(-1).sqrt().nan_to_num(0.0).float() / network.scales.spread
    return (spread.square() + network.settings.matching.amplitude_floor**2).sqrt()


def _until(course: Smoothed, length: int) -> dict[str, Tensor]:
    return {"values": course.values[:, :length], "doubt": course.doubt[:, :length]}


@torch.no_grad()
def whole(network: Network, data: Trajectories) -> Laplace:
    """The posterior of each trajectory from what all its points show of the field, and of noisy ones by paths."""
    recordings, law = _matched(network, data)
    return _by_paths(network, data, law, recordings.amplitude) if data.noise else law


@torch.no_grad()
def seen_whole(network: Network, data: Trajectories) -> Sight:
    """What is known of trajectories when all of each is asked, by paths through it if there are any."""
    recordings, law = _matched(network, data)
    return Sight(recordings.features, _by_paths(network, data, law, recordings.amplitude))


def _matched(network: Network, data: Trajectories) -> tuple[Recordings, Laplace]:
    """Each is asked as one long window; of noisy fields twice, since what they show is told from what is known."""
    features = network.observe(data, refine=False).features
    recordings = Recordings.of(network, data, features)
    law = recordings.posterior(network)
    if network.refers and data.noise:
        recordings = Recordings.of(network, data, features, around=law.latents())
        law = recordings.posterior(network, law)
    return recordings, law


def _by_paths(network: Network, data: Trajectories, law: Laplace, amplitude: Tensor) -> Laplace:
    """The law of recordings by paths through their parts, which are as long as paths can be; where there are none, it
    stands. A long path in noise is found from what shorter ones tell."""
    law, lengths = law.double(), observed_lengths(data)
    for length in lengths.unique().tolist():
        rows = (lengths == length).nonzero()[:, 0]
        some, told, unit = data.select(rows.cpu()), law.select(rows), amplitude[rows]
        for count in _counts(network, length, bool(data.noise)):
            found, sound = _by_parts(network, some, told, unit, length, count)
            told = found.where(sound, told)
        law = law.put(rows, told)
    return law


def _counts(network: Network, length: int, noisy: bool) -> list[int]:
    """Into how many parts recordings of this length are cut, at first and then. Noisy fields are too dear for long
    paths."""
    if noisy and network.physics.grid:
        return [max(1, length // network.settings.window)]
    fewest = -(-length // LONGEST_PATH)
    counts = [fewest]
    while noisy and length // (2 * counts[0]) >= network.settings.window:
        counts.insert(0, 2 * counts[0])
    return counts


def _by_parts(
    network: Network, data: Trajectories, told: Laplace, amplitude: Tensor, length: int, count: int
) -> tuple[Laplace, Tensor]:
    """By so many parts of each recording, and of which (N,) most of these have a path; all but a few first points are
    in one."""
    size, rows = length // count, torch.arange(len(data), device=data.times.device).repeat_interleave(count)
    ends = length - 1 - size * torch.arange(count - 1, -1, -1, device=rows.device)
    window = gather(data, rows, ends.repeat(len(data)), size)
    shown = (window.mask.flatten(3).any(3) if data.grid else window.mask).sum(1) > network.physics.order
    able = shown.all(1).nonzero()[:, 0]
    heard = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    law = told.select(rows)
    if size >= FEWEST_POINTS and len(able):
        found = network.path(window.select(able), law.select(able), amplitude[rows[able]])
        own = found.own.startless() if found.own.phases else found.own
        law, heard[able] = law.put(able, own.double()), found.through & own.finite
    heard = heard.unflatten(0, (len(data), count))
    return pooled(law, heard), heard.double().mean(1) > MOST
