"""Batches that are drawn together: many small questions take longer than few large ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from greymatch.training.state import RunState

Draw = Callable[[torch.Generator], list[Any]]


@dataclass
class Pool:
    """The batches of the next steps. All of them follow from the state of the generator that drew them, which a run
    keeps as `drawn`: so a resumed run draws them again, with a generator that is `fresh`, and goes on with those that
    were not `taken`."""

    fresh: Callable[[], torch.Generator]
    _batches: list[Any] = field(default_factory=list)

    def take(self, state: RunState, draw: Draw, generator: torch.Generator) -> Any:
        """The next batch; if there is none, `draw` gives more."""
        if state.drawn is None:
            state.drawn, state.taken = generator.get_state(), 0
            self._batches = draw(generator)
        elif not self._batches:
            again = self.fresh()
            again.set_state(state.drawn)
            self._batches = draw(again)
        batch = self._batches[state.taken]
        state.taken += 1
        if state.taken == len(self._batches):
            self.forget(state)
        return batch

    def forget(self, state: RunState) -> None:
        """What is left of them is of no use any more."""
        state.drawn, self._batches = None, []


def dealt(drawn: Any, batches: int) -> list[Any]:
    """Rows that were drawn together, as batches: the first takes every n-th row from the first on. So processes that
    draw parts of all rows have parts of the same batches."""
    return apart(drawn, batches, _every_nth)


def apart(rows: Any, count: int, deal: Callable[[Tensor, int], Sequence[Tensor]]) -> list[Any]:
    """Rows, tensors (R, ...) in named tuples of such, as so many of the like; `deal` shares out each tensor."""
    if rows is None:
        return [None] * count
    if isinstance(rows, tuple):
        return [type(rows)(*own) for own in zip(*(apart(part, count, deal) for part in rows), strict=True)]
    return list(deal(rows, count))


def _every_nth(rows: Tensor, count: int) -> Sequence[Tensor]:
    return rows.unflatten(0, (-1, count)).transpose(0, 1).contiguous().unbind()
