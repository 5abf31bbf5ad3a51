from __future__ import annotations

import torch

from greymatch.together import Share, integers, normal, over_all, uniform


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


def test_a_mean_over_one_process_is_itself() -> None:
    values = torch.ones(3)
    assert over_all(values) is values
