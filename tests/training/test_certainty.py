"""How sure of its parameters a model may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window
from greymatch.models import clean
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training import certainty
from greymatch.training.beginning import Beginning
from greymatch.training.certainty import DRAWS, Estimates, _disagreement, calibrate_parameters

MISSING = 0.5  # of the decays
Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]


class Guessing:
    """Stands for a network whose estimates are wrong by `wrong`, independently in each window, and claim `claimed`."""

    def __init__(self, wrong: list[float], claimed: list[float], window: int = 8) -> None:
        self.wrong, self.claimed = torch.tensor(wrong), torch.tensor(claimed)
        self.doubt, self.blind = torch.ones(len(wrong)), torch.zeros(len(wrong))
        self.credits, self.prefers_asking = False, True
        self.shapes = SimpleNamespace(free=len(wrong))
        self.settings = SimpleNamespace(window=window, encoder=SimpleNamespace(stencil=7))

    def look(self, window: Window) -> SimpleNamespace:
        assert window.times.shape[1] == self.settings.window
        return SimpleNamespace(own=None, count=len(window.times))

    def claimed_parameters(self, sight: SimpleNamespace, draws: int, generator: torch.Generator) -> torch.Tensor:
        count = sight.count
        centre = self.wrong * torch.randn(count, len(self.wrong), generator=generator)
        return centre + self.claimed * torch.randn(draws, count, len(self.wrong), generator=generator)


class Asked(Guessing):
    """The same of windows that are asked themselves, and have a law of their own."""

    def look(self, window: Window) -> SimpleNamespace:
        generator, count = torch.Generator().manual_seed(0), len(window.times)
        mean = self.wrong * torch.randn(count, len(self.wrong), generator=generator)
        root = torch.diag(self.claimed).expand(count, -1, -1)
        return SimpleNamespace(own=Laplace(mean, root, mean[:, 0], len(self.wrong)), near=None)


def doubt(network: Guessing, data: Trajectories) -> list[float]:
    calibrate_parameters(network, data)  # pyright: ignore[reportArgumentType]
    return network.doubt.tolist()


def test_parameters_are_doubted_as_much_as_windows_of_one_trajectory_disagree(decays: Callable[..., Trajectories]):
    found = doubt(Guessing(wrong=[0.3, 0.5, 0.1], claimed=[0.1, 0.1, 0.1]), decays(60))
    # the mean of the draws is itself uncertain by 0.1 / sqrt(DRAWS)
    wanted = [((wrong / 0.1) ** 2 + 1 / DRAWS) ** 0.5 for wrong in (0.3, 0.5, 0.1)]
    # and of noisy claims a small one is compared: the doubt errs to the safe side
    assert found == pytest.approx(wanted, rel=0.4)


def test_windows_that_the_prior_pulls_alike_are_not_thought_to_agree_by_themselves(seed: int):
    """Of two answers m = (1 - v) (truth + error), the gap is smaller than what both are unsure by."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randn(4000, 1, 1, generator=generator, dtype=torch.float64)
    known = 0.4 * torch.ones(4000, 2, 1, dtype=torch.float64)
    error = (known / (1 - known)).sqrt() * torch.randn(4000, 2, 1, generator=generator, dtype=torch.float64)
    found = Estimates((1 - known) * (truth + error), known, torch.ones(4000, 2, dtype=torch.bool))
    assert float(_disagreement(found)) == pytest.approx(1.0, rel=0.05)


def test_claims_that_are_too_modest_are_trusted_more(decays: Callable[..., Trajectories]):
    (found,) = doubt(Guessing(wrong=[0.01], claimed=[0.1]), decays(60))
    assert found == pytest.approx((0.1**2 + 1 / DRAWS) ** 0.5, rel=0.3)


def test_agreement_of_windows_that_are_told_nothing_makes_none_surer(decays: Callable[..., Trajectories]):
    """As of a parameter that the physics does not use, or an encoder that has learned nothing: all give the prior."""
    assert doubt(Guessing(wrong=[1e-6], claimed=[1.0]), decays(60)) == [1.0]


def test_windows_that_are_asked_tell_their_law_themselves(decays: Callable[..., Trajectories]):
    """No draws of it are needed, whose spread errs by a third."""
    assert doubt(Asked(wrong=[0.06], claimed=[0.02]), decays(250)) == pytest.approx([3.0], rel=0.15)


def test_what_cannot_be_credited_hides_nothing(decays: Callable[..., Trajectories]):
    network = Asked(wrong=[0.01], claimed=[0.1])
    doubt(network, decays(10))
    assert network.blind.tolist() == [0.0]


def test_an_encoder_that_says_the_same_of_all_knows_no_more_than_the_prior(decays: Callable[..., Trajectories]):
    network = Guessing(wrong=[0.01, 1.0], claimed=[0.3, 0.1])
    doubt(network, decays(60))
    untaught, taught = network.blind.tolist()
    assert untaught == pytest.approx(1.0, abs=0.01)
    assert taught < 0.3


def test_what_laws_disagree_on_is_added(decays: Callable[..., Trajectories]):
    network = Asked(wrong=[0.01], claimed=[0.1])
    network.blind.fill_(0.3)
    doubt(network, decays(10))
    assert network.blind.tolist() == pytest.approx([0.3])


def test_without_two_windows_to_compare_nothing_changes(decays: Callable[..., Trajectories]):
    assert doubt(Guessing(wrong=[0.5], claimed=[0.1]), decays(60).first(9)) == [1.0]


def test_windows_of_short_trajectories_do_not_count(decays: Callable[..., Trajectories]):
    data = decays(60)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[::2, 5:], values[::2, 5:], mask[::2, 5:] = torch.inf, 0.0, False
    found = doubt(Guessing(wrong=[0.3], claimed=[0.1]), replace(data, times=times, values=values, mask=mask))
    assert found == pytest.approx([3.0], rel=0.2)


def test_intervals_know_what_finite_differences_err_by(
    decay: Physics, decays: Callable[..., Trajectories], tiny: Settings, beginning: Callable[..., Beginning]
):
    """Of coarse data, seven points do not tell derivatives to many digits."""
    fine = decays(80)
    values = at(8 * fine.times, fine).float().double()  # as recorded: of more digits, the law's own are wrong as well
    data = replace(fine, times=8 * fine.times, values=values, truth=fine.truth)
    network = beginning(decay, data, tiny.updated({"window": 12})).network
    network.refined.fill_(1.0)
    calibrate_parameters(network, data)
    with torch.no_grad():
        sight = network.observe(data.first(12))
        eps = network.draw_parameters(sight, 400, torch.Generator().manual_seed(0))[..., 0]
    true = decay.params["k"].pull(torch.as_tensor(data.truth["k"]))
    inside = (eps.quantile(0.05, 0) <= true) & (true <= eps.quantile(0.95, 0))
    assert 0.65 <= float(inside.double().mean()) <= 1.0  # what is at rest is rounded to the same digits again and again
    assert float((eps.mean(0) - true).abs().max()) < 0.1


def at(times: torch.Tensor, data: Trajectories) -> torch.Tensor:
    """The solutions of `decays` at other times."""
    k, rest = torch.as_tensor(data.truth["k"])[:, None], MISSING
    return (rest / k + (data.values[:, :1, 0] - rest / k) * torch.exp(-k * times))[..., None]


def test_windows_that_agree_make_none_surer_than_it_claims(known: Damped):
    """Whether their law is right or not: they agree on what is wrong with one, too."""
    network, data, _, _ = known
    network.refined.fill_(1.0)
    calibrate_parameters(network, data)
    assert float(network.doubt.min()) >= 1.0
    true = network.dynamics.field
    network.dynamics.field = Flawed(true)  # pyright: ignore[reportAttributeAccessIssue]
    calibrate_parameters(network, data)
    assert float(network.doubt.min()) >= 1.0


def test_recordings_too_short_to_be_read_do_not_keep_others_from_being_judged(known: Damped):
    """Whether held out or learned from: one ends early, one does not show a state in the end."""
    network, data, _, _ = known
    network.refined.fill_(1.0)
    times, values, mask = data.times.clone(), data.values.clone(), data.mask.clone()
    times[3, 8:], values[3, 8:], mask[3, 8:] = torch.inf, 0.0, False
    mask[4, 15:, 1] = False
    calibrate_parameters(network, replace(data, times=times, values=values, mask=mask))
    assert bool(network.doubt.isfinite().all())
    assert bool(network.blind.isfinite().all())


def test_what_steps_of_paths_err_by_is_known(known: Damped, monkeypatch: pytest.MonkeyPatch):
    """All windows of one trajectory err by it alike, so that none disagrees with another."""
    network, data, k, _ = known
    monkeypatch.setattr(clean, "STEPS", {1: clean.NEAR, 2: clean.THROUGH})  # with more there is only rounding
    network.refined.fill_(1.0)
    calibrate_parameters(network, data)
    with torch.no_grad():
        sight = network.observe(data.first(12))
        eps = network.draw_parameters(sight, 400, torch.Generator().manual_seed(0))[..., 0]
    wrong = (eps.mean(0) - (k - 2) / 0.4).abs()
    assert float(wrong.max()) < 1e-7  # far below what single precision tells apart
    assert 0.2 < float(wrong.quantile(0.9) / (1.645 * network.blind[0])) < 2.0


def test_windows_that_differ_by_what_their_steps_err_by_are_not_in_doubt(
    known: Damped, monkeypatch: pytest.MonkeyPatch
):
    network, data, _, _ = known
    monkeypatch.setattr(clean, "STEPS", {1: clean.NEAR, 2: clean.THROUGH})
    monkeypatch.setattr(certainty, "shared_weight", lambda window: 1e-6)
    network.refined.fill_(1.0)
    calibrate_parameters(network, data)
    knowing = network.doubt.clone()
    monkeypatch.setattr(certainty, "_step_errors", lambda network, window, sight: torch.zeros(len(window.times), 1))
    calibrate_parameters(network, data)
    assert float(knowing) < 0.7 * float(network.doubt)


def test_windows_that_fewer_steps_do_not_pass_do_not_make_others_err_less(
    known: Damped, monkeypatch: pytest.MonkeyPatch
):
    """Of those, what steps err by is not known: it is not zero."""
    network, data, _, _ = known
    monkeypatch.setattr(clean, "STEPS", {1: clean.NEAR, 2: clean.THROUGH})
    network.refined.fill_(1.0)
    calibrate_parameters(network, data)
    blind, trace = network.blind.clone(), network.trace

    def failing(window: Window, told: Laplace, amplitude: torch.Tensor, coarseness: int = 1):
        law, near = trace(window, told, amplitude, coarseness)
        if coarseness > 1:
            near[torch.arange(len(near)) % 100 > 0] = torch.inf
        return law, near

    monkeypatch.setattr(network, "trace", failing)
    network.blind.zero_()
    calibrate_parameters(network, data)
    assert float(network.blind) > 0.1 * float(blind) > 0


class Flawed(torch.nn.Module):
    """A field and a little of what it should not be."""

    def __init__(self, field: torch.nn.Module) -> None:
        super().__init__()
        self.field = field

    def forward(self, state: torch.Tensor, extra: torch.Tensor) -> torch.Tensor:
        return self.field(state, extra) + 3e-5 * state.square()
