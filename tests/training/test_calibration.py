from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window
from greymatch.models.network import Network
from greymatch.training.calibration import DRAWS, LEVEL, NARROWEST, WIDEST, calibrate_forecasts, calibrate_parameters
from greymatch.training.validation import EnsembleError


class Ideal:
    """Stands for a validator whose forecasts have normal errors, `right` times the width the network starts with.

    Members that carry a constant error cost `harm` in CRPS.
    """

    def __init__(self, right: float, harm: float = -0.1) -> None:
        self.right, self.harm = right, harm

    def sight(self, network: Network, draws: int) -> None:
        assert draws == DRAWS

    def ensemble(self, network: Network, sight: None, level: float, draws: int) -> EnsembleError:
        assert (level, draws) == (LEVEL, DRAWS)
        reach = float(network.widening) / self.right * 1.6449  # the 95 % quantile of the normal
        covered = float(torch.erf(torch.tensor(reach / 2**0.5)))
        return EnsembleError(covered, 1.0 + self.harm * float(network.kicked))


class Widened:
    """Stands for a network: all that calibration sees of it is its widening, and whether members are kicked."""

    def __init__(self) -> None:
        self.widening = torch.ones(())
        self.kicked = torch.ones(())
        self.noise = torch.full((2,), 0.5)


def calibrated(right: float, harm: float = -0.1) -> tuple[Widened, float]:
    network = Widened()
    return network, calibrate_forecasts(network, Ideal(right, harm)).coverage  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("harm", "kicked"), [(-0.1, 1.0), (0.1, 0.0)])
def test_members_are_kicked_only_where_it_helps_and_the_noise_is_left_alone(harm: float, kicked: float):
    network, _ = calibrated(2.0, harm)
    assert float(network.kicked) == kicked
    assert network.noise.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("right", [0.5, 1.0, 3.0, 10.0])
def test_the_factor_that_was_missing_is_found(right: float):
    network, coverage = calibrated(right)
    assert float(network.widening) == pytest.approx(right, rel=0.05)
    assert coverage == pytest.approx(LEVEL, abs=0.02)


def test_it_stays_within_its_bounds():
    assert NARROWEST <= float(calibrated(1e-3)[0].widening) < 1.1 * NARROWEST
    assert WIDEST / 1.1 < float(calibrated(1e3)[0].widening) <= WIDEST


def test_the_coverage_it_reports_is_that_of_the_factor_it_sets():
    network, coverage = calibrated(2.0)
    found = Ideal(2.0).ensemble(network, None, LEVEL, DRAWS)  # pyright: ignore[reportArgumentType]
    assert found.coverage == coverage


class Guessing:
    """Stands for a network whose estimates are wrong by `wrong`, independently in each window, and claim `claimed`."""

    def __init__(self, wrong: list[float], claimed: list[float], window: int = 8) -> None:
        self.wrong, self.claimed = torch.tensor(wrong), torch.tensor(claimed)
        self.doubt = torch.ones(len(wrong))
        self.shapes = SimpleNamespace(free=len(wrong))
        self.settings = SimpleNamespace(window=window)

    def look(self, window: Window) -> Window:
        assert window.times.shape[1] == self.settings.window
        return window

    def draw_parameters(self, window: Window, draws: int, generator: torch.Generator) -> torch.Tensor:
        count = len(window.times)
        centre = self.wrong * torch.randn(count, len(self.wrong), generator=generator)
        return centre + self.claimed * torch.randn(draws, count, len(self.wrong), generator=generator)


def doubt(network: Guessing, data: Trajectories) -> list[float]:
    calibrate_parameters(network, data)  # pyright: ignore[reportArgumentType]
    return network.doubt.tolist()


def test_parameters_are_doubted_as_much_as_windows_of_one_trajectory_disagree(decays: Callable[..., Trajectories]):
    found = doubt(Guessing(wrong=[0.3, 0.5, 0.1], claimed=[0.1, 0.1, 0.1]), decays(60))
    # the mean of the draws is itself uncertain by 0.1 / sqrt(DRAWS)
    wanted = [((wrong / 0.1) ** 2 + 1 / DRAWS) ** 0.5 for wrong in (0.3, 0.5, 0.1)]
    # and of noisy claims the smallest are compared: the doubt errs to the safe side
    assert found == pytest.approx(wanted, rel=0.4)


def test_claims_that_hold_are_not_doubted(decays: Callable[..., Trajectories]):
    assert doubt(Guessing(wrong=[0.01], claimed=[0.1]), decays(60)) == [1.0]


def test_without_two_windows_to_compare_nothing_changes(decays: Callable[..., Trajectories]):
    assert doubt(Guessing(wrong=[0.5], claimed=[0.1]), decays(60).first(9)) == [1.0]


def test_windows_of_short_trajectories_do_not_count(decays: Callable[..., Trajectories]):
    data = decays(60)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[::2, 5:], values[::2, 5:], mask[::2, 5:] = torch.inf, 0.0, False
    found = doubt(Guessing(wrong=[0.3], claimed=[0.1]), replace(data, times=times, values=values, mask=mask))
    assert found == pytest.approx([3.0], rel=0.2)
