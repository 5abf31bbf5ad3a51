from __future__ import annotations

import math
import random

import pytest

from greymatch.cli.assignments import scalar
from greymatch.errors import GreymatchError
from greymatch.sweep.space import Range, Values, grid, parse, sample


def test_a_grid_has_every_combination_once() -> None:
    space = parse(["residual.width=8,16,16", "residual.kind=mlp,conv"], scalar)
    assert space == {"residual.width": Values((8, 16)), "residual.kind": Values(("mlp", "conv"))}
    found = grid(space)
    assert len(found) == 4
    assert {"residual.width": 16, "residual.kind": "mlp"} in found


def test_random_combinations_stay_in_range_and_more_of_them_begin_with_the_same() -> None:
    space = parse(["training.rate=1e-4:1e-2:log", "residual.width=8:64", "residual.kind=mlp,conv"], scalar)
    few, many = sample(space, 5, seed=1), sample(space, 40, seed=1)
    assert many[:5] == few
    assert len({repr(one) for one in many}) == 40
    assert all(1e-4 <= one["training.rate"] <= 1e-2 and 8 <= one["residual.width"] <= 64 for one in many)
    assert {type(one["residual.width"]) for one in many} == {int}
    assert sample(space, 5, seed=2) != few


def test_a_logarithmic_range_has_its_middle_at_the_geometric_mean() -> None:
    rng = random.Random(0)
    drawn = sorted(Range(1e-4, 1e-2, log=True).draw(rng) for _ in range(999))
    assert math.log10(drawn[499]) == pytest.approx(-3, abs=0.15)


def test_no_more_combinations_than_there_are() -> None:
    assert len(sample(parse(["residual.width=8,16"], scalar), 10, seed=0)) == 2


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["residual.width"], "must be KEY=A,B"),
        (["a=1", "a=2"], "stands twice"),
        (["a=2:1"], "the lower first"),
        (["a=0:1:log"], "positive for log"),
        (["a=x:y"], "two numbers"),
        (["a=1:2:linear"], "LOW:HIGH:log"),
    ],
)
def test_what_cannot_be_read_is_refused(texts: list[str], told: str) -> None:
    with pytest.raises(GreymatchError, match=told):
        parse(texts, scalar)


def test_a_range_is_not_for_a_grid() -> None:
    with pytest.raises(GreymatchError, match="--random N"):
        grid(parse(["a=1:2"], scalar))
