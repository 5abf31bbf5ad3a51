"""Random damage to a model file: our own error, or a model that is the same; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greymatch.errors import GreymatchError
from greymatch.models.file import load
from greymatch.models.greybox import GreyBox
from greymatch.models.warm import Warm
from greymatch.systems import pendulum

HEADER = 6000  # bytes at the front, where damage has most to break
PLACES = st.one_of(st.integers(0, HEADER), st.integers(0, 10**9))


@pytest.fixture(scope="module")
def content(small_model: GreyBox, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return small_model.save(tmp_path_factory.mktemp("fuzz") / "whole.safetensors").read_bytes()


@pytest.fixture(scope="module")
def unchanged(small_model: GreyBox, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], None]:
    """Loads the bytes given, and asks that what comes, if anything, is the model."""
    path = tmp_path_factory.mktemp("fuzz") / "damaged.safetensors"

    def attempt(damaged: bytes) -> None:
        path.write_bytes(damaged)
        try:
            model, warm = load(path, pendulum.physics), Warm.of(path)
        except GreymatchError:
            return
        same(model, small_model)
        assert warm.settings == small_model.settings

    return attempt


def same(one: GreyBox, other: GreyBox) -> None:
    assert one.settings == other.settings
    mine, its = one.network.state_dict(), other.network.state_dict()
    assert all(torch.equal(value, its[name]) for name, value in mine.items())


@given(length=PLACES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_cut_anywhere(content: bytes, unchanged: Callable[[bytes], None], length: int) -> None:
    unchanged(content[: length % len(content)])


@given(flips=st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=8))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_flipped_anywhere(
    content: bytes, unchanged: Callable[[bytes], None], flips: list[tuple[int, int]]
) -> None:
    damaged = bytearray(content)
    for place, flip in flips:
        damaged[place % len(content)] ^= flip
    unchanged(bytes(damaged))


@given(place=PLACES, more=st.binary(min_size=1, max_size=64))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_put_in_anywhere(content: bytes, unchanged: Callable[[bytes], None], place: int, more: bytes) -> None:
    at = place % len(content)
    unchanged(content[:at] + more + content[at:])


@given(noise=st.binary(max_size=4096))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_at_all(unchanged: Callable[[bytes], None], noise: bytes) -> None:
    unchanged(noise)


def test_the_whole_file_is_the_model(content: bytes, tmp_path: Path, small_model: GreyBox) -> None:
    (tmp_path / "whole.safetensors").write_bytes(content)
    same(load(tmp_path / "whole.safetensors"), small_model)
