from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from greymatch.together import Share, integers
from greymatch.training.noise import RunningMean
from greymatch.training.pool import Pool, apart, dealt
from greymatch.training.state import RunState

BATCHES, COUNT = 3, 4


class Drawn(NamedTuple):
    rows: Tensor
    inputs: Tensor | None


def draw(generator: torch.Generator) -> list[Drawn]:
    count = COUNT // (generator.count if isinstance(generator, Share) else 1)
    rows = integers(1000, (BATCHES * count,), generator, torch.device("cpu"))
    return dealt(Drawn(rows, None), BATCHES)


def state() -> RunState:
    return RunState(RunningMean.starting(torch.ones(1), 0.9), RunningMean.starting(torch.ones(()), 0.9))


def test_every_row_is_dealt_once():
    batches = dealt(Drawn(torch.arange(12), None), BATCHES)
    assert [batch.rows.tolist() for batch in batches] == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert batches[0].inputs is None


class Nested(NamedTuple):
    drawn: Drawn
    values: Tensor


def test_rows_are_shared_out_in_tuples_in_tuples_and_nothing_stays_nothing():
    first, second = apart(Nested(Drawn(torch.arange(4), None), torch.arange(8.0).reshape(4, 2)), 2, torch.chunk)
    assert (first.drawn.rows.tolist(), second.drawn.rows.tolist(), second.drawn.inputs) == ([0, 1], [2, 3], None)
    assert second.values.tolist() == [[4.0, 5.0], [6.0, 7.0]]


def test_after_a_stop_the_same_batches_follow(seed: int):
    generator, run = torch.Generator().manual_seed(seed), state()
    pool = Pool(torch.Generator)
    taken = [pool.take(run, draw, generator).rows for _ in range(2)]
    other, anew = torch.Generator(), Pool(torch.Generator)
    other.set_state(generator.get_state())  # as a checkpoint keeps it
    kept = state()
    kept.drawn, kept.taken = run.drawn, run.taken
    for _ in range(5):
        taken.append(pool.take(run, draw, generator).rows)
        assert torch.equal(taken[-1], anew.take(kept, draw, other).rows)
    assert len({tuple(rows.tolist()) for rows in taken}) == len(taken)


def test_what_is_forgotten_is_drawn_anew(seed: int):
    generator, run, pool = torch.Generator().manual_seed(seed), state(), Pool(torch.Generator)
    first = pool.take(run, draw, generator).rows
    pool.forget(run)
    assert run.drawn is None
    assert not torch.equal(first, pool.take(run, draw, generator).rows)


def test_processes_have_parts_of_the_batch_that_one_has(seed: int):
    cpu = torch.device("cpu")
    parts = [draw(Share.of(cpu, rank, 2).manual_seed(seed)) for rank in range(2)]
    for whole, first, second in zip(draw(torch.Generator().manual_seed(seed)), *parts, strict=True):
        assert torch.equal(whole.rows, torch.cat([first.rows, second.rows]))
