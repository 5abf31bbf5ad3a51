"""Recordings to test with: ragged, gappy, labelled, driven or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories

Compare = Callable[[Trajectories, Trajectories], None]
Recordings = Callable[..., st.SearchStrategy[Trajectories]]


@pytest.fixture(scope="session")
def recordings() -> Recordings:
    """A strategy: `recordings(driven=None | True | False, fields=None | True | False)`."""
    return _recordings


@pytest.fixture(scope="session")
def same() -> Compare:
    """Raise unless two recordings agree in everything, padding beyond the longest trajectory aside."""
    return _same


@st.composite
def _recordings(
    draw: st.DrawFn, driven: bool | None = None, fields: bool | None = False, least: int = 1
) -> Trajectories:
    lengths = np.array(draw(st.lists(st.integers(least, 6), min_size=1, max_size=5)))
    if draw(st.booleans()):
        lengths[:] = lengths[0]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    times = np.cumsum(rng.uniform(0.1, 1.0, (len(lengths), lengths.max())), axis=1) - draw(st.integers(-3, 3))
    ended = np.arange(lengths.max()) >= lengths[:, None]
    times = np.where(ended, np.inf, times)
    grid = (3, 2) if (draw(st.booleans()) if fields is None else fields) else ()
    states = ("angle", "level", "heat")[: draw(st.integers(1, 3))]
    mask = rng.random((*times.shape, len(states), *grid)) < draw(st.sampled_from([1.1, 0.6]))
    is_driven = draw(st.booleans()) if driven is None else driven
    mask[np.arange(len(lengths)), lengths - 1] = True
    mask[:, 0] |= is_driven
    mask[ended] = False
    dtype = draw(st.sampled_from([np.float64, np.float32] if grid else [np.float64]))
    values = np.where(mask, rng.normal(size=mask.shape), 0).astype(dtype)
    texts = draw(st.booleans())
    labels = rng.permutation(100)[: len(lengths)]
    return Trajectories(
        states=states,
        times=torch.as_tensor(times),
        values=torch.as_tensor(values),
        mask=torch.as_tensor(mask),
        labels=np.array([f"run {label}" for label in labels]) if texts else labels,
        inputs=_inputs(torch.as_tensor(times), rng) if is_driven else None,
        grid=("y", "x")[: len(grid)],
        grid_coords={"y": np.array([0.0, 0.5, 1.0]), "x": np.array([10, 20])} if grid else {},
        truth={"mass": rng.uniform(1, 2, len(lengths))} if draw(st.booleans()) else {},
        units={"angle": "rad", "time": "s"},
        epoch=_epoch(rng, len(lengths)) if draw(st.booleans()) else None,
    )


def _epoch(rng: np.random.Generator, count: int) -> np.ndarray:
    """Any nanosecond of two centuries."""
    return rng.integers(-(2**62), 2**62, count).astype("M8[ns]")


def _inputs(times: torch.Tensor, rng: np.random.Generator) -> Signals:
    mask = times.isfinite()[..., None] & torch.as_tensor(rng.random((*times.shape, 2)) < 0.8)
    mask[:, 0] = True
    values = torch.as_tensor(rng.normal(size=mask.shape)) * mask
    return Signals(("push", "pull"), times, values, "hold", mask)


def _same(one: Trajectories, two: Trajectories) -> None:
    assert (one.states, one.grid) == (two.states, two.grid)
    assert one.labels.tolist() == two.labels.tolist()
    assert one.lengths.tolist() == two.lengths.tolist()
    assert one.values.dtype == two.values.dtype
    longest = int(one.lengths.max())
    for name in ("times", "values", "mask"):
        np.testing.assert_array_equal(getattr(one, name)[:, :longest], getattr(two, name)[:, :longest], name)
    for name in ("truth", "grid_coords"):
        assert getattr(one, name).keys() == getattr(two, name).keys()
        for key, value in getattr(one, name).items():
            np.testing.assert_array_equal(value, getattr(two, name)[key], key)
    assert one.units == two.units
    assert (one.epoch is None) == (two.epoch is None)
    np.testing.assert_array_equal(one.epoch, two.epoch)  # pyright: ignore[reportArgumentType] - None equals None
    _same_inputs(one.inputs, two.inputs)


def _same_inputs(one: Signals | None, two: Signals | None) -> None:
    assert (one is None) == (two is None)
    if one is None or two is None:
        return
    assert (one.names, one.kind) == (two.names, two.kind)
    longest = int(one.times.isfinite().sum(1).max())
    for name in ("times", "values", "seen"):
        np.testing.assert_array_equal(getattr(one, name)[:, :longest], getattr(two, name)[:, :longest], name)
