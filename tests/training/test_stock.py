"""Fitting a store: a part at a time, each in its turn, the same again."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.read import read
from greymatch.data.store import Store
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.fit import fit
from greymatch.training.stock import Shelves, parts, stocked

Decays = Callable[..., Trajectories]
MEASUREMENT = Path(__file__).parents[2] / "measurements" / "memory.py"


@pytest.fixture
def store(decays: Decays) -> Store:
    found = read(decays(60).to_dataset().chunk(trajectory=4), states=["x"], lazy=True)
    assert isinstance(found, Store)
    return found


@pytest.fixture
def shelved(tiny: Settings) -> Settings:
    # else a law is found before training, and each window is asked itself
    return tiny.updated({"data.shelf": 16, "residual.products": 0, "encoder.refine": False})


def test_every_recording_has_its_turn_and_none_is_validated_on(store: Store, shelved: Settings):
    stock = stocked(store, None, shelved)
    assert stock.shelves is not None
    taken = np.concatenate([stock.shelves.shelf(number).labels for number in range(4)])
    assert len(stock.train) == 16
    assert set(taken) | set(stock.held_out.labels) == set(range(60))
    assert not set(taken) & set(stock.held_out.labels)


@pytest.mark.parametrize(("count", "kept"), [(2, 1), (12, 3), (40, 10), (80, 10), (150, 15)])
def test_a_tenth_is_held_out_or_as_many_as_say_something(decays: Decays, count: int, kept: int):
    train, held_out = parts(decays(count), None, 0)
    assert (len(train), len(held_out)) == (count - kept, kept)


def test_shelves_are_the_same_for_a_seed(store: Store):
    one, same, other = (Shelves(store, store.blocks(2), 8, seed).shelf(3).labels.tolist() for seed in (0, 0, 1))
    assert one == same != other


def test_a_store_that_fits_is_not_rotated(store: Store, tiny: Settings):
    stock = stocked(store, None, tiny)
    assert stock.shelves is None
    assert len(stock.train) + len(stock.held_out) == 60


def test_a_store_of_one_block_is_refused(decays: Decays, tiny: Settings):
    alone = read(decays(1).to_dataset(), states=["x"], lazy=True)
    with pytest.raises(GreymatchError, match="Read it without `lazy`"):
        stocked(alone, None, tiny)


class Stopper:
    """A tracker that stops the run at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def log(self, step: int, metrics: dict[str, Any]) -> None:
        if step >= self.step:
            raise KeyboardInterrupt

    def close(self) -> None:
        pass


def _weights(model: GreyBox) -> dict[str, Any]:
    return {name: value.numpy() for name, value in model.network.state_dict().items()}


@pytest.mark.usefixtures("roughly")
def test_a_fit_goes_through_the_store_and_resumes_where_it_was(
    decay: Physics, store: Store, shelved: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    numbers: list[int] = []
    shelf = Shelves.shelf

    def noted(self: Shelves, number: int) -> Trajectories:
        numbers.append(number)
        return shelf(self, number)

    monkeypatch.setattr(Shelves, "shelf", noted)
    monkeypatch.setattr("greymatch.training.reporting.SHOW_SECONDS", 0)
    whole = fit(decay, store, settings=shelved, folder=tmp_path / "whole", quiet=True)
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 8
    with pytest.raises(KeyboardInterrupt):
        fit(decay, store, settings=shelved, folder=tmp_path / "cut", trackers=[Stopper(12)], quiet=True)
    resumed = fit(decay, store, settings=shelved, folder=tmp_path / "cut", resume=True, quiet=True)
    first, second = _weights(whole), _weights(resumed)
    assert all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)


def test_noise_is_assumed_of_every_shelf(decays: Decays, shelved: Settings):
    data = decays(60)
    noisy = replace(
        data, values=data.values + 0.1 * torch.as_tensor(np.random.default_rng(0).normal(size=data.values.shape))
    )
    store = read(noisy.to_dataset().chunk(trajectory=4), states=["x"], lazy=True)
    stock = stocked(store, None, shelved)
    assert stock.shelves is not None
    assert stock.shelves.shelf(2).noise == stock.train.noise == pytest.approx((0.1,), rel=0.2)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_store(monkeypatch: pytest.MonkeyPatch):
    # else the allocator keeps what was given back, by which two fits to the same store differ as well
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(2**16))
    measure = runpy.run_path(str(MEASUREMENT))["compared"]
    small, large = measure({"small": (512, 128), "large": (51200, 128)}, steps=2, net_alone=True, shelf=8)
    assert large["lazy_mb"] - small["lazy_mb"] < 0.5 * (large["store_mb"] - small["store_mb"])
