from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.data.signals import Signals
from greymatch.errors import GreymatchError
from greymatch.forecast.references import hold, physics_only, time_mean, true_mean, zero
from greymatch.forecast.rollout import rollout
from greymatch.forecast.scores import score
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.simulation.status import Status
from greymatch.systems import pendulum

NAN, INF = math.nan, math.inf


def values(forecast) -> np.ndarray:
    return forecast.draws[0, ..., 0].numpy()


def test_hold_keeps_the_last_observation(recording):
    history = recording([0.0, 1.0, 2.0], [[1.0, 2.0, 3.0], [4.0, 5.0, NAN]])
    np.testing.assert_array_equal(values(hold(history, [3.0, 4.0])), [[3.0, 3.0], [5.0, 5.0]])
    own = values(hold(history, [[3.0, 4.0], [1.5, INF]]))
    np.testing.assert_array_equal(own, [[3.0, 3.0], [5.0, NAN]])


def test_zero_is_zero(recording):
    history = recording([0.0, 1.0], torch.ones(2, 2, 1, 3), grid=("x",))
    forecast = zero(history, [2.0, 3.0])
    assert forecast.draws.shape == (1, 2, 2, 1, 3)
    assert not bool(forecast.draws.any())


def test_the_time_mean_interpolates_and_holds_beyond_the_ends(recording):
    train = recording([[0.0, 2.0, 4.0], [0.0, 1.0, INF]], [[0.0, 2.0, 4.0], [10.0, 20.0, NAN]])
    history = recording([-1.0], [[0.0]], ["new"])
    found = values(time_mean(train, history, [-0.5, 0.5, 1.0, 3.0, 9.0]))
    np.testing.assert_allclose(found, [[5.0, (0.5 + 15) / 2, (1 + 20) / 2, 3.0, 4.0]])


def test_the_time_mean_bridges_times_that_no_trajectory_covers(recording):
    train = recording([[0.0, 1.0], [5.0, 6.0]], [[1.0, 2.0], [3.0, 4.0]])
    found = values(time_mean(train, recording([-1.0], [[0.0]]), [[2.5, 3.5]]))
    np.testing.assert_allclose(found, [[2.0, 3.0]])


def test_the_time_mean_matches_states_by_name_and_many_trajectories(recording, seed):
    train = recording(range(4), torch.randn(150, 4, 2).double())
    history = recording([0.0], [[[0.0]]])
    found = values(time_mean(train, history, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found[0], train.values[:, 1:, 0].mean(0))


def test_a_single_observation_gives_no_time_mean(recording):
    with pytest.raises(GreymatchError, match="at least two observations of 'x0'"):
        time_mean(recording([0.0, 1.0], [[1.0, NAN]]), recording([0.0], [[0.0]]), [1.0])


def test_true_parameters_forecast_the_pendulum(swings):
    theta = torch.as_tensor(np.stack([swings.truth["omega"], swings.truth["xi"]], 1))
    history, times = swings.first(26), swings.times[0, 26:]
    assert score(rollout(pendulum.truth, theta, history, times), swings).mse < 1e-8


def test_the_references_rank_as_they_should(test_split):
    test = test_split
    history, times = test.first(pendulum.given), test.times[0, pendulum.given :]
    mse = {
        "zero": score(zero(history, times), test).mse,
        "hold": score(hold(history, times), test).mse,
        "mean": score(time_mean(test, history, times), test).mse,
        "physics": score(physics_only(pendulum.physics, history, times), test).mse,
        "true mean": score(true_mean(pendulum, history, times), test).mse,
    }
    # simulated independently: 2.5e-3, 4.2e-2, 2.5e-3, 3.6e-2 and 1.5e-3, each with its sampling error
    assert mse["zero"] == pytest.approx(2.5e-3, rel=0.35)
    assert mse["hold"] == pytest.approx(4.2e-2, rel=0.3)
    assert mse["mean"] == pytest.approx(mse["zero"], rel=0.1)
    assert mse["physics"] == pytest.approx(3.6e-2, rel=0.3)
    assert mse["true mean"] == pytest.approx(1.5e-3, rel=0.35)


def test_each_trajectory_is_forecast_on_its_own_times(swings):
    history = swings.select([0, 1]).first(26)
    together = physics_only(pendulum.physics, history, [[2.6, 5.0], [3.0, INF]])
    alone = physics_only(pendulum.physics, history.select([1]), [3.0])
    torch.testing.assert_close(together.draws[0, 1, 0], alone.draws[0, 0, 0], rtol=0, atol=1e-4)
    assert bool(together.draws[0, 1, 1].isnan())


def test_inputs_drive_the_physics(recording):
    """x' = u - x with u = t has the solution t - 1 + c exp(-t)."""
    physics = Physics(lambda t, x, p, u: {"x0": u.push - x.x0}, ["x0"], inputs=["push"])
    clock = torch.linspace(0.0, 5.0, 11, dtype=torch.float64)[None]
    other = torch.full_like(clock, 100.0)
    signals = Signals(("other", "push"), clock, torch.stack([other, clock], 2))
    history = recording([0.0, 1.0], [[2.0, 3 * math.exp(-1.0)]], inputs=signals)
    times = torch.tensor([1.5, 3.0, 5.0], dtype=torch.float64)
    found = physics_only(physics, history, times)
    np.testing.assert_allclose(values(found)[0], times - 1 + 3 * torch.exp(-times), rtol=1e-4)
    with pytest.raises(GreymatchError, match="'push' of trajectory 0 is known from 0 to 5, asked at 6"):
        physics_only(physics, history, [6.0])
    with pytest.raises(GreymatchError, match=r"must hold the inputs of the physics, \['push'\]"):
        physics_only(physics, recording([0.0, 1.0], [[2.0, 1.0]]), [2.0])


def test_a_diverging_trajectory_is_marked_alone(recording):
    physics = Physics(lambda t, x, p: {"x0": p.rate * x.x0**2}, ["x0"], {"rate": Uniform(0.5, 1.5)})
    forecast = physics_only(physics, recording([0.0], [[1.0], [-1.0]]), [0.5, 2.0])
    assert forecast.failed == 1
    assert forecast.status[0, 1] == Status.SOLVED
    np.testing.assert_allclose(values(forecast), [[2.0, NAN], [-1 / 1.5, -1 / 3]], rtol=1e-4)


def test_physics_of_some_states_forecasts_those(recording):
    physics = Physics(lambda t, x, p: {"x1": -x.x1}, ["x1"])
    history = recording([0.0, 1.0], [[[5.0, 2.0], [6.0, 1.0]]])
    forecast = physics_only(physics, history, [2.0])
    assert forecast.states == ("x1",)
    assert values(forecast)[0, 0] == pytest.approx(math.exp(-1), rel=1e-4)


def test_what_does_not_fit_is_refused(recording, swings):
    history = recording([0.0, 1.0], [[1.0, 2.0]])
    with pytest.raises(GreymatchError, match=r"must hold the states \['angle'\]; got \['x0'\]"):
        physics_only(pendulum.physics, history, [2.0])
    with pytest.raises(GreymatchError, match=r"`theta` must hold the parameters \['omega'\]"):
        rollout(pendulum.physics, [1.0, 2.0], swings.first(5), [2.0])
