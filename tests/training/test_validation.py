from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.errors import GreymatchError
from greymatch.forecast.ensemble import covered
from greymatch.matching.interpolants import interpolant
from greymatch.models.network import Network
from greymatch.models.sight import Sight
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.simulation.solve import Solution
from greymatch.training import validation
from greymatch.training.validation import WORST, ForecastError, Validator

Decays = Callable[..., Trajectories]


def untrained(physics: Physics, data: Trajectories, tiny: Settings) -> Network:
    path = interpolant("quintic")(data.times, data.values, data.mask)
    window = Windows.of(data, tiny.window).gather(torch.tensor([0]))
    return Network.fitting(physics, tiny, Scales.of(data, path), window)


def still(rate: float = 0.0) -> Physics:
    """x' = rate: a forecast that is known in closed form."""
    return Physics(lambda t, x, p: {"x": p.c}, ["x"], {"c": Normal(rate, 1.0)})


def test_the_error_is_that_of_forecasts_from_the_first_window(decays: Decays, tiny: Settings):
    data = decays(20)
    network = untrained(still(), data, tiny.updated({"encoder.refine": False}))
    found = Validator.of(data, tiny.window).error(network)
    wrong = data.values[:, tiny.window :] - data.values[:, tiny.window - 1 : tiny.window]
    assert found.mse == pytest.approx(float(wrong.square().mean()), rel=1e-4)
    each = wrong.square().mean((1, 2)) / float(network.scales.spread) ** 2
    assert found.scaled == pytest.approx(float(each.log().mean().exp()), rel=1e-4)
    assert found.typical == pytest.approx(float(each.median()), rel=1e-4)
    assert found.failed == 0


def test_forecasts_over_a_trajectory_start_at_its_first_and_its_middle_window(decays: Decays, tiny: Settings):
    data = decays(20)
    network = untrained(still(), data, tiny.updated({"encoder.refine": False}))
    length, points = tiny.window, data.times.shape[1]
    middle = (length - 1 + points - 2) // 2
    found = Validator.over(data, length).error(network)
    each = [(data.values[:, end + 1 :] - data.values[:, end : end + 1]).square() for end in (length - 1, middle)]
    count = sum(part.numel() for part in each)
    assert found.mse == pytest.approx(sum(float(part.sum()) for part in each) / count, rel=1e-4)


def test_no_forecast_starts_where_too_little_is_seen(decays: Decays, tiny: Settings):
    """Later on, the state is seen once in any window: no velocity could be told there."""
    data = decays(20)
    mask = data.mask.clone()
    mask[:, tiny.window :] = False
    mask[:, tiny.window + 2 :: tiny.window] = True
    judge = Validator.over(replace(data, mask=mask), tiny.window)
    assert bool((judge.window.mask.sum(1) >= 2).all())
    assert judge.each == 2


def test_only_what_was_observed_is_judged(decays: Decays, tiny: Settings):
    data = decays(20)
    network = untrained(still(), data, tiny.updated({"encoder.refine": False}))
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    mask[:, 20:25] = False
    values[:, 20:25] = 1e6
    times[3, 15:], mask[3, 15:], values[3, 15:] = torch.inf, False, 0.0
    found = Validator.of(replace(data, times=times, values=values, mask=mask), tiny.window).error(network)
    wrong = (data.values - data.values[:, tiny.window - 1 : tiny.window])[:, tiny.window :][mask[:, tiny.window :]]
    assert found.mse == pytest.approx(float(wrong.square().mean()), rel=1e-4)


def test_a_diverging_forecast_counts_as_the_worst_and_no_more(decays: Decays, tiny: Settings):
    data = decays(10)
    explosive = Physics(lambda t, x, p: {"x": torch.where(x.x > 0, x.x**4 + 9, -1.0)}, ["x"])
    found = Validator.of(data, tiny.window).error(untrained(explosive, data, tiny))
    assert 0 < found.failed <= 10
    assert 1 < found.scaled <= WORST**2


def test_the_number_of_trajectories_is_bounded(decays: Decays, tiny: Settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(validation, "MOST_TRAJECTORIES", 7)
    assert len(Validator.of(decays(20), tiny.window).times) == 7


def test_trajectories_that_cannot_be_forecast_are_left_out(decays: Decays, tiny: Settings):
    data = decays(6)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[1, 8:], mask[1, 8:], values[1, 8:] = torch.inf, False, 0.0  # no future
    mask[2, 7] = False  # does not end with an observation
    mask[4, :7] = False  # no velocity to start with
    validator = Validator.of(replace(data, times=times, values=values, mask=mask), tiny.window)
    assert torch.equal(validator.truth, values[[0, 3, 5], 8:])


def test_without_any_trajectory_to_forecast_the_error_says_so(decays: Decays, tiny: Settings):
    with pytest.raises(GreymatchError, match=r"`validation` must hold .*first 8 points.*longest has 8 points"):
        Validator.of(decays(5).first(8), tiny.window)


def test_coverage_of_a_known_spread_is_its_closed_form(decays: Decays, tiny: Settings):
    # members spread by t std about a line; with the truth on that line all is covered, far from it nothing
    data = decays(12)
    lead = data.times[:, tiny.window :] - data.times[:, tiny.window - 1 : tiny.window]
    values = data.values.clone()
    values[:, tiny.window :] = values[:, tiny.window - 1 : tiny.window] + lead[..., None]
    line = replace(data, values=values)
    network = untrained(still(rate=1.0), data, tiny)
    validator = Validator.of(line, tiny.window)
    assert validator.ensemble(network, validator.sight(network, 24), 0.9, 24).coverage == 1.0
    values = values.clone()
    values[:, tiny.window :] += lead[..., None]
    away = Validator.of(replace(data, values=values), tiny.window)
    assert away.ensemble(network, away.sight(network, 24), 0.9, 24).coverage == 0.0
    network.widening.fill_(50.0)
    assert away.ensemble(network, away.sight(network, 24), 0.9, 24).coverage == 1.0


def told(monkeypatch: pytest.MonkeyPatch, errors: dict[bool, float]) -> list[bool]:
    """Let forecasts err by so much, by whether windows are asked themselves; what was tried is kept in a list."""
    tried = []

    def told_by(self: Validator, network: Network, sights: list[Sight]) -> list[ForecastError]:
        tried.extend(sight.own is not None for sight in sights)
        found = [errors[sight.own is not None] for sight in sights]
        return [ForecastError(mse=0.0, scaled=error, typical=error, failed=0) for error in found]

    monkeypatch.setattr(Validator, "errors", told_by)
    return tried


@pytest.mark.parametrize(("encoder", "own", "refined"), [(2.0, 1.0, 1.0), (1.0, 1.1, 1.0), (1.0, 1.5, 0.0)])
def test_windows_are_asked_themselves_unless_the_encoder_is_clearly_better(
    decays: Decays, tiny: Settings, monkeypatch: pytest.MonkeyPatch, encoder: float, own: float, refined: float
):
    data = decays(6)
    network = untrained(still(), data, tiny)
    network.refined.fill_(1 - refined)
    told(monkeypatch, {False: encoder, True: own})
    assert Validator.of(data, tiny.window).choose(network).scaled == (own if refined else encoder)
    assert float(network.refined) == refined


@pytest.mark.parametrize(
    "changes",
    [{"method": "tfm"}, {"method": "bb-node"}, {"method": "physvae"}, {"encoder.refine": False}],
)
def test_what_cannot_be_refined_never_is(
    decays: Decays, tiny: Settings, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
):
    data = decays(6)
    network = untrained(still(), data, tiny.updated(changes))
    tried = told(monkeypatch, {False: 2.0, True: 1.0})
    assert Validator.of(data, tiny.window).choose(network).scaled == 2.0
    assert tried == [False]
    assert float(network.refined) == 0.0


def test_a_slope_that_each_window_shows_is_found_by_asking_it(decays: Decays, tiny: Settings):
    # lines of many slopes, of which the untrained encoder knows nothing and x' = c everything
    data = decays(6)
    slopes = torch.linspace(-2, 2, 6, dtype=torch.float64)[:, None]
    lines = replace(data, values=(slopes * data.times)[..., None])
    network = untrained(still(), lines, tiny)
    found = Validator.of(lines, tiny.window).choose(network)
    assert float(network.refined) == 1.0
    assert found.scaled < 1e-4


def test_a_member_that_runs_away_is_seen_by_the_mean(decays: Decays, tiny: Settings, monkeypatch):
    data = decays(6)
    network = untrained(still(), data, tiny.updated({"encoder.refine": False}))
    judge = Validator.of(data, tiny.window)
    sight = judge.sight(network, 24)
    assert judge.ensemble(network, sight, 0.9, 24).astray < 0.5
    solved = validation.roll_out

    def one_astray(*arguments: object, **more: object) -> Solution:
        found = solved(*arguments, **more)  # pyright: ignore[reportArgumentType]
        found.values[3] += 1e4
        return found

    monkeypatch.setattr(validation, "roll_out", one_astray)
    assert judge.ensemble(network, sight, 0.9, 24).astray > 10


@pytest.mark.parametrize(("more", "holds"), [(1.001, True), (0.999, False)])
def test_an_interval_that_grows_as_it_must_just_holds_the_truth(seed: int, more: float, holds: bool):
    members = torch.randn(399, 50, generator=torch.Generator().manual_seed(seed))  # whole ranks: 20 and 380
    truth, mean = torch.linspace(-4, 4, 50), members.mean(0)
    factor = more * validation.reaching(members, truth, 0.9)
    assert covered(mean + factor * (members - mean), truth, 0.9).round().eq(holds).all()
