"""Many members solved onwards, block by block, so that memory holds as many as fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.models.collocation import Solved, collocated, smoothed
from greymatch.models.latents import Members
from greymatch.models.network import Network
from greymatch.models.rollout import roll_out
from greymatch.simulation.solve import Solution
from greymatch.simulation.start import Start

MEMBERS_AT_ONCE = 2**17
NUMBERS_AT_ONCE = 2**25
SUMMED = 10.0  # times the tolerance: what sums of solutions may err by
FEW = 2**11  # pixels, or members without a grid: so many are solved in hardly more time than one


class Block(NamedTuple):
    """Some draws of some trajectories: all draws, or one trajectory alone."""

    draws: slice
    rows: slice


@dataclass(frozen=True)
class Solving:
    """Members (draws * N), draw after draw, that start at `start` and are wanted at `times` (N, T)."""

    network: Network
    start: Start
    members: Members
    times: Tensor
    signals: Signals | None
    draws: int
    tolerance: float

    @property
    def _pixels(self) -> int:
        return torch.Size(self.network.shapes.grid).numel()

    @property
    def at_once(self) -> int:
        """Members that fit in memory together."""
        numbers = max(1, self.times.shape[1] * len(self.network.physics.states) * self._pixels)
        return max(1, min(MEMBERS_AT_ONCE, NUMBERS_AT_ONCE // numbers))

    @property
    def shape(self) -> tuple[int, int]:
        """Draws and trajectories of a block; the last ones may be smaller."""
        return _even(self.draws, self.at_once), _even(len(self.times), max(1, self.at_once // self.draws))

    def blocks(self) -> Iterator[Block]:
        draws, rows = self.shape
        for first in range(0, self.draws, draws):
            for row in range(0, len(self.times), rows):
                yield Block(slice(first, min(first + draws, self.draws)), slice(row, min(row + rows, len(self.times))))

    def block(self, block: Block) -> Solved:
        members = torch.arange(self.draws * len(self.times), device=self.times.device).reshape(self.draws, -1)
        members = members[block.draws, block.rows]
        with torch.no_grad():
            found = self._found(members)
            self.members.select(members.flatten()).loosen(found.values, self.tolerance)
        return Solved(found.values.cpu(), found.status.cpu())

    def _found(self, members: Tensor) -> Solved:
        """Of members (D, N), by their places among all: all solved where few cost as much."""
        chosen = members.flatten()
        if self.network.recalls:
            return Solved.of(self._solved(chosen), len(members))
        exact = allowed(self.network, self.tolerance)
        drawn = self.start if len(self.start) > len(self.times) else None
        numbers = differing(self.members, drawn)[members]
        if len(chosen) * self._pixels < FEW:
            found = Solved.of(self._solved(chosen), len(members))
            return found._replace(values=smoothed(found.values, numbers, exact))
        return collocated(lambda some: self._solved(chosen[some]), numbers, exact)

    def _solved(self, chosen: Tensor) -> Solution:
        rows = chosen % len(self.times)
        return roll_out(
            self.network,
            self.start.select(chosen % len(self.start)),
            self.members.select(chosen),
            self.times[rows],
            self.signals.select(rows) if self.signals else None,
            self.tolerance,
        )

    def whole(self) -> Solved:
        """All of them, in memory."""
        found: Solved | None = None
        for block in self.blocks():
            part = self.block(block)
            if found is None:
                if part.status.shape == (self.draws, len(self.times)):
                    return part
                found = Solved(*(_room(piece, self.draws, len(self.times)) for piece in part))
            for piece, room in zip(part, found, strict=True):
                room[block.draws, block.rows] = piece
        assert found is not None, "there is at least one draw of one trajectory"
        return found


def allowed(network: Network, tolerance: float) -> Tensor:
    """What sums of solutions may err by (S, *grid)."""
    return SUMMED * tolerance * network.scales.spread.reshape(-1, *(1,) * len(network.shapes.grid))


def differing(members: Members, drawn: Start | None) -> Tensor:
    """What members differ by (B, C): one more thing where the start of each was drawn."""
    latents, begun = members.latents, []
    if latents.start is not None:
        begun = [latents.start.nan_to_num(0.0)]
    elif drawn is not None:
        begun = [drawn.phase.flatten(1)]
    return torch.cat([latents.eps, latents.z, members.kick, *begun], 1)


def _even(count: int, most: int) -> int:
    """The size of parts that are about equal, each of at most so many."""
    return math.ceil(count / math.ceil(count / most))


def _room(like: Tensor, draws: int, count: int) -> Tensor:
    return like.new_empty((draws, count, *like.shape[2:]))
