from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.forecast.references import rollout
from greymatch.models import solving
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform
from greymatch.simulation.status import Status

Make = Callable[..., GreyBox]
STEP = 0.1


def recorded(states: tuple[str, ...], values: Tensor) -> Trajectories:
    rows, points = values.shape[:2]
    times = (STEP * torch.arange(points, dtype=torch.float64)).repeat(rows, 1)
    return Trajectories(states, times, values.double(), torch.ones_like(values, dtype=torch.bool), np.arange(rows))


def circling(rows: int = 3, points: int = 20) -> Trajectories:
    """x = cos(w t + i), which x'' = -w^2 x explains, with w = 2."""
    times = STEP * torch.arange(points, dtype=torch.float64)
    return recorded(("x",), torch.cos(2 * times + torch.arange(rows)[:, None])[..., None])


SPRING = Physics(lambda t, x, p: {"x": -(p.w**2) * x.x}, ["x"], {"w": Normal(2.0, 0.1)}, order=2)
LATER = [2.0, 2.5, 3.0]  # the last observation of 20 points is at 1.9


def test_a_forecast_starts_at_the_last_observation_with_the_velocity_shown(greybox: Make):
    data = circling()
    forecast = greybox(SPRING, data).forecast(data, LATER, draws=1)
    # the untrained model is the physics at the median of the prior, w = 2, so it goes on as it came
    wanted = torch.cos(2 * torch.tensor(LATER) + torch.arange(3)[:, None])
    torch.testing.assert_close(forecast.draws[0, :, :, 0], wanted, rtol=0, atol=1e-3)
    assert forecast.start.tolist() == pytest.approx([1.9] * 3)


def test_asked_at_its_start_a_forecast_is_the_last_observation(greybox: Make):
    data = circling()
    forecast = greybox(SPRING, data, trained=True).forecast(data, data.times[:, -1:], draws=3)
    torch.testing.assert_close(forecast.draws[:, :, 0, 0], data.values[:, -1, 0].float().expand(3, 3))


def test_a_forecast_of_order_one_starts_at_the_last_observation(greybox: Make):
    physics = Physics(lambda t, x, p: {"x": p.k * 0.0}, ["x"], {"k": 1.0})
    data = circling()
    forecast = greybox(physics, data).forecast(data, LATER, draws=1)
    torch.testing.assert_close(forecast.draws[0, :, :, 0], data.values[:, -1].float().expand(3, 3))


def test_an_untrained_model_forecasts_what_the_physics_alone_does(greybox: Make):
    data = circling()
    mine = greybox(SPRING, data).forecast(data, LATER, draws=1, tolerance=1e-7).draws
    torch.testing.assert_close(mine.double(), rollout(SPRING, [2.0], data, LATER).draws, rtol=1e-4, atol=1e-4)


def test_one_draw_is_the_same_for_every_seed_and_many_are_not(greybox: Make):
    data = circling()
    model = greybox(SPRING, data, trained=True)
    assert torch.equal(model.forecast(data, LATER, 1, seed=0).draws, model.forecast(data, LATER, 1, seed=1).draws)
    one, same, other = (model.forecast(data, LATER, 8, seed=seed).draws for seed in (5, 5, 6))
    assert torch.equal(one, same)
    assert bool((one != other).all())
    assert one.shape == (8, 3, 3, 1)
    assert len(one[:, 0, -1, 0].unique()) == 8


def test_draws_spread_as_the_posterior_does(greybox: Make):
    # x' = k is linear in k, so x at lead t has the spread t std(k)
    physics = Physics(lambda t, x, p: {"x": p.k}, ["x"], {"k": Normal(3.0, 2.0)})
    data = circling(1)
    model = greybox(physics, data)
    std = model.infer(data, draws=4000).std()["k"].item()
    assert std == pytest.approx(2 * math.exp(-2), rel=0.05)
    spread = model.forecast(data, LATER, draws=4000).draws[:, 0, :, 0].std(0)
    torch.testing.assert_close(spread, std * (torch.tensor(LATER) - 1.9), rtol=0.05, atol=0)


def test_the_history_beyond_the_window_does_not_matter(greybox: Make):
    data = circling(points=20)
    model = greybox(SPRING, data, trained=True)
    window = model.settings.window
    short = replace(data, **{name: getattr(data, name)[:, -window:] for name in ("times", "values", "mask")})
    assert torch.equal(model.forecast(data, LATER, 3).draws, model.forecast(short, LATER, 3).draws)


def test_one_trajectory_alone_is_that_of_many(greybox: Make):
    data = circling(4)
    model = greybox(SPRING, data, trained=True)
    many = model.forecast(data, LATER, 1, tolerance=1e-7)
    one = model.forecast(data.select([2]), LATER, 1, tolerance=1e-7)
    torch.testing.assert_close(one.draws[:, 0], many.draws[:, 2], rtol=1e-4, atol=1e-4)
    alone, among = model.infer(data.select([2])), model.infer(data)
    assert len(alone) == 1
    assert alone.mean()["w"].item() == pytest.approx(among.mean()["w"][2].item(), abs=0.01)


def test_chunks_of_members_make_no_difference(greybox: Make, monkeypatch: pytest.MonkeyPatch):
    data = circling(4)
    model = greybox(SPRING, data, trained=True)
    whole = model.forecast(data, LATER, 5, tolerance=1e-7).draws
    monkeypatch.setattr(solving, "MEMBERS_AT_ONCE", 3)
    torch.testing.assert_close(model.forecast(data, LATER, 5, tolerance=1e-7).draws, whole, rtol=1e-4, atol=1e-4)


def test_a_member_that_diverges_does_not_sink_the_others(greybox: Make):
    # x' = k x^2 from 1 blows up at t = 1/k; the second trajectory starts too low to do so
    physics = Physics(lambda t, x, p: {"x": p.k * x.x**2}, ["x"], {"k": Normal(1.0, 0.5)})
    data = recorded(("x",), torch.stack([torch.ones(8, 1), torch.full((8, 1), 0.01)]))
    data.values[:, 0] *= 0.99  # a state that stands still has no scale
    times = torch.arange(0.8, 1.8, 0.1)
    forecast = greybox(physics, data).forecast(data, times, draws=40)
    assert bool((forecast.status[:, 1] == Status.SOLVED).all())
    assert bool(forecast.draws[:, 1].isfinite().all())
    sunk = forecast.status[:, 0] != Status.SOLVED
    assert 0 < int(sunk.sum()) < 40
    assert bool(forecast.draws[~sunk, 0].isfinite().all())
    assert bool(forecast.draws[sunk, 0, 0].isfinite().all()), "values before the failure stand"
    assert bool(forecast.draws[sunk, 0, -1].isnan().all())


def test_each_trajectory_may_be_asked_at_its_own_times(greybox: Make):
    data = circling(2)
    model = greybox(SPRING, data, trained=True)
    own = model.forecast(data, [[2.0, 3.0, math.inf], [2.2, 2.5, 2.9]], draws=1, tolerance=1e-7).draws[0, :, :, 0]
    shared = model.forecast(data, [2.0, 2.2, 2.5, 2.9, 3.0], draws=1, tolerance=1e-7).draws[0, :, :, 0]
    torch.testing.assert_close(own[0, :2], shared[0, [0, 4]], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(own[1], shared[1, 1:4], rtol=1e-4, atol=1e-4)
    assert bool(own[0, 2].isnan())


def test_trajectories_of_different_length_start_at_their_own_ends(greybox: Make):
    data = circling(2)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[1, 12:], values[1, 12:], mask[1, 12:] = torch.inf, 0.0, False
    ragged = replace(data, times=times, values=values, mask=mask)
    forecast = greybox(SPRING, data).forecast(ragged, LATER, draws=1)
    assert forecast.start.tolist() == pytest.approx([1.9, 1.1])
    wanted = torch.cos(2 * torch.tensor(LATER) + torch.arange(2)[:, None])
    torch.testing.assert_close(forecast.draws[0, :, :, 0], wanted, rtol=0, atol=2e-3)


def test_a_history_that_ends_in_missing_values_starts_at_its_last_observation(greybox: Make):
    data = circling(2)
    mask = data.mask.clone()
    mask[0, 15:] = False
    gappy = replace(data, mask=mask, values=data.values * mask)
    forecast = greybox(SPRING, data).forecast(gappy, [2.0, 2.5], draws=1)
    assert forecast.start.tolist() == pytest.approx([1.4, 1.9])
    wanted = torch.cos(2 * torch.tensor([2.0, 2.5]) + torch.arange(2)[:, None])
    torch.testing.assert_close(forecast.draws[0, :, :, 0], wanted, rtol=0, atol=2e-3)


def driven(rows: int = 2) -> tuple[Physics, Trajectories]:
    """x' = u - x with u = t, solved by t - 1 + e^-t."""
    physics = Physics(lambda t, x, p, u: {"x": p.k * (u.u - x.x)}, ["x"], {"k": Normal(1.0, 0.1)}, inputs=["u"])
    times = STEP * torch.arange(20, dtype=torch.float64)
    data = recorded(("x",), (times - 1 + torch.exp(-times)).repeat(rows, 1)[..., None])
    when = torch.linspace(0, 4, 41, dtype=torch.float64).repeat(rows, 1)
    return physics, replace(data, inputs=Signals(("u",), when, when[..., None]))


def test_inputs_drive_the_forecast(greybox: Make):
    physics, data = driven()
    found = greybox(physics, data).forecast(data, [2.5, 4.0], draws=1).draws[0, :, :, 0]
    times = torch.tensor([2.5, 4.0])
    torch.testing.assert_close(found, (times - 1 + torch.exp(-times)).repeat(2, 1), rtol=1e-3, atol=1e-3)


def test_inputs_must_reach_as_far_as_the_forecast(greybox: Make):
    physics, data = driven()
    with pytest.raises(GreymatchError, match=r"inputs must cover every time.*known from 0 to 4, asked at 4.5"):
        greybox(physics, data).forecast(data, [2.5, 4.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: replace(d, states=("y",)), r"`history` must hold the states \['x'\].*got \['y'\].*states=\['x'\]"),
        (lambda d: d.first(4), r"at least 6 points.*trajectory 0 has 4. Give a longer history"),
        (
            lambda d: replace(d, inputs=Signals(("u",), d.times, d.values)),
            r"must carry the inputs \[\] in that order; got \['u'\]",
        ),
        (
            lambda d: replace(d, values=d.values[..., None], mask=d.mask[..., None], grid=("x",)),
            r"`history` must have the grid axes \[\].*got \['x'\]",
        ),
    ],
)
def test_a_history_that_does_not_fit_is_refused(
    greybox: Make, change: Callable[[Trajectories], Trajectories], message: str
):
    data = circling()
    model = greybox(SPRING, data)
    with pytest.raises(GreymatchError, match=message):
        model.forecast(change(data), LATER)
    with pytest.raises(GreymatchError, match=message):
        model.infer(change(data))


def test_a_history_without_the_inputs_is_refused(greybox: Make):
    physics, data = driven()
    with pytest.raises(GreymatchError, match=r"must carry the inputs \['u'\] in that order; got \[\]"):
        greybox(physics, data).forecast(replace(data, inputs=None), LATER)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.5, 2.5], r"last observation; trajectory 0 was last observed at 1.9 and is asked at 1.5"),
        ([2.5, 2.0], "`times` must increase"),
        ([], "not empty"),
    ],
)
def test_times_that_cannot_be_forecast_are_refused(greybox: Make, times: list[float], message: str):
    data = circling()
    with pytest.raises(GreymatchError, match=message):
        greybox(SPRING, data).forecast(data, times)


def test_no_draws_are_refused(greybox: Make):
    data = circling()
    model = greybox(SPRING, data)
    for call in (lambda: model.forecast(data, LATER, draws=0), lambda: model.infer(data, draws=0)):
        with pytest.raises(GreymatchError, match="`draws` must be a whole number of at least 1; got 0"):
            call()


def test_inferred_parameters_lie_in_their_support_and_fixed_ones_stay(greybox: Make):
    params = {"w": Uniform(1.9, 2.1), "g": 9.81, "c": Normal(0.0, 1.0)}
    physics = Physics(lambda t, x, p: {"x": -(p.w**2) * x.x + 0 * p.c}, ["x"], params, order=2)
    data = circling()
    posterior = greybox(physics, data, trained=True).infer(data, draws=500, seed=3)
    assert posterior.names == ("w", "g", "c")
    assert posterior.draws.shape == (500, 3, 3)
    w, g, _ = posterior.draws.unbind(-1)
    assert bool(((w >= 1.9) & (w <= 2.1)).all())
    assert g.unique().tolist() == pytest.approx([9.81])
    assert posterior.labels.tolist() == [0, 1, 2]
    again = greybox(physics, data, trained=True).infer(data, draws=500, seed=3)
    assert torch.equal(posterior.draws, again.draws)


def test_a_black_box_has_nothing_to_infer(greybox: Make):
    data = circling()
    with pytest.raises(GreymatchError, match=r"nothing to infer.*'vbb-dm'"):
        greybox(SPRING, data, method="vbb-dm").infer(data)


def test_forecasts_do_not_touch_the_global_generator_nor_the_model(greybox: Make, seed: int):
    data = circling()
    model = greybox(SPRING, data, trained=True)
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    state = torch.get_rng_state()
    model.forecast(data, LATER, draws=3)
    model.infer(data)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.network.state_dict().items())


def test_labels_and_units_go_with_the_forecast(greybox: Make):
    data = replace(circling(2), labels=np.array(["left", "right"]), units={"x": "m"})
    forecast = greybox(SPRING, data).forecast(data, LATER, draws=2)
    assert forecast.labels.tolist() == ["left", "right"]
    assert forecast.mean()["x"].attrs["units"] == "m"
    assert forecast.mean()["x"].sel(trajectory="right").shape == (3,)


def test_states_that_training_left_unexplained_are_named(greybox: Make):
    model = greybox(SPRING, circling())
    assert model.noisy == []
    assert replace(model, record={"noise": [0.9]}).noisy == list(SPRING.states)


def test_one_draw_of_the_parameters_is_the_middle(greybox: Make):
    data = circling()
    model = greybox(SPRING, data)
    assert model.infer(data, draws=1).draws.shape[0] == 1
    assert torch.equal(model.infer(data, draws=1, seed=0).draws, model.infer(data, draws=1, seed=1).draws)


@pytest.mark.parametrize("wrong", [{"draws": 2.5}, {"draws": True}, {"tolerance": 0.0}, {"tolerance": -1.0}])
def test_other_wrong_arguments_are_named(greybox: Make, wrong: dict[str, float]):
    data = circling()
    with pytest.raises(GreymatchError, match=next(iter(wrong))):
        greybox(SPRING, data).forecast(data, LATER, **wrong)  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_refined_model_infers_what_each_history_shows_whatever_its_encoder_says(known):
    network, data, k, _ = known
    model = GreyBox(network.physics, network.eval(), {})
    wrong = {}
    for refined in (0.0, 1.0):
        network.refined.fill_(refined)
        wrong[refined] = float((model.infer(data, draws=1).draws[0, :, 0] - k).abs().max())
    assert wrong[1.0] < 5e-3 < 0.1 < wrong[0.0]


def test_a_refined_model_forecasts_histories_of_mixed_lengths(greybox: Make):
    data = circling(4)
    model = greybox(SPRING, data, trained=True, shortest=4, residual__products=0)
    model.network.refined.fill_(1.0)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    for row, length in ((1, 4), (2, 5)):
        times[row, length:], values[row, length:], mask[row, length:] = torch.inf, 0.0, False
    ragged = replace(data, times=times, values=values, mask=mask)
    forecast, posterior = model.forecast(ragged, LATER, draws=6), model.infer(ragged, draws=6)
    assert forecast.draws.shape == (6, 4, 3, 1)
    assert bool(forecast.draws.isfinite().all())
    assert posterior.draws.shape == (6, 4, 1)
    assert bool(posterior.draws.isfinite().all())
    assert len(posterior.draws.unique()) == 24
    alone = model.infer(ragged.select([1]), draws=1).draws
    torch.testing.assert_close(model.infer(ragged, draws=1).draws[:, 1:2], alone, rtol=1e-3, atol=1e-4)


def test_what_was_observed_once_serves_forecasts_and_parameters_as_the_history_does(greybox: Make):
    data = circling()
    model = greybox(SPRING, data, trained=True)
    seen = model.observe(data)
    assert len(seen) == len(data)
    for draws in (1, 8):
        anew, again = (model.forecast(given, LATER, draws, seed=3) for given in (data, seen))
        assert torch.equal(anew.draws, again.draws)
        assert torch.equal(anew.start, again.start)
        assert torch.equal(model.infer(data, draws, seed=3).draws, model.infer(seen, draws, seed=3).draws)
    assert torch.equal(model.infer(data, whole=True).draws, model.infer(seen, whole=True).draws)


def test_how_windows_are_asked_is_told_when_they_are_observed(greybox: Make):
    data = circling()
    model = greybox(SPRING, data, trained=True)
    asked, told = (model.infer(model.observe(data, refine=refine)).draws for refine in (True, False))
    assert torch.equal(asked, model.infer(data, refine=True).draws)
    assert torch.equal(told, model.infer(data, refine=False).draws)
    with pytest.raises(GreymatchError, match="`refine` must be None"):
        model.infer(model.observe(data), refine=True)


def test_what_another_model_observed_is_refused(greybox: Make):
    data = circling()
    seen = greybox(SPRING, data).observe(data)
    with pytest.raises(GreymatchError, match="observed by this model"):
        greybox(SPRING, data).forecast(seen, LATER)
