from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.interpolate import CubicSpline
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.matching.bridge import Bridge
from greymatch.matching.interpolants import INTERPOLANTS, interpolant
from greymatch.matching.lagrange import Lagrange
from greymatch.matching.linear import Linear
from greymatch.matching.path import AnyPath, Matched
from greymatch.matching.spline import Spline

Clock = Callable[[int], Tensor]
ORDERS = {
    "linear": (2, 1),
    "lagrange-2": (2, 1),
    "lagrange-3": (3, 2, 1),
    "lagrange-4": (4, 3, 2),
    "lagrange-5": (5, 4, 3),
    "cubic": (4, 3, 2),
    "quintic": (6, 5, 4),
}


def even(count: int) -> Tensor:
    return torch.linspace(0, 3, count, dtype=torch.float64)


def uneven(count: int) -> Tensor:
    """Steps of 1.3, 0.5, 1.3, 0.9 and so on, the same pattern at every resolution."""
    times = even(count)
    shifts = torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64).repeat(count)[: count - 2]
    times[1:-1] += shifts * (times[1] - times[0])
    return times


def fit(name: str, times: Tensor, *channels: Tensor) -> AnyPath:
    values = torch.stack(channels, -1)[None]
    return interpolant(name)(times[None], values, torch.ones_like(values, dtype=torch.bool))


def derivatives(point: Matched) -> list[Tensor]:
    known = [point.position, point.velocity, point.acceleration]
    return [each[0, :, 0] for each in known if each is not None]


def errors(name: str, times: Tensor) -> list[float]:
    """Largest error of each derivative of sin(2t + 0.7), none of whose derivatives vanish at the ends."""
    query = torch.linspace(0, 3, 4001, dtype=torch.float64)
    phase = 2 * query + 0.7
    truth = [torch.sin(phase), 2 * torch.cos(phase), -4 * torch.sin(phase)]
    found = derivatives(fit(name, times, torch.sin(2 * times + 0.7)).at(torch.tensor([0]), query[None]))
    return [float((f - t).abs().max()) for f, t in zip(found, truth, strict=False)]


@pytest.mark.parametrize("clock", [even, uneven])
@pytest.mark.parametrize("name", ORDERS)
def test_order_of_convergence(name: str, clock: Clock):
    counts = np.array([31, 46, 61, 91, 121])
    table = np.array([errors(name, clock(n)) for n in counts])
    slopes = np.polyfit(np.log(1.0 / (counts - 1)), np.log(table), 1)[0]
    assert len(slopes) == len(ORDERS[name])
    np.testing.assert_allclose(slopes, ORDERS[name], atol=0.25)


@pytest.mark.parametrize("clock", [even, uneven])
@pytest.mark.parametrize("name", ORDERS)
def test_polynomials_of_the_degree_are_exact(name: str, clock: Clock):
    degree = ORDERS[name][0] - 1
    truth = np.polynomial.Polynomial([0.3, -1.2, 0.7, 0.4, -0.25, 0.05][: degree + 1])
    times = clock(12)
    query = torch.cat([times, torch.linspace(0, 3, 50, dtype=torch.float64)])[None]
    path = fit(name, times, torch.from_numpy(truth(times.numpy())))
    for order, found in enumerate(derivatives(path.at(torch.tensor([0]), query))):
        exact = truth.deriv(order)(query[0].numpy())
        np.testing.assert_allclose(found, exact, atol=1e-9)


@pytest.mark.parametrize("name", ORDERS)
def test_paths_pass_through_the_observations_up_to_the_last(name: str):
    times = uneven(15)
    values = torch.exp(torch.sin(5 * times))
    found = fit(name, times, values).at(torch.tensor([0]), times[None]).position
    np.testing.assert_allclose(found[0, :, 0], values, rtol=1e-12)


def test_cubic_is_the_not_a_knot_spline_of_scipy():
    times, query = uneven(15), torch.linspace(0, 3, 101, dtype=torch.float64)
    values = torch.exp(torch.sin(3 * times))
    reference = CubicSpline(times.numpy(), values.numpy())
    point = fit("cubic", times, values).at(torch.tensor([0]), query[None])
    for order, found in enumerate(derivatives(point)):
        np.testing.assert_allclose(found, reference(query.numpy(), order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "smooth"), [("cubic", 3), ("quintic", 5)])
def test_splines_have_continuous_derivatives_up_to_their_degree(name: str, smooth: int):
    times = uneven(15)
    path = fit(name, times, torch.exp(torch.sin(3 * times)))
    before = path.at(torch.tensor([0]), times[None, 1:-1] - 1e-9)
    after = path.at(torch.tensor([0]), times[None, 1:-1])
    for left, right in zip(derivatives(before), derivatives(after), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-5)
    assert path.degree == smooth


@pytest.mark.parametrize(("points", "interval", "nodes"), [(3, 0, [0, 1, 2]), (3, 5, [4, 5, 6]), (4, 5, [4, 5, 6, 7])])
def test_lagrange_takes_the_nearest_points(points: int, interval: int, nodes: list[int]):
    times = torch.arange(10, dtype=torch.float64)
    values = torch.exp(torch.sin(times))
    middle = interval + 0.5
    found = fit(f"lagrange-{points}", times, values).at(torch.tensor([0]), torch.tensor([[middle]])).position
    through = np.polynomial.Polynomial.fit(times[nodes].numpy(), values[nodes].numpy(), points - 1)
    assert float(found) == pytest.approx(through(middle), rel=1e-10)


def test_odd_lagrange_takes_the_earlier_point_when_both_are_as_near():
    """The error of t^3 is then (t - a)(t - b)(t - c) = -3/8 step^3 at midpoints, whatever the rounding."""
    times = 0.1 * torch.arange(40, dtype=torch.float64)
    middle = (times[1:-1] + times[2:]) / 2
    found = fit("lagrange-3", times, times**3).at(torch.tensor([0]), middle[None]).position
    np.testing.assert_allclose(middle**3 - found.flatten(), -0.375e-3, rtol=1e-6)


def test_odd_lagrange_takes_its_last_point_from_the_nearer_side():
    times = torch.tensor([0.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64)
    values = torch.exp(torch.sin(times))
    found = fit("lagrange-3", times, values).at(torch.tensor([0]), torch.tensor([[3.5]])).position
    through = np.polynomial.Polynomial.fit(times[1:4].numpy(), values[1:4].numpy(), 2)
    assert float(found) == pytest.approx(through(3.5), rel=1e-10)


@pytest.mark.parametrize(
    ("name", "count", "degree"),
    [
        ("cubic", 2, 1),
        ("cubic", 3, 1),
        ("cubic", 4, 3),
        ("quintic", 3, 1),
        ("quintic", 5, 3),
        ("quintic", 6, 5),
        ("lagrange-5", 2, 1),
        ("lagrange-5", 3, 2),
        ("lagrange-5", 4, 3),
    ],
)
def test_few_points_lower_the_degree(name: str, count: int, degree: int):
    times = uneven(count) if count > 2 else even(2)
    truth = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.3, -0.2, 0.1][: degree + 1])
    query = torch.linspace(0, 3, 21, dtype=torch.float64)[None]
    path = fit(name, times, torch.from_numpy(truth(times.numpy())))
    point = path.at(torch.tensor([0]), query)
    np.testing.assert_allclose(point.position.flatten(), truth(query[0].numpy()), atol=1e-9)
    assert path.trust(torch.tensor([0]), query).all()
    assert bool(path.trust(torch.tensor([0]), query, order=2).all()) == (degree >= 2)


@pytest.mark.parametrize("name", [*ORDERS, "bridge-0.1", "bridge-1e-05", "bridge-0.1,0.25"])
def test_a_name_gives_back_its_interpolant(name: str):
    assert interpolant(name).name == name


def test_names_stand_for_these_interpolants():
    assert interpolant("linear") == Linear()
    assert interpolant("lagrange-3") == Lagrange(points=3)
    assert interpolant("cubic") == Spline(degree=3)
    assert interpolant("quintic") == Spline(degree=5)
    assert interpolant("bridge-0.1") == Bridge(sigma=0.1)
    assert interpolant("bridge-0.1,0.2") == Bridge(sigma=(0.1, 0.2))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cubci", "Did you mean 'cubic'"),
        ("lagrnge-3", "Did you mean 'lagrange'"),
        ("spline", "linear, lagrange-5, cubic"),
        ("lagrange", "'lagrange-5'; got 'lagrange'"),
        ("lagrange-x", "'lagrange-5'; got 'lagrange-x'"),
        ("lagrange-", "'lagrange-5'"),
        ("lagrange-1", "`points` must be"),
        ("lagrange-2.5", "`points` must be"),
        ("cubic-3", "'cubic'; got 'cubic-3'"),
        ("bridge", "'bridge-0.1'"),
        ("bridge--1", "`sigma` must be"),
        ("bridge-'a'", "`sigma` must be"),
    ],
)
def test_a_bad_name_says_what_would_do(spec: str, message: str):
    with pytest.raises(GreymatchError, match=message):
        interpolant(spec)


def test_only_these_degrees_of_spline_exist():
    with pytest.raises(GreymatchError, match="`degree` must be 3 or 5; got 4"):
        Spline(degree=4)


def test_every_registered_interpolant_is_tested_for_its_order():
    tested = {name.partition("-")[0] for name in ORDERS}
    assert tested == set(INTERPOLANTS) - {"bridge"}
