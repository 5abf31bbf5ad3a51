from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from greymatch.data.blocks import LONGEST, Block, Extent, chunk_of

COUNTS = st.integers(1, 5000)


@given(st.integers(1, 40), COUNTS, st.tuples(st.integers(1, 40), COUNTS), st.integers(1, 30))
def test_blocks_cover_every_point_once(trajectories, points, chunk, most):
    times = np.zeros((trajectories, points), dtype=int)
    for block in Extent(trajectories, points, chunk).blocks(most):
        for span in block.spans():
            assert span.stop - span.start <= LONGEST
            times[block.first : block.last, block.start + span.start : block.start + span.stop] += 1
    assert (times == 1).all()


@given(st.integers(1, 40), COUNTS, st.tuples(st.integers(1, 40), COUNTS), st.integers(1, 30))
def test_no_block_is_larger_than_asked(trajectories, points, chunk, most):
    assert all(len(block) <= most for block in Extent(trajectories, points, chunk).blocks(most))


def test_short_recordings_stay_whole_and_long_ones_go_along_with_the_chunks():
    assert Extent(4, 100, (2, 30)).blocks(8) == [Block(0, 2, 0, 100), Block(2, 4, 0, 100)]
    starts = [block.start for block in Extent(1, 5000, (1, 500)).blocks(8)]
    assert starts == [0, 1000, 2000, 3000, 4000]
    assert Extent(1, 4000, (1, 2000)).blocks(8) == [Block(0, 1, 0, 2000, 2), Block(0, 1, 2000, 4000, 2)]


def test_a_long_block_is_cut_evenly():
    assert list(Block(0, 1, 0, 2000, 2).spans()) == [slice(0, 1000), slice(1000, 2000)]


@pytest.mark.parametrize(("chunks", "expected"), [({"trajectory": 2, "time": 5}, (2, 5)), (None, (6, 20))])
def test_chunks_are_those_of_dask_or_all(chunks: dict[str, int] | None, expected: tuple[int, int]):
    array = xr.DataArray(np.zeros((6, 20)), dims=("trajectory", "time"))
    assert chunk_of(array if chunks is None else array.chunk(chunks), ("trajectory", "time")) == expected
