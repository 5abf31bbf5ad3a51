from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.store import chunks_read, store, written
from greymatch.data.read import read
from greymatch.systems import lorenz


def test_every_chunk_that_is_read_is_counted(tmp_path: Path) -> None:
    path = written(lorenz.data("train", trajectories=8), tmp_path / "a.zarr", rows=4)
    with chunks_read() as chunks:
        read(path)
    assert {key for key in chunks if key.startswith("u/")} == {"u/0.0", "u/1.0"}
    assert set(chunks.values()) == {1}


@pytest.mark.slow
@pytest.mark.usefixtures("roughly")
def test_a_store_is_compared_with_memory(tiny: Sizes) -> None:
    pace, used = store(tiny)
    assert pace.ratios[0] > 0
    assert pace.case == "lorenz, 32 trajectories, 4 of them in memory"
    assert used.ours[0] > 1, "chunks were read"
