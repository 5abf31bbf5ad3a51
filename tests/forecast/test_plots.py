from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.forecast.references import hold


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def line(ax, label: str) -> np.ndarray:
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return np.array(found.get_xydata())


def test_the_picture_holds_the_numbers(cast, recording):
    draws = torch.randn(30, 2, 3)
    data = recording([0.0, 1.0, 2.0, 3.0], torch.randn(2, 4), ["a", "b"])
    forecast = cast(draws, [1.0, 2.0, 3.0], labels=["b", "a"], units={"x0": "m"})
    ax = forecast.plot(trajectory=1, truth=data, history=data.first(1))
    np.testing.assert_allclose(line(ax, "mean")[:, 1], draws[:, 1].mean(0), rtol=1e-5)
    np.testing.assert_allclose(line(ax, "truth")[:, 1], data.values[0, :, 0])
    assert line(ax, "given").shape == (1, 2)
    assert ax.get_ylabel() == "x0 (m)"
    assert ax.get_title() == "trajectory a"
    assert [band.get_label() for band in ax.collections] == ["90%", "50%"]


def test_one_draw_has_no_bands_and_goes_where_it_is_told(swings):
    plt.close("all")  # other tests of this process may have left figures open
    figure, ax = plt.subplots()
    forecast = hold(swings.first(26), swings.times[0, 26:])
    assert forecast.plot(2, "angle", swings, ax=ax) is ax
    assert not ax.collections
    assert line(ax, "forecast").shape == (174, 2)
    assert plt.get_fignums() == [figure.number]


def test_a_picture_of_its_own_has_its_legend_beside_it(swings):
    ax = hold(swings.first(26), swings.times[0, 26:]).plot(truth=swings)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_fields_are_shown_by_their_mean(cast):
    draws = torch.rand(1, 1, 2, 1, 3, 4)
    ax = cast(draws, [1.0, 2.0], grid=("y", "x")).plot()
    np.testing.assert_allclose(line(ax, "forecast")[:, 1], draws[0, 0, :, 0].mean((1, 2)), rtol=1e-5)
    assert "mean over y, x" in ax.get_ylabel()


def test_what_is_not_there_is_refused(swings, recording):
    forecast = hold(swings.first(26), [3.0])
    with pytest.raises(GreymatchError, match="Did you mean 'angle'"):
        forecast.plot(state="angel")
    with pytest.raises(GreymatchError, match="among the 5 trajectories"):
        forecast.plot(trajectory=5)
    with pytest.raises(GreymatchError, match="state 'angle' of trajectory 0"):
        forecast.plot(truth=recording([0.0, 1.0], torch.zeros(1, 2)))
