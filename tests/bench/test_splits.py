from __future__ import annotations

from pathlib import Path

import pytest
import torch

from greymatch.bench.plan import Run
from greymatch.bench.splits import digests, fresh_of, recorded, splits_of
from greymatch.data.write import write
from greymatch.errors import GreymatchError
from greymatch.systems.system import System


def test_a_part_of_the_training_split_is_its_beginning(small_system: System) -> None:
    part = splits_of(Run("pendulum", "vgb-dm", 0, train=5, val=99, test=3))
    assert (len(part.train), len(part.val), len(part.test)) == (5, 12, 3)
    assert torch.equal(part.train.values, recorded(small_system.data("train")).values[:5])


@pytest.mark.parametrize("suffix", [".nc", ".parquet"])
def test_files_replace_their_split_and_no_other(small_system: System, tmp_path: Path, suffix: str) -> None:
    other = small_system.data("train", seed=77)
    write(other, tmp_path / f"train{suffix}")
    found = splits_of(Run("pendulum", "vgb-dm", 0, data=tmp_path))
    assert torch.allclose(found.train.values, other.values)
    assert torch.equal(found.val.values, recorded(small_system.data("val")).values)


def test_splits_are_in_single_precision_and_the_truth_is_not(small_system: System) -> None:
    found, exact = splits_of(Run("pendulum", "vgb-dm", 0)), small_system.data("test")
    assert torch.equal(found.truth.values, exact.values)
    rounding = (found.test.values - exact.values).abs() / exact.values.abs()
    assert 0 < float(rounding.max()) <= 2**-24


def test_digests_tell_other_data_and_not_other_places(small_system: System, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        write(small_system.data("train", seed=seed), tmp_path / name / "train.parquet")
    a, b, c = (digests(tmp_path / name) for name in "abc")
    assert a == b != c
    assert digests(None) == {}


def test_a_folder_without_any_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="must be a folder with train, val or test"):
        digests(tmp_path)


def test_more_trajectories_than_there_are_is_refused(small_system: System) -> None:
    with pytest.raises(GreymatchError, match="at most the 12 trajectories"):
        splits_of(Run("pendulum", "vgb-dm", 0, train=13))


def test_noise_lies_on_all_splits_in_units_of_the_training_spread_and_not_on_the_truth(small_system: System) -> None:
    clean, noisy = (splits_of(Run("pendulum", "vgb-dm", 0, noise=noise)) for noise in (0.0, 0.1))
    assert torch.equal(noisy.truth.values, clean.truth.values)
    spread = float(clean.train.values.std(unbiased=False))
    for name in ("train", "val", "test"):
        added = getattr(noisy, name).values - getattr(clean, name).values
        assert float(added.std()) == pytest.approx(0.1 * spread, rel=0.1)
    again = splits_of(Run("pendulum", "vgb-dm", 0, noise=0.1))
    assert torch.equal(again.test.values, noisy.test.values)


def test_fresh_trajectories_are_as_noisy_and_none_of_a_split(small_system: System) -> None:
    run = Run("pendulum", "vgb-dm", 0, noise=0.1)
    seen, truth = fresh_of(run, 30)
    splits, size = splits_of(run), 0.1 * float(small_system.data("train").values.std(unbiased=False))
    assert len(seen) == len(truth) == 30
    assert float((seen.values - truth.values).std()) == pytest.approx(size, rel=0.1)
    for split in (splits.train, splits.val, splits.test):
        assert not set(truth.truth["omega"]) & set(split.truth["omega"])
