"""What laws of few terms are judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from greymatch.data.trajectories import Trajectories
from greymatch.training.judging import judging


def test_few_are_joined_by_those_learned_from_whatever_else_is_known_of_either(decays: Callable[..., Trajectories]):
    many, few = (replace(decays(count), noise=(0.1,)) for count in (40, 4))
    assert len(judging(replace(many, truth={}, units={"x": "m"}), few, 32)) == 32
    assert len(judging(many, few, 100)) == 44
    assert judging(many, many, 32) is many
