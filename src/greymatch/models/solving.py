"""Many members solved onwards, block by block, so that memory holds as many as fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.models.latents import Members
from greymatch.models.network import Network
from greymatch.models.rollout import roll_out
from greymatch.simulation.start import Start

MEMBERS_AT_ONCE = 20_000
NUMBERS_AT_ONCE = 2**24


class Block(NamedTuple):
    """Some draws of some trajectories: all trajectories, or one draw alone."""

    draws: slice
    rows: slice


class Solved(NamedTuple):
    """`values` (D, N, T, S, *grid) and `status` (D, N) of a block."""

    values: Tensor
    status: Tensor


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
    def at_once(self) -> int:
        """Members that fit in memory together."""
        pixels = torch.Size(self.network.shapes.grid).numel()
        numbers = max(1, self.times.shape[1] * len(self.network.physics.states) * pixels)
        return max(1, min(MEMBERS_AT_ONCE, NUMBERS_AT_ONCE // numbers))

    @property
    def shape(self) -> tuple[int, int]:
        """Draws and trajectories of a block; the last ones may be smaller."""
        count = len(self.times)
        return min(self.draws, max(1, self.at_once // count)), min(count, self.at_once)

    def blocks(self) -> Iterator[Block]:
        draws, rows = self.shape
        for first in range(0, self.draws, draws):
            for row in range(0, len(self.times), rows):
                yield Block(slice(first, min(first + draws, self.draws)), slice(row, min(row + rows, len(self.times))))

    def block(self, block: Block) -> Solved:
        count, device = len(self.times), self.times.device
        rows = torch.arange(count, device=device)[block.rows]
        which = torch.arange(self.draws, device=device)[block.draws]
        chosen = (which[:, None] * count + rows).flatten()
        rows = chosen % count
        with torch.no_grad():
            solution = roll_out(
                self.network,
                self.start.select(chosen % len(self.start)),
                self.members.select(chosen),
                self.times[rows],
                self.signals.select(rows) if self.signals else None,
                self.tolerance,
            )
        shape = (len(which), len(chosen) // len(which))
        values = solution.values.cpu()
        return Solved(values.reshape(*shape, *values.shape[1:]), solution.status.cpu().reshape(shape))

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


def _room(like: Tensor, draws: int, count: int) -> Tensor:
    return like.new_empty((draws, count, *like.shape[2:]))
