"""Windows without noise of a field that is known, and the paths through them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from greymatch import systems
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window
from greymatch.models import shooting
from greymatch.models.clean import THROUGH, _error, traced
from greymatch.models.laplace import Laplace
from greymatch.models.network import Network
from greymatch.models.shooting import Shooting
from greymatch.physics.operators import laplacian
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform

Damped = tuple[Network, Trajectories, torch.Tensor, torch.Tensor]
Hunters = tuple[Network, Trajectories, torch.Tensor]


def told_of(count: int, latents: int = 2) -> Laplace:
    unknown = torch.full((count,), torch.nan)
    return Laplace(torch.zeros(count, latents), torch.eye(latents).repeat(count, 1, 1), unknown, free=1)


def asked(network: Network, window: Window) -> Laplace:
    """What derivatives tell."""
    count = len(window.times)
    return network.ask(network.evidence(window), told_of(count), network.dynamics.scales_top.expand(count, -1))


def found(network: Network, window: Window) -> Laplace:
    with torch.no_grad():
        told = asked(network, window)
        return traced(network.dynamics, network.scales, window, torch.ones(len(window.times), 2), told)[0]


def with_gaps(data: Trajectories, seed: int) -> Window:
    """The first 24 points without some of them: each row keeps its own 16, the last one among them."""
    chance = torch.rand(len(data), 24, generator=torch.Generator().manual_seed(seed))
    chance[:, -1] = -1
    kept = chance.argsort(1)[:, :16].sort(1).values
    values = data.values.gather(1, kept[..., None].expand(-1, -1, 2))
    return Window(data.times.gather(1, kept), values, torch.ones_like(values, dtype=torch.bool), None)


def assert_true(law: Laplace, k: torch.Tensor, d: torch.Tensor) -> None:
    latents = law.latents()
    torch.testing.assert_close(2 + 0.4 * latents.eps[:, 0].double(), k, atol=2e-6, rtol=0)
    torch.testing.assert_close(0.5 + 0.5 * latents.z[:, 0].double(), d, atol=2e-5, rtol=0)


def test_parameters_and_latents_are_found_to_single_precision_with_or_without_gaps(known: Damped, seed: int):
    network, data, k, d = known
    assert_true(found(network, last_window(data.first(24), 24)), k, d)
    assert_true(found(network, with_gaps(data, seed)), k, d)


@pytest.mark.parametrize("size", [1e-9, 1e-7])
def test_error_bars_are_those_of_what_each_window_leaves(known: Damped, size: float, seed: int):
    """White errors far below what counts as noise: the law of least squares, whatever their size."""
    network, data, k, d = known
    generator = torch.Generator().manual_seed(seed)
    sizes = size * torch.logspace(0, 1, len(data), dtype=torch.float64)[:, None, None]  # of each trajectory its own
    noise = sizes * torch.randn(data.values.shape, generator=generator, dtype=torch.float64)
    law = found(network, last_window(replace(data, values=data.values + noise).first(24), 24))
    true = torch.stack([(k - 2) / 0.4, (d - 0.5) / 0.5], 1)
    away = ((law.mean[:, :2] - true) / law.root[:, :2].square().sum(2).sqrt()).flatten()
    assert 0.7 < float(away.square().mean().sqrt()) < 1.3
    assert len(away) >= 20


@pytest.mark.parametrize("points", [9, 10, 12, 17, 34])
def test_few_points_are_not_surer_than_they_can_be(points: int, seed: int) -> None:
    """Of a model that is linear in four numbers: 90 % intervals hold at least 85."""
    generator = torch.Generator().manual_seed(seed)
    count, unknown = 2000, 4
    slopes = torch.randn(count, unknown, points, generator=generator, dtype=torch.float64)
    errors = torch.randn(count, points, generator=generator, dtype=torch.float64)
    window = SimpleNamespace(mask=torch.ones(count, points, 1, dtype=torch.bool), values=torch.zeros(count, points, 1))
    found = torch.linalg.solve(slopes @ slopes.mT, slopes @ errors[..., None])
    left = errors - (slopes.mT @ found)[..., 0]
    spread = torch.linalg.inv(slopes @ slopes.mT)[:, 0, 0].sqrt() * _error(left, window, unknown)[:, 0]  # pyright: ignore[reportArgumentType]
    held = float((found[:, 0, 0].abs() < 1.645 * spread).double().mean())
    assert 0.85 <= held <= 0.96


def test_what_is_seen_at_the_end_is_left_to_observations_and_what_is_not_is_the_paths(known: Damped):
    network, data, k, d = known
    window = last_window(data.first(24), 24)
    mask = window.mask.clone()
    mask[:6, -1, 1] = False
    values = window.values.masked_fill(~mask, 9.0)
    law = found(network, replace(window, values=values, mask=mask))
    start = law.latents().start
    assert start is not None
    assert torch.equal(start.isnan(), mask[:, -1])
    torch.testing.assert_close(start[:6, 1].double(), data.values[:6, 23, 1], atol=1e-6, rtol=0)
    torch.testing.assert_close(law.latents().started(data.values[:, 23]), data.values[:, 23], atol=1e-6, rtol=0)
    spread = law.root[:, -2:].square().sum(2).sqrt()
    assert torch.equal(spread > 0, ~mask[:, -1])
    assert_true(law, k, d)


def test_what_was_told_stands_where_no_path_goes_through_a_window(known: Damped):
    network, data, _, _ = known
    window = last_window(data.first(24), 24)
    wrong = replace(window, values=window.values + 0.01 * (10 * window.times[..., None]).sin())
    law, told = found(network, wrong), asked(network, wrong)
    assert torch.equal(law.startless().mean, told.mean)
    assert bool(law.mean[:, 2:].isnan().all())
    assert torch.equal(law.root[:, :2, :2], told.root)


def test_a_path_that_is_lost_is_not_taken(known: Damped, monkeypatch: pytest.MonkeyPatch):
    network, data, _, _ = known
    monkeypatch.setattr(Shooting, "_flown", lambda self, starts, latents, intervals: starts * torch.nan)
    window = last_window(data.first(24), 24)
    assert torch.equal(found(network, window).startless().mean, asked(network, window).mean)


def test_a_window_is_told_as_if_alone(known: Damped, seed: int):
    network, data, _, _ = known
    window = with_gaps(data, seed)
    together, alone = found(network, window), found(network, window.select(torch.tensor([3])))
    torch.testing.assert_close(together.mean[3, :2], alone.mean[0, :2], atol=1e-6, rtol=0)


def test_a_velocity_at_the_end_is_the_paths(greybox):
    """x'' = -k x, a quarter of the points missing: what a forecast starts with, and k, to single precision."""
    k, times = torch.tensor([1.3, 2.2], dtype=torch.float64), torch.tensor([0, 1, 3, 4, 5, 7, 8, 9, 11, 12]) * 0.15
    root, clock = k.sqrt()[:, None], times.double().repeat(2, 1)
    values = (root * clock).cos()[..., None]
    data = Trajectories(("x",), clock, values, torch.ones_like(values, dtype=torch.bool), np.arange(2))
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Normal(2.0, 0.5)}, 2, complete=("x",))
    network = greybox(physics, data, window=8).network
    with torch.no_grad():
        law = network.look(last_window(data, 8), refine=True).own
    assert law is not None
    start = law.latents().start
    assert start is not None
    torch.testing.assert_close(physics.push(law.latents().eps)[:, 0].double(), k, atol=2e-5, rtol=0)
    assert bool(start[:, 0].isnan().all())
    torch.testing.assert_close(start[:, 1].double(), (-root * (root * clock).sin())[:, -1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("together", [1, shooting.TOGETHER])
def test_a_field_tells_its_parameter_by_the_path_from_its_first_frame(greybox, monkeypatch, together: int):
    """u' = k d2u/dx2 on a ring: a wave of the grid decays at the rate that its differences have."""
    k, times, cells = torch.tensor([0.5, 0.9], dtype=torch.float64), torch.arange(8).double() * 0.1, torch.arange(16)
    angle = 2 * torch.pi * cells / 16
    rate = k * (2 - 2 * math.cos(2 * math.pi / 16))
    values = (-rate[:, None, None] * times[:, None]).exp() * angle.cos()
    mask = torch.ones_like(values, dtype=torch.bool)[:, :, None]
    data = Trajectories(("u",), times.repeat(2, 1), values[:, :, None], mask, np.arange(2), grid=("x",))
    physics = Physics(
        lambda t, x, p: {"u": p.k * laplacian(x.u, 1.0, dims=1)},
        ["u"],
        {"k": Normal(0.7, 0.2)},
        complete=("u",),
        grid=("x",),
    )
    network = greybox(physics, data, window=6).network
    monkeypatch.setattr(shooting, "TOGETHER", together)
    with torch.no_grad():
        sight = network.look(last_window(data, 6), refine=True)
    law = sight.own
    assert law is not None
    assert law.phases == 0
    assert sight.near is not None
    assert float(sight.near.max()) < THROUGH
    torch.testing.assert_close(physics.push(law.latents().eps)[:, 0].double(), k, atol=2e-5, rtol=0)


def test_a_path_must_go_through_every_state(greybox):
    """a and b are known to the last digit; c, which nothing is known of, is not explained by that."""
    times = torch.arange(20).double() * 0.1
    values = torch.stack([times.cos(), (1.3 * times).cos(), (2 * times).sin() + times], 1).repeat(2, 1, 1)
    data = Trajectories(
        ("a", "b", "c"), times.repeat(2, 1), values, torch.ones_like(values, dtype=torch.bool), np.arange(2)
    )
    physics = Physics(
        lambda t, x, p: {"a": -p.k * x.a, "b": -1.69 * x.b, "c": 0 * x.c},
        ["a", "b", "c"],
        {"k": Normal(1.0, 0.2)},
        2,
        complete=("a", "b"),
    )
    network = greybox(physics, data, window=16).network
    with torch.no_grad():
        law = network.look(last_window(data, 16), refine=True).own
    assert law is not None
    assert bool(law.mean[:, -6:].isnan().all())


def test_windows_that_do_not_exist_or_show_little_are_left_as_they_were_told(known: Damped):
    network, data, k, d = known
    window = last_window(data.first(24), 24)
    times, mask = window.times.clone(), window.mask.clone()
    times[0] = torch.inf
    mask[1, 3:, 0] = False
    mask[1, :-1, 1] = False
    short = replace(window, times=times, mask=mask)
    law = found(network, short)
    assert torch.equal(law.startless().mean[:2], asked(network, short).mean[:2])
    assert_true(law.select(torch.arange(2, 12)), k[2:], d[2:])


@pytest.mark.parametrize(("rows", "states"), [(slice(6, 14), slice(0, 2)), (slice(7, 17), 1), (slice(12, 24), 1)])
def test_paths_lead_through_what_was_not_seen(hunters: Hunters, rows: slice, states: int | slice):
    """Of a field that is far from linear, whose states go far from any line across the gap."""
    network, data, k = hunters
    window = last_window(data.first(24), 24)
    mask = window.mask.clone()
    mask[:, rows, states] = False
    shown = replace(window, values=window.values.masked_fill(~mask, 0.0), mask=mask)
    with torch.no_grad():
        law, left = network.trace(shown, near_to(k, network), torch.ones(8, 2))
    assert bool(left.isfinite().all())
    torch.testing.assert_close(1 + 0.2 * law.latents().eps[:, 0].double(), k, atol=1e-6, rtol=0)


def test_windows_beside_one_with_a_gap_are_told_as_if_alone(hunters: Hunters):
    network, data, k = hunters
    kept = torch.tensor([*range(10), *range(16, 24)])
    even = last_window(data.select(slice(0, 1)).first(18), 18)
    both = Window(
        torch.cat([even.times, data.times[1:2, kept]]),
        torch.cat([even.values, data.values[1:2, kept]]),
        torch.ones(2, 18, 2, dtype=torch.bool),
        None,
    )
    told, amplitude = near_to(k[:2], network), torch.ones(2, 2)
    with torch.no_grad():
        together, near = network.trace(both, told, amplitude)
        alone, left = network.trace(even, told.select(torch.tensor([0])), amplitude[:1])
    torch.testing.assert_close(together.mean[:1, :1], alone.mean[:, :1], atol=0, rtol=0)
    assert float(near[0]) == float(left[0])


def near_to(k: torch.Tensor, network: Network) -> Laplace:
    """What is told of windows whose parameter is about k."""
    told = told_of(len(k), 1 + network.settings.encoder.latents)
    mean = told.mean.clone()
    mean[:, 0] = 5 * (k.float() - 0.999)
    return replace(told, mean=mean)


def test_a_path_is_found_where_it_passes_a_saddle(greybox):
    """Of these two windows of Lorenz' system the first solution is far off: near the origin all errors grow."""
    lorenz = systems.lorenz
    data = lorenz.data("val")
    truth = lorenz.truth
    physics = Physics(truth.function, truth.states, truth.params, complete=truth.states, name="saddle")
    network, data = greybox(physics, data, window=31).network, data.select(torch.tensor([131, 183]))
    true = torch.stack([physics.params[name].pull(torch.as_tensor(data.truth[name])) for name in physics.free], 1)
    off = torch.tensor([[-7e-4, 5e-3, 1.7e-2], [-1e-4, 5e-3, -1.3e-3]])
    window = last_window(data.first(31), 31)
    unused = torch.zeros(2, network.settings.encoder.latents)
    mean = torch.cat([true.float() + off, unused], 1)
    told = Laplace(mean, torch.eye(mean.shape[1]).repeat(2, 1, 1), torch.zeros(2), free=3)
    with torch.no_grad():
        law, near = traced(network.dynamics, network.scales, window, torch.ones(2, 3), told)
    assert bool(near.isfinite().all())
    torch.testing.assert_close(law.latents().eps.double(), true, atol=1e-4, rtol=0)


def test_what_the_cells_of_a_field_tell_counts_as_the_root_of_their_number(greybox):
    """Four times as many copies of a ring, side by side as a grid, tell twice as much, not four times."""
    times, angle = torch.arange(8).double() * 0.1, 2 * torch.pi * torch.arange(16) / 16
    rate = 0.6 * (2 - 2 * math.cos(2 * math.pi / 16))
    ring = (-rate * times).exp()[:, None] * angle.cos()

    def spread(copies: int) -> float:
        values = ring[None, :, None, None].expand(4, -1, -1, copies, -1).clone()
        mask = torch.ones_like(values, dtype=torch.bool)
        data = Trajectories(("u",), times.repeat(4, 1), values, mask, np.arange(4), grid=("y", "x"))
        physics = Physics(
            lambda t, x, p: {"u": p.k * laplacian(x.u, (1.0, 1.0))},
            ["u"],
            {"k": Normal(0.7, 0.2)},
            complete=("u",),
            grid=("y", "x"),
        )
        network = greybox(physics, data, window=6).network
        with torch.no_grad():
            own = network.look(last_window(data, 6), refine=True).own
        assert own is not None
        return float(own.spread[0, 0])

    assert spread(16) == pytest.approx(2**-0.5 * spread(4), rel=0.05)


def test_a_fields_law_does_not_depend_on_where_the_search_began(greybox):
    """Far from the middle of a uniform prior slopes change fast: those of a first guess would not do."""
    times, angle = torch.arange(8).double() * 0.3, 2 * torch.pi * torch.arange(16) / 16
    k = torch.tensor([1.15, 0.2, 1.25, 0.15], dtype=torch.float64)
    waves = (-k[:, None] * (2 - 2 * math.cos(2 * math.pi / 16)) * times).exp()[..., None] * angle.cos()
    waves = waves[:, :, None]
    data = Trajectories(
        ("u",), times.repeat(4, 1), waves, torch.ones_like(waves, dtype=torch.bool), np.arange(4), grid=("x",)
    )
    physics = Physics(
        lambda t, x, p: {"u": p.k * laplacian(x.u, 1.0, dims=1)},
        ["u"],
        {"k": Uniform(0.1, 1.3)},
        complete=("u",),
        grid=("x",),
    )
    network = greybox(physics, data, window=8).network
    true = torch.nn.functional.pad(physics.params["k"].pull(k)[:, None], (0, network.settings.encoder.latents)).float()

    def law(off: float) -> Laplace:
        size = true.shape[1]
        told = Laplace(true + off, torch.eye(size).repeat(4, 1, 1), torch.zeros(4), free=1)
        with torch.no_grad():
            return traced(network.dynamics, network.scales, last_window(data, 8), torch.ones(4, 1), told)[0]

    near, far = law(0.0), law(0.3)
    torch.testing.assert_close(far.latents().eps, near.latents().eps, atol=1e-5, rtol=0)
    torch.testing.assert_close(far.spread, near.spread, atol=0, rtol=0.01)
