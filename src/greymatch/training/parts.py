"""The batch of a step in equal parts, one after another: what the whole batch tells, in less memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from greymatch.together import over_all, part_of
from greymatch.training.engine import Engine
from greymatch.training.pool import apart
from greymatch.training.recipe import Objective, Terms


def learned(
    engine: Engine, objective: Objective, batch: Any, noise: Tensor, generator: torch.Generator, parts: int
) -> Terms:
    """The loss of a batch, whose gradient the engine has afterwards; `objective` is the one that it asks.

    Each part draws its own of the numbers of the whole batch, and what that counts is counted before: so the parts
    together tell what it would.
    """
    engine.forget()
    with engine.computing():
        if parts > 1:
            return _in_parts(engine, objective, batch, noise, generator, parts)
        loss = engine.objective(batch, noise, generator)
        engine.backward(loss.total)
        return loss


def _in_parts(
    engine: Engine, objective: Objective, batch: Any, noise: Tensor, generator: torch.Generator, parts: int
) -> Terms:
    counts = objective.counts(batch)
    means = () if counts is None else (over_all(counts) / parts,)
    own = [part_of(generator, number, parts) for number in range(parts)]
    found = []
    for number, part in enumerate(apart(batch, parts, torch.chunk)):
        with engine.unshared(number < parts - 1):
            loss = engine.objective(part, noise, own[number], *means)
            engine.backward(loss.total / parts)
        found.append(_detached(loss))
    generator.set_state(own[-1].get_state())
    return _mean(found)


def _detached(loss: Any) -> Any:
    """Without what it was made of, which must not wait for the other parts."""
    return loss._replace(**{name: term.detach() for name, term in loss._asdict().items() if term is not None})


def _mean(losses: Sequence[Any]) -> Any:
    """The mean of each term that they have."""
    terms = zip(losses[0]._fields, zip(*losses, strict=True), strict=True)
    return losses[0]._replace(**{name: torch.stack(some).mean(0) for name, some in terms if some[0] is not None})
