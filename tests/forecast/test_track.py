from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError


def test_a_constant_parameter_is_tracked_at_its_value(asked, known):
    _, data, k, _ = known
    found = asked.track(data, every=3)
    assert found.median.shape == (12, 7, 1)
    assert torch.equal(found.times, data.times[:, 11::3])
    assert float((found.median[..., 0] - k[:, None]).abs().max()) < 0.05
    assert bool(((found.low <= found.median) & (found.median <= found.high)).all())


def test_each_window_says_what_infer_says_of_it(asked, known):
    _, data, _, _ = known
    found = asked.track(data, every=6)
    for place, points in enumerate((12, 18, 24, 30)):
        alone = asked.infer(data.first(points), draws=1).draws[0, :, 0]
        spread = found.high[:, place, 0] - found.low[:, place, 0]
        assert bool(((found.median[:, place, 0] - alone).abs() < 0.3 * spread).all())


def test_a_parameter_that_jumps_is_followed(asked, known):
    """The first 15 points of one recording, then the last 15 of another, as if its spring had changed."""
    _, data, k, _ = known
    soft, stiff = int(k.argmin()), int(k.argmax())
    values = torch.cat([data.values[soft, :15], data.values[stiff, 15:]])[None]
    joined = Trajectories(data.states, data.times[:1], values, data.mask[:1], np.array(["joined"]))
    found = asked.track(joined).median[0, :, 0]
    assert float(found[0]) == pytest.approx(float(k[soft]), abs=0.05)
    assert float(found[-1]) == pytest.approx(float(k[stiff]), abs=0.05)


def test_shorter_recordings_end_in_nothing(asked, known):
    _, data, _, _ = known
    mask = data.mask.clone()
    mask[0, 20:] = False
    found = asked.track(replace(data, mask=mask), every=4)
    assert bool(found.median[0, 3:].isnan().all())
    assert bool(found.median[1:].isfinite().all())
    assert found.to_dataset()["k"].sel(value="median").shape == (12, 5)


def test_the_text_is_short(asked, known):
    _, data, k, _ = known
    found = asked.track(data, every=3)
    lines = repr(found).splitlines()
    assert lines[0].startswith("Track of k (12 trajectories, up to 7 windows, t = 1.1 to 2.9)")
    assert len(lines) == 1 + 10 + 1
    assert lines[-1] == "... 2 more"
    label, name, first, _, last = lines[1].split()
    assert (label, name) == ("0:", "k")
    assert (float(first), float(last)) == pytest.approx([float(k[0])] * 2, abs=0.05)


def test_wrong_arguments_say_what_is_right(asked, known):
    _, data, _, _ = known
    for wrong, message in (({"every": 0}, "every"), ({"level": 1.5}, "level")):
        with pytest.raises(GreymatchError, match=message):
            asked.track(data, **wrong)
    with pytest.raises(GreymatchError, match="at least 12 points"):
        asked.track(data.first(8))
    with pytest.raises(GreymatchError, match="parameter"):
        asked.track(data).plot("q")


def test_the_picture_has_the_band_and_the_median(asked, known):
    axes = asked.track(known[1], every=5).plot("k", trajectory=2)
    assert axes.get_ylabel() == "k"
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"90%", "median"}
