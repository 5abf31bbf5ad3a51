"""The measurements measure what they say, in small."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

import greymatch as gm

FOLDER = Path(__file__).parents[2] / "measurements"


def measurement(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def test_thinning_leaves_seven_of_ten_points_and_the_start(swings: tuple[gm.Trajectories, gm.Trajectories]):
    data = swings[0]
    thin = measurement("gaps")["thinned"](data, 0)
    assert thin.times.shape == (len(data), round(0.7 * data.times.shape[1]))
    assert bool((thin.times.diff(dim=1) > 0).all())
    assert bool(((thin.times - 2.5).abs() < 1e-6).any(1).all())
    whole = dict(zip(data.times[0].tolist(), data.values[0, :, 0].tolist(), strict=True))
    assert [whole[t] for t in thin.times[0].tolist()] == thin.values[0, :, 0].tolist()
    assert not torch.equal(thin.times[0], thin.times[1])


def test_parquet_is_read_by_both_and_summed_up(tmp_path: Path):
    found = measurement("parquet")
    path = found["written"](tmp_path / "rows.parquet", 3000)
    assert len(gm.read(path, trajectory="id", time="t")) == 3
    result = found["summary"](3000, found["measured"](path, 2))
    assert result["ratio"]["best"] == pytest.approx(result["best"]["greymatch"] / result["best"]["pandas"])
    assert "3e+03 rows" in found["table"](result)


def test_the_store_of_the_memory_measurement_is_what_was_asked_for(tmp_path: Path):
    found = measurement("memory")
    store = gm.read(found["written"](tmp_path / "s.zarr", 300, 600), lazy=True)
    assert repr(store).startswith("Store(300 x 600 points of x")
    row = {"store": "a", "trajectories": 1, "points": 2, "store_mb": 3.0, "lazy_mb": 4.0}
    assert "| a | 1 | 2 | 3 | 4 |" in found["table"]([row])


def test_a_large_ensemble_that_was_killed_is_told_of(tmp_path: Path):
    found = measurement("ensemble")
    assert found["blocks"](tmp_path) == 0
    partial = tmp_path / ".a.zarr.partial"
    partial.mkdir()
    (partial / ".journal.jsonl").write_text('"which"\n0\n1\n')
    assert found["blocks"](tmp_path) == 2
    run = found["Ran"]("resumed", 0, 61.2, 23.4, 710.6)
    told = {"draws": 9, "trajectories": 8, "blocks": 4, "blocks_when_killed": 2, "store_mb": 7.0, "same": True}
    text = found["table"]({**told, "runs": [vars(run)]})
    assert "| resumed | 0 | 61 | 23 | 711 |" in text
    assert "9 draws x 8 trajectories in 4 blocks, 7 MB on disk; killed with 2 of them written" in text
