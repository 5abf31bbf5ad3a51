from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.models.unusual import UnusualHistoryWarning, seen_range
from greymatch.training.calibration import calibrate_misfit


@pytest.fixture
def model(known) -> GreyBox:
    network, data, _, _ = known
    network.noise.fill_(0.01)
    calibrate_misfit(network, data)
    return GreyBox(network.physics, network)


def alien(data: Trajectories) -> Trajectories:
    """The third trajectory pushed to and fro by something that no spring or damper does."""
    values = data.values.clone()
    values[2, :, 1] += torch.sin(9 * data.times[2])
    return replace(data, values=values)


@pytest.mark.parametrize("refine", [None, True, False])
def test_a_motion_that_nothing_explains_is_told_by_name(model, known, refine):
    history = alien(known[1].first(20))
    found = model.strangeness(history)
    assert found[2] > 10
    assert np.delete(found, 2).max() < 3
    with pytest.warns(UnusualHistoryWarning, match="1 of 12 histories \\(trajectory 2\\)"):
        model.infer(history, draws=2, refine=refine)
    with pytest.warns(UnusualHistoryWarning):
        model.forecast(history, [3.0], draws=2, refine=refine)


def test_a_path_that_no_window_has_does_not_change_how_strange_it_is(model, known):
    history = alien(known[1].first(20))
    with torch.no_grad():
        own = model.network.observe(model._checked(history), refine=True).own
    np.testing.assert_array_equal(model.strangeness(history), (own.misfit / model.network.usual).double().numpy())


def test_a_history_that_a_path_goes_through_is_explained(known):
    """However badly differences of its samples tell derivatives: here as if they hardly ever erred."""
    network, data, _, _ = known
    network.usual.fill_(1e-9)
    network.refined.fill_(1.0)
    model = GreyBox(network.physics, network)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.infer(data.first(12), draws=2)
    with pytest.warns(UnusualHistoryWarning, match=r"trajectory 2\)"):
        model.infer(alien(data.first(12)), draws=2)


def test_what_is_strange_is_told_when_it_is_observed_and_not_again(model, known):
    with pytest.warns(UnusualHistoryWarning) as told:
        seen = model.observe(alien(known[1].first(20)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forecast(seen, [3.0], draws=2)
        model.infer(seen, draws=2)
    assert [one.filename for one in told] == [__file__]


def test_what_the_model_knows_is_met_in_silence(model, known):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.infer(known[1].first(20), draws=2)
        model.forecast(known[1].first(20), [3.0], draws=2)
    assert model.strangeness(known[1].first(20)).max() < 3


def test_hardly_a_window_of_validation_data_is_above_one(model, known):
    _, data, _, _ = known
    found = np.concatenate([model.strangeness(data.first(points)) for points in (12, 16, 20, 24, 28)])
    assert (found > 1).mean() < 0.2


def test_the_range_seen_skips_gaps_and_states_without_a_value(recording):
    values = torch.tensor([[[1.0, np.nan], [9.0, np.nan]], [[-3.0, np.nan], [np.nan, np.nan]]])
    data = recording([0.0, 1.0], values)
    assert seen_range(data, data.select([0])) == {"x0": [-3.0, 9.0]}


@pytest.mark.parametrize("size", [1.0, 1.9, 2.1, 5.0])
def test_a_history_far_beyond_what_was_seen_is_told_even_if_it_is_explained(model, known, size):
    """The known motion is linear: five times as large it is explained as well, yet the field was never there."""
    history = known[1].first(20)
    wide = float(history.values[3].abs().max()) * 1.01
    seeing = replace(model, record={"seen": {name: [-wide, wide] for name in history.states}})
    values = history.values.clone()
    values[3] *= size
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        seeing.infer(replace(history, values=values).select([3]), draws=2)
        seeing.forecast(replace(history, values=values).select([3]), [3.0], draws=2)
    beyond = [str(one.message) for one in told if "far beyond" in str(one.message)]
    assert bool(beyond) == (size * wide / 1.01 > 2 * wide)
    assert all(one.filename == __file__ for one in told)  # the caller's line is named


def test_a_model_that_was_not_judged_says_nothing(known):
    network, data, _, _ = known
    assert np.isnan(GreyBox(network.physics, network).strangeness(data.first(20))).all()


def test_a_method_that_cannot_be_asked_says_nothing(build, waves):
    network = build(method="tfm")
    calibrate_misfit(network, waves(1, ()))
    assert np.isnan(GreyBox(network.physics, network).strangeness(waves(1, ()))).all()
