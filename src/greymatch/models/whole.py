"""One posterior from all of a recording, not from its last window alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.data.smoothing import Smoothed
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import last_window, observed_lengths
from greymatch.models.credit import Credit, credit
from greymatch.models.evidence import FEWEST_POINTS, Evidence
from greymatch.models.features import Features
from greymatch.models.laplace import Laplace, Search
from greymatch.models.network import MOST_POINTS, Network, Sight

LONGEST_PATH = 256  # points


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
    ) -> Recordings:
        """At up to `most` points of each; `course` is where noisy ones went, if more than smoothing tells."""
        return Recordings(features, evidence_of(network, data, most, course), whole_amplitude(network, data))

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
    network: Network, data: Trajectories, most: int, course: Smoothed | None = None
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
            groups.append((rows, network.evidence(window, most)))
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


def whole(network: Network, data: Trajectories) -> Laplace:
    """The posterior of each trajectory from what all its points show of the field: each is asked as one long window."""
    features = network.observe(data, refine=False).features
    return Recordings.of(network, data, features).posterior(network)


@torch.no_grad()
def seen_whole(network: Network, data: Trajectories) -> Sight:
    """What is known of trajectories when all of each is asked, by a path through it if it is not too long for one."""
    features = network.observe(data, refine=False).features
    recordings = Recordings.of(network, data, features)
    law, lengths = recordings.posterior(network).double(), observed_lengths(data)
    for length in () if data.noise else lengths.unique().tolist():
        rows = (lengths == length).nonzero()[:, 0]
        if FEWEST_POINTS <= length <= LONGEST_PATH:
            window = last_window(data.select(rows.cpu()), length)
            law = law.put(rows, network.trace(window, law.select(rows), recordings.amplitude[rows])[0].startless())
    return Sight(features, law)
