"""What several processes that train one model share: the random numbers and the means of a batch.

Every process draws the numbers of the whole batch and keeps those of its own part, so that a step of several processes
is the step that one of them would have made. So it is with the parts that one of them goes through one after another.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Share(torch.Generator):
    """A generator in the same state everywhere, and which part of each batch is this process's own."""

    rank: int = 0
    count: int = 1

    @staticmethod
    def of(device: torch.device, rank: int, count: int) -> Share:
        made = Share(device)
        made.rank, made.count = rank, count
        return made


def part_of(generator: torch.Generator, number: int, parts: int) -> Share:
    """In the same state, for one of so many equal parts of the rows that this one draws for."""
    rank, count = (generator.rank, generator.count) if isinstance(generator, Share) else (0, 1)
    made = Share.of(generator.device, rank * parts + number, count * parts)
    made.set_state(generator.get_state())
    return made


def normal(shape: Sequence[int], generator: torch.Generator | None, like: Tensor, axis: int = 0) -> Tensor:
    """Standard normal numbers for each row of a batch, which lies along `axis`."""
    whole = _whole(shape, generator, axis)
    return _own(torch.randn(whole, generator=generator, device=like.device, dtype=like.dtype), generator, axis)


def uniform(shape: Sequence[int], generator: torch.Generator | None, like: Tensor, dtype: torch.dtype) -> Tensor:
    """Numbers between 0 and 1 for each row of a batch."""
    whole = _whole(shape, generator)
    return _own(torch.rand(whole, generator=generator, device=like.device, dtype=dtype), generator)


def integers(below: int, shape: Sequence[int], generator: torch.Generator | None, device: torch.device) -> Tensor:
    """Whole numbers from 0 on for each row of a batch."""
    whole = _whole(shape, generator)
    return _own(torch.randint(below, whole, generator=generator, device=device), generator)


def over_all(values: Tensor) -> Tensor:
    """The mean of the same numbers over the processes; `values` themselves where there is one."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return values
    total = values.detach().clone()
    torch.distributed.all_reduce(total)
    return total / torch.distributed.get_world_size()


def _whole(shape: Sequence[int], generator: torch.Generator | None, axis: int = 0) -> tuple[int, ...]:
    if not isinstance(generator, Share):
        return tuple(shape)
    return tuple(size * generator.count if place == axis else size for place, size in enumerate(shape))


def _own(values: Tensor, generator: torch.Generator | None, axis: int = 0) -> Tensor:
    return values.chunk(generator.count, axis)[generator.rank] if isinstance(generator, Share) else values
