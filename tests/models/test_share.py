from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.models.share import ResidualTookOverWarning
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal

Make = Callable[..., GreyBox]
SPRING = Physics(
    lambda t, x, p: {"a": -p.k * x.a, "b": -p.k * x.b}, ["a", "b"], {"k": Normal(1.0, 0.1)}, order=2, complete=["b"]
)


@pytest.fixture(scope="module")
def springs(waves: Callable[..., Trajectories]) -> Trajectories:
    return waves(1, (), rows=20, points=60)


def test_an_untrained_model_is_all_physics(greybox: Make, springs: Trajectories):
    share = greybox(SPRING, springs).physics_share(springs)
    assert list(share) == ["a", "b"]
    for parts in share.values():
        assert parts["share"] == 1.0
        assert parts["residual"] == 0.0
        # x'' = -sin has the root mean square of a sine, over several periods
        assert parts["physics"] == pytest.approx(0.5**0.5, rel=0.05)


def test_a_known_residual_has_its_share_and_complete_equations_none(greybox: Make, springs: Trajectories):
    model = greybox(SPRING, springs)
    model.network.dynamics.field.get_parameter("heads.0.bias").data[:] = 1.0
    share = model.physics_share(springs)
    added = float(model.network.scales.acceleration[0])
    assert share["a"]["residual"] == pytest.approx(added, rel=1e-3)
    assert share["a"]["share"] == pytest.approx(share["a"]["physics"] / (share["a"]["physics"] + added), rel=1e-3)
    assert share["b"]["share"] == 1.0


def test_trajectories_shorter_than_the_window_are_left_out(greybox: Make, springs: Trajectories):
    model = greybox(SPRING, springs, trained=True)
    times, values, mask = springs.times.clone(), springs.values.clone(), springs.mask.clone()
    for row, length in ((3, 4), (7, 6)):  # the window is 6
        times[row, length:], values[row, length:], mask[row, length:] = torch.inf, 0.0, False
    ragged = replace(springs, times=times, values=values, mask=mask)
    others = springs.select([row for row in range(20) if row not in (3, 7)])
    one, two = model.physics_share(ragged), model.physics_share(others)
    assert one["a"] == pytest.approx(two["a"], rel=1e-5)


def test_a_history_alone_has_no_share(greybox: Make, springs: Trajectories):
    with pytest.raises(GreymatchError, match=r"must go on after the 6 points .*longest trajectory has 6"):
        greybox(SPRING, springs).physics_share(springs.first(6))


def test_the_fitted_pendulum_uses_its_physics(small_model: GreyBox, swings: tuple[Trajectories, Trajectories]):
    share = small_model.physics_share(swings[1])["angle"]
    assert 0.5 < share["share"] < 1.0


def test_a_fitted_model_knows_its_shares_without_data(small_model: GreyBox, swings: tuple[Trajectories, Trajectories]):
    kept = small_model.physics_share()["angle"]
    assert kept["share"] == pytest.approx(small_model.physics_share(swings[0])["angle"]["share"], abs=0.05)
    kept["share"] = 0.0
    assert small_model.physics_share()["angle"]["share"] > 0.5, "the record is the model's own"


def test_a_model_without_a_record_of_shares_asks_for_data(greybox: Make, springs: Trajectories):
    with pytest.raises(GreymatchError, match=r"`data` must be given: this model's record holds no shares"):
        greybox(SPRING, springs).physics_share()


def test_a_residual_that_took_over_is_warned_of(greybox: Make, springs: Trajectories):
    model = greybox(SPRING, springs)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResidualTookOverWarning)
        model.physics_share(springs)
    model.network.dynamics.field.get_parameter("heads.0.bias").data[:] = 3.0
    with pytest.warns(ResidualTookOverWarning, match=r"the equation of a \(share of the physics 0\.\d+\)\."):
        model.physics_share(springs)
