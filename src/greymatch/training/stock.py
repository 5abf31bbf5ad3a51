"""What a fit learns from and is validated on; of a store larger than memory, a part at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from greymatch.data.blocks import Block
from greymatch.data.noise import assumed_noise
from greymatch.data.store import Store
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.settings import Settings

HELD_OUT, MOST_HELD_OUT, ENOUGH = 0.1, 0.25, 10  # part of the trajectories, at the most, to have enough of them
BLOCKS = 8  # of a shelf, so that it holds recordings from several places


@dataclass(frozen=True)
class Shelves:
    """The parts of a store that are in memory one after another: shelf 0, 1, ..., always the same for a seed.

    All blocks come before one comes again.
    """

    store: Store
    blocks: Sequence[Block]
    together: int
    seed: int
    noise: tuple[float, ...] = ()

    def shelf(self, number: int) -> Trajectories:
        wanted = range(number * self.together, (number + 1) * self.together)
        return replace(self.store.part(self._block(place) for place in wanted), noise=self.noise)

    def _block(self, place: int) -> Block:
        lap, place = divmod(place, len(self.blocks))
        return self.blocks[np.random.default_rng((self.seed, lap)).permutation(len(self.blocks))[place]]

    @property
    def rotate(self) -> bool:
        """Whether there is more than fits on a shelf."""
        return len(self.blocks) > self.together


@dataclass(frozen=True)
class Stock:
    """Trajectories to learn from and to validate on; with `shelves`, the first are those of shelf 0."""

    train: Trajectories
    held_out: Trajectories
    shelves: Shelves | None = field(default=None)
    noise: dict[str, float] = field(default_factory=dict)


def stocked(data: Trajectories | Store, validation: Trajectories | Store | None, settings: Settings) -> Stock:
    """The data in two parts, in memory as far as they are needed, with the noise that is assumed of them."""
    shelves = None
    if isinstance(data, Store):
        shelves, validation = _shelves(data, validation, settings)
        data = shelves.shelf(0)
    if isinstance(validation, Store):
        validation = validation.sample(settings.data.shelf)
    train, held_out = parts(data.to("cpu"), validation, settings.training.seed)
    noise = assumed_noise(settings.data.noise, train)
    sizes = tuple(noise.values())
    if shelves is not None:
        shelves = replace(shelves, noise=sizes) if shelves.rotate else None
    return Stock(replace(train, noise=sizes), replace(held_out, noise=sizes), shelves, noise)


def parts(data: Trajectories, validation: Trajectories | None, seed: int) -> tuple[Trajectories, Trajectories]:
    """Trajectories to learn from and to validate on; a few alone would say little of how wide an ensemble must be."""
    if validation is not None:
        return data, validation.to("cpu")
    if len(data) < 2:
        raise GreymatchError(
            "one trajectory cannot be both learned from and validated on. Give `validation=`, or cut the recording "
            "into several of so many points: data.cut(points)."
        )
    return data.split(_share(len(data)), seed)


def _share(count: int) -> float:
    """Of so many trajectories, the part that is held out."""
    return max(HELD_OUT, min(MOST_HELD_OUT, ENOUGH / count))


def _shelves(
    store: Store, validation: Trajectories | Store | None, settings: Settings
) -> tuple[Shelves, Trajectories | Store]:
    """Shelves, and what is kept from them: as many of the blocks as of trajectories, or as a shelf holds."""
    pieces, seed = settings.data.shelf or store.usual, settings.training.seed
    blocks = store.blocks(max(1, pieces // BLOCKS))
    together = max(1, pieces // max(len(block) for block in blocks))
    if validation is not None:
        return Shelves(store, blocks, min(together, len(blocks)), seed), validation
    if len(blocks) < 2:
        raise GreymatchError(
            "a store must be large enough to learn from a part of it and be validated on another; this one is "
            f"{store!r}. Read it without `lazy`, or give `validation=`."
        )
    kept = max(1, round(_share(sum(len(block) for block in blocks)) * len(blocks)))
    order = np.random.default_rng(seed).permutation(len(blocks))
    held_out = store.part(blocks[index] for index in np.sort(order[: min(kept, together)]))
    left = [blocks[index] for index in np.sort(order[kept:])]
    return Shelves(store, left, min(together, len(left)), seed), held_out
