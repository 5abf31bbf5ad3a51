"""Windows that err in one way or another, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import last_window
from greymatch.models import clean
from greymatch.models.clean import traced
from greymatch.models.erring import Left, _of_motion, alike
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.shooting import Path, Shooting

Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]
LENGTH, COPIES, ERROR = 24, 20, 1e-7


def moved(data: Trajectories, k: torch.Tensor, d: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The motion of b' = -k a - d b, which at each step goes astray by a share of how far it went."""
    rates = torch.stack([torch.stack([0 * k, 1 + 0 * k]), torch.stack([-k, -d])]).movedim(2, 0)
    onward = torch.linalg.matrix_exp(0.1 * rates)
    state = data.values[:, 0]
    states = [state]
    for _ in range(LENGTH - 1):
        after = (onward @ state[..., None])[..., 0]
        far = (after - state).square().sum(1, keepdim=True).sqrt()
        state = after + ERROR * far * torch.randn(state.shape, generator=generator, dtype=torch.float64)
        states.append(state)
    return torch.stack(states, 1)


def evenly(data: Trajectories, k: torch.Tensor, d: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    values = data.values[:, :LENGTH]
    return values + ERROR * torch.randn(values.shape, generator=generator, dtype=torch.float64)


def by_size(data: Trajectories, k: torch.Tensor, d: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    values = data.values[:, :LENGTH]
    return values * (1 + ERROR * torch.randn(values.shape, generator=generator, dtype=torch.float64))


Way = Callable[[Trajectories, torch.Tensor, torch.Tensor, torch.Generator], torch.Tensor]


def asked(known: Damped, way: Way, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How far k and d are told from the truth, and how sure that is said to be, of recordings that err in one way."""
    network, data, k, d = known
    generator = torch.Generator().manual_seed(seed)
    rows = torch.arange(len(data)).repeat(COPIES)
    data, k, d = data.first(LENGTH).select(rows), k[rows], d[rows]
    window = last_window(replace(data, values=way(data, k, d, generator)), LENGTH)
    unknown = torch.full((len(rows),), torch.nan)
    told = Laplace(torch.zeros(len(rows), 2), torch.eye(2).repeat(len(rows), 1, 1), unknown, free=1)
    with torch.no_grad():
        start = network.ask(network.evidence(window), told, network.dynamics.scales_top.expand(len(rows), -1))
        law, near = traced(network.dynamics, network.scales, window, torch.ones(len(rows), 2), start)
    assert bool(near.isfinite().all())
    true = torch.stack([(k - 2) / 0.4, (d - 0.5) / 0.5], 1)
    return law.mean[:, :2] - true, law.root[:, :2].square().sum(2).sqrt()


@pytest.mark.parametrize("way", [evenly, by_size, moved])
def test_intervals_hold_what_they_say_however_windows_err(known: Damped, seed: int, way: Way):
    wrong, spread = asked(known, way, seed)
    away = (wrong / spread).abs()
    assert away.shape == (12 * COPIES, 2)
    assert 0.86 < float((away < 1.645).double().mean()) < 0.95
    assert 0.42 < float((away < 0.674).double().mean()) < 0.60


@pytest.mark.parametrize("points", [6, 8, 12])
def test_few_points_are_not_taken_to_err_in_an_odd_way_by_chance(
    known: Damped, seed: int, monkeypatch: pytest.MonkeyPatch, points: int
):
    monkeypatch.setitem(globals(), "LENGTH", points)
    wrong, spread = asked(known, evenly, seed)
    assert 0.86 < float(((wrong / spread).abs() < 1.645).double().mean()) < 0.97


@pytest.mark.parametrize("way", [by_size, moved])
def test_what_errs_otherwise_than_evenly_is_told_nearer_and_more_honestly(
    known: Damped, seed: int, monkeypatch: pytest.MonkeyPatch, way: Way
):
    nearer, sure = asked(known, way, seed)
    monkeypatch.setattr(clean, "alike", lambda shooting, path, left: left)
    plain, claimed = asked(known, way, seed)
    assert float(plain.square().mean()) > 1.4 * float(nearer.square().mean())
    off = [float((wrong / spread).square().mean().log().abs()) for wrong, spread in ((nearer, sure), (plain, claimed))]
    assert off[0] < off[1]


def walking(known: Damped) -> tuple[Shooting, Path]:
    """The paths of the true motion."""
    network, data, k, d = known
    window, ones = last_window(data.first(LENGTH), LENGTH), torch.ones(12, 2)
    shooting = Shooting.of(
        network.dynamics.double(), network.scales, window, 0.5 * ones, window.values, 0.1 * ones.double(), 4
    )
    return shooting, shooting.path(shooting.guess(torch.stack([(k - 2) / 0.4, 2 * d - 1], 1)))


def test_motion_that_goes_astray_has_the_covariance_of_many_that_did(known: Damped, seed: int):
    shooting, path = walking(known)
    covariance = _of_motion(shooting, path)
    far = path.nodes.diff(dim=1).square().sum(2).sqrt()
    generator, many = torch.Generator().manual_seed(seed), 4000
    state = torch.zeros(many, 12, 2, dtype=torch.float64)
    strays = [state]
    for place in range(LENGTH - 1):
        own = far[:, place, None] * torch.randn(state.shape, generator=generator, dtype=torch.float64)
        state = (state[..., None, :] @ path.turns[:, place])[..., 0, :] + own
        strays.append(state)
    seen = (torch.stack(strays, 2) * shooting.unit / shooting.noise[:, None]).flatten(2)
    found = torch.einsum("mbi,mbj->bij", seen, seen) / many
    size = found.diagonal(dim1=1, dim2=2).clamp_min(1e-12).sqrt()
    assert float(((found - covariance).abs() / size[:, :, None] / size[:, None]).max()) < 0.1
    assert bool((covariance[:, :2] == 0).all())  # where paths begin, nothing has gone astray


def test_what_was_not_seen_does_not_count(known: Damped, seed: int):
    shooting, path = walking(known)
    mask = shooting.window.mask.clone()
    mask[:, 5:9, 1] = False
    generator = torch.Generator().manual_seed(seed)
    wrong = torch.randn(12, 2 * LENGTH, generator=generator, dtype=torch.float64)
    slopes = torch.randn(12, 4, 2 * LENGTH, generator=generator, dtype=torch.float64)
    gaps = replace(shooting, window=replace(shooting.window, mask=mask))
    unseen = ~mask.flatten(1)

    def found(filling: float) -> Left:
        values = gaps.window.values.masked_fill(~mask, filling)
        filled = replace(gaps, window=replace(gaps.window, values=values))
        return alike(filled, path, Left(wrong.masked_fill(unseen, 0.0), slopes.masked_fill(unseen[:, None], 0.0)))

    empty, full = found(0.0), found(1e6)
    assert torch.equal(empty.wrong, full.wrong)
    assert torch.equal(empty.slopes, full.slopes)
    assert bool((empty.wrong[unseen] == 0).all())
