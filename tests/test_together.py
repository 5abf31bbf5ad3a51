from __future__ import annotations

import torch

from greymatch.together import Share, integers, normal, over_all, part_of, uniform


def test_parts_of_a_batch_are_drawn_as_the_whole_batch(seed: int) -> None:
    def drawn(generator: torch.Generator) -> list[torch.Tensor]:
        generator.manual_seed(seed)
        rows, like = 6 // getattr(generator, "count", 1), torch.zeros(0)
        return [
            integers(100, (rows,), generator, like.device),
            normal((rows, 2), generator, like),
            uniform((rows,), generator, like, torch.float64),
            normal((1, rows, 2), generator, like, axis=1)[0],
        ]

    whole = drawn(torch.Generator())
    parts = [drawn(Share.of(torch.device("cpu"), rank, 3)) for rank in range(3)]
    for wanted, *pieces in zip(whole, *parts, strict=True):
        torch.testing.assert_close(torch.cat(pieces), wanted)


def test_parts_of_the_part_of_a_process_are_drawn_as_that(seed: int) -> None:
    def drawn(rows: int, generator: torch.Generator) -> torch.Tensor:
        return normal((rows,), generator, torch.zeros(0))

    share = Share.of(torch.device("cpu"), 1, 2).manual_seed(seed)
    own = [part_of(share, number, 3) for number in range(3)]
    pieces = [drawn(2, one) for one in own]
    assert torch.equal(torch.cat(pieces), drawn(6, share))
    assert all(torch.equal(one.get_state(), share.get_state()) for one in own)


def test_a_mean_over_one_process_is_itself() -> None:
    values = torch.ones(3)
    assert over_all(values) is values
