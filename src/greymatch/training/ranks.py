"""The processes that train one model together: who writes, and how they stay of one mind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from greymatch.errors import GreymatchError
from greymatch.together import over_all

T = TypeVar("T")


class LostProcessError(GreymatchError):
    """One of several processes is gone; the last checkpoint is kept."""


def of_the_connection(error: RuntimeError) -> bool:
    """Whether it says that another process could not be reached."""
    words = ("gloo", "connection", "nccl")
    return isinstance(error, torch.distributed.DistError) or any(word in str(error).lower() for word in words)


@dataclass(frozen=True)
class Ranks:
    """This process is number `rank` of `count`. What must be the same everywhere is decided by the first."""

    fabric: Any = None
    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def part(self, batch: int, parts: int = 1) -> int:
        """This process's part of a batch, as large as that of the others, to be gone through in so many `parts`."""
        shares = self.count * parts
        if batch % shares:
            each = f", times the {parts} `training.parts` of each" if parts > 1 else ""
            raise GreymatchError(
                f"`training.batch` must be a multiple of the {self.count} processes that share it{each}; got {batch}. "
                f"Set {batch - batch % shares or shares}, for instance."
            )
        return batch // self.count

    def told(self, action: Callable[[], T]) -> T:
        """What `action` gives in the first process, which alone does it; the others are told, of its error too."""
        if self.count == 1:
            return action()
        found, error = None, None
        if self.first:
            try:
                found = action()
            except GreymatchError as caught:
                error = str(caught)
        found, error = self.fabric.broadcast((found, error))
        if error is not None:
            raise GreymatchError(error)
        return found  # pyright: ignore[reportReturnType] - what the first process found

    def agreed(self, number: float) -> float:
        """The number of the first process."""
        if self.count == 1:
            return number
        return float(self.fabric.broadcast(torch.tensor(number, dtype=torch.float64, device=self.fabric.device)))

    def any(self, flag: bool) -> bool:
        """Whether it holds in any of them."""
        return flag if self.count == 1 else bool(over_all(torch.tensor(float(flag), device=self.fabric.device)) > 0)

    def mean(self, terms: Any) -> Any:
        """The mean of each term of a loss over the processes, which is that of the whole batch."""
        if self.count == 1:
            return terms
        known = {name: value.detach() for name, value in terms._asdict().items() if value is not None}
        flat = over_all(torch.cat([value.reshape(-1).float() for value in known.values()]))
        parts = flat.split([value.numel() for value in known.values()])
        return terms._replace(
            **{name: part.reshape(known[name].shape) for name, part in zip(known, parts, strict=True)}
        )

    def wait(self) -> None:
        """Until all of them are here."""
        if self.count > 1:
            self.fabric.barrier()


ALONE = Ranks()
