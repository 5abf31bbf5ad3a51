from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.network import Network
from greymatch.training.calibration import DRAWS, LEVEL, NARROWEST, WIDEST, calibrate_forecasts, judge_of_ensembles
from greymatch.training.validation import EnsembleError


class Ideal:
    """Stands for a validator whose forecasts have normal errors, `right` times the width the network starts with.

    Members that carry a constant error cost `harm` in CRPS; wider than `loosest` some go astray, wider than `dearest`
    the others pay for it.
    """

    def __init__(
        self,
        right: float,
        harm: float = -0.1,
        trajectories: int = 1000,
        loosest: float = float("inf"),
        dearest: float = float("inf"),
    ) -> None:
        self.trajectories, self.loosest, self.dearest = trajectories, loosest, dearest
        self.right, self.harm, self.solved = right, harm, 0

    each = 1

    def sight(self, network: Network, draws: int) -> None:
        assert draws == DRAWS

    def ensemble(self, network: Network, sight: None, level: float, draws: int) -> EnsembleError:
        assert (level, draws) == (LEVEL, DRAWS)
        self.solved += 1
        reach = float(network.widening) / self.right * 1.6449  # the 95 % quantile of the normal
        covered = float(torch.erf(torch.tensor(reach / 2**0.5)))
        astray = 100.0 if float(network.widening) > self.loosest else 0.1
        shares = torch.linspace(0, 1, self.each * self.trajectories + 1)[:-1]
        errors = torch.erfinv(shares) * 2**0.5  # of a normal law, in standard deviations
        cost = max(1.0, float(network.widening) / self.dearest)
        whose = torch.arange(len(errors)) // self.each
        return EnsembleError(covered, cost + self.harm * float(network.kicked), astray, errors / reach, whose)


class Widened:
    """Stands for a network: all that calibration sees of it is its widening, and whether members are kicked."""

    def __init__(self, observed: float = 0.0) -> None:
        self.observed = torch.full((2,), observed)
        self.widening = torch.ones(())
        self.kicked = torch.ones(())
        self.noise = torch.full((2,), 0.5)
        self.draws_differ = True


def calibrated(right: float, harm: float = -0.1) -> tuple[Widened, float]:
    network = Widened()
    return network, calibrate_forecasts(network, Ideal(right, harm)).coverage  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("harm", "kicked"), [(-0.1, 1.0), (0.1, 0.0)])
def test_members_are_kicked_only_where_it_helps_and_the_noise_is_left_alone(harm: float, kicked: float):
    network, _ = calibrated(2.0, harm)
    assert float(network.kicked) == kicked
    assert network.noise.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("observed", "kicked"), [(0.0, 1.0), (0.3, 0.0)])
def test_where_it_makes_no_difference_members_carry_the_error_only_of_data_without_noise(
    observed: float, kicked: float
):
    network = Widened(observed)
    calibrate_forecasts(network, Ideal(2.0, harm=0.0))  # pyright: ignore[reportArgumentType]
    assert float(network.kicked) == kicked


def test_members_without_the_error_are_not_better_for_covering_less():
    class Narrow(Ideal):
        def ensemble(self, network: Network, sight: None, level: float, draws: int) -> EnsembleError:
            found = super().ensemble(network, sight, level, draws)
            return found if float(network.kicked) else replace(found, coverage=min(found.coverage, 0.7))

    network = Widened()
    calibrate_forecasts(network, Narrow(2.0, harm=0.1))  # pyright: ignore[reportArgumentType]
    assert float(network.kicked) == 1.0


@pytest.mark.parametrize("right", [0.5, 1.0, 3.0, 10.0])
def test_the_factor_that_was_missing_is_found(right: float):
    network, coverage = calibrated(right)
    assert float(network.widening) == pytest.approx(right, rel=0.05)
    assert coverage == pytest.approx(LEVEL, abs=0.02)


def test_noise_that_hides_how_near_members_are_makes_them_no_nearer():
    network = Widened(observed=0.3)
    calibrate_forecasts(network, Ideal(0.3))  # pyright: ignore[reportArgumentType]
    assert float(network.widening) == 1.0


def test_it_stays_within_its_bounds():
    assert NARROWEST <= float(calibrated(1e-5)[0].widening) < 1.1 * NARROWEST
    assert WIDEST / 1.1 < float(calibrated(1e3)[0].widening) <= WIDEST


def test_the_coverage_it_reports_is_that_of_the_factor_it_sets():
    network, coverage = calibrated(2.0)
    found = Ideal(2.0).ensemble(network, None, LEVEL, DRAWS)  # pyright: ignore[reportArgumentType]
    assert found.coverage == coverage


@pytest.mark.parametrize("right", [0.1, 0.7, 1.5, 6.0])
def test_few_ensembles_are_solved_for_it(right: float):
    judge = Ideal(right)
    calibrate_forecasts(Widened(), judge)  # pyright: ignore[reportArgumentType]
    assert judge.solved <= 2 * 3  # with the constant error and without


@pytest.mark.parametrize(("trajectories", "wanted"), [(60, 0.915), (12, 0.95)])
def test_few_trajectories_must_show_more(trajectories: int, wanted: float):
    found = calibrate_forecasts(Widened(), Ideal(2.0, trajectories=trajectories))  # pyright: ignore[reportArgumentType]
    assert found.coverage == pytest.approx(wanted, abs=0.01)


def test_windows_of_one_trajectory_count_once():
    judge = Ideal(2.0, trajectories=60)
    judge.each = 2
    found = calibrate_forecasts(Widened(), judge)  # pyright: ignore[reportArgumentType]
    assert found.coverage == pytest.approx(0.915, abs=0.01)


def test_trajectories_that_each_show_all_that_there_is_need_not_show_more():
    errors = torch.rand(12, 2000, generator=torch.Generator().manual_seed(0)).flatten()
    found = EnsembleError(0.9, 1.0, 0.1, errors, torch.arange(12).repeat_interleave(2000))
    assert found.wanted(LEVEL, 0.95) < 0.91


def test_what_was_claimed_stands_if_it_holds_on_few_trajectories():
    network = Widened()
    found = calibrate_forecasts(network, Ideal(1.0, trajectories=12))  # pyright: ignore[reportArgumentType]
    assert (float(network.widening), found.coverage) == (1.0, pytest.approx(LEVEL, abs=1e-3))


@pytest.mark.parametrize("error", [1e-9, 1e-2])
def test_ensembles_are_judged_from_anywhere_unless_the_law_is_exact(decays: Callable[..., Trajectories], error: float):
    judge, first = judge_of_ensembles(decays(5), 10, error), decays(5).times[:, 9]
    assert bool((judge.window.times[:, -1] > first.repeat_interleave(len(judge.times) // 5)).any()) == (error > 1e-6)


@pytest.mark.parametrize("loosest", [0.05, 0.9, 2.0])
def test_an_ensemble_is_never_so_wide_that_it_falls_apart(loosest: float):
    network, judge = Widened(), Ideal(3.0, loosest=loosest)
    found = calibrate_forecasts(network, judge)  # pyright: ignore[reportArgumentType]
    assert 0.9 * loosest < float(network.widening) <= loosest
    assert found.astray == 0.1
    assert found.coverage < LEVEL


@pytest.mark.parametrize(("dearest", "widest"), [(2.0, 2.2), (0.1, 1.1)])
def test_an_ensemble_is_not_made_wider_than_was_claimed_at_the_cost_of_most(dearest: float, widest: float):
    network = Widened()
    calibrate_forecasts(network, Ideal(8.0, dearest=dearest))  # pyright: ignore[reportArgumentType]
    assert 0.9 <= float(network.widening) <= widest


def test_members_that_are_all_alike_are_solved_once_a_kind():
    network, validator = Widened(), Ideal(2.0, -0.1)
    network.draws_differ = False
    calibrate_forecasts(network, validator)  # pyright: ignore[reportArgumentType]
    assert validator.solved == 2
