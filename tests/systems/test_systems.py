"""What holds for every built-in system, and what each one misses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.explain.terms import candidates
from greymatch.systems import SYSTEMS, System

Missing = Callable[[dict[str, Tensor], dict[str, Tensor]], dict[str, Tensor | float]]

MISSING: dict[str, Missing] = {
    "pendulum": lambda x, p: {"angle": -p["xi"] * x["angle_dot"]},
    "rlc": lambda x, p: {"I": -p["R"] / p["L"] * x["I"]},
    "rlc_code": lambda x, p: {"I": -p["R"] / (p["L"] * p["C"]) * x["I"]},
    "reaction_diffusion": lambda x, p: {"u": -p["k"]},
    "reaction_diffusion_u": lambda x, p: {"u": x["u"] - x["u"] ** 3 - x["v"] - p["k"]},
    "lorenz": lambda x, p: {"v": x["u"] * (p["rho"] - x["w"])},
}


@pytest.fixture(params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def rows(system: System, count: int = 4) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Times, phases, true parameters and inputs, drawn at random."""
    rng = np.random.default_rng(5)
    phase = torch.as_tensor(system.start(rng, count))
    phase = phase + 0.3 * torch.as_tensor(rng.standard_normal(phase.shape))
    theta = system.truth.push(torch.as_tensor(rng.standard_normal((count, len(system.truth.params)))))
    clock = torch.as_tensor(rng.uniform(0, 2, count))
    return clock, phase, theta, system.drive(clock) if system.drive else None


def test_the_physics_misses_what_it_says(system: System):
    clock, phase, theta, u = rows(system)
    names = list(system.truth.params)
    known = theta[:, [names.index(name) for name in system.physics.params]]
    gap = system.truth.evaluate(clock, phase, theta, u) - system.physics.evaluate(clock, phase, known, u)
    shape = (-1, *[1] * len(system.truth.grid))
    params = {name: theta[:, i].reshape(shape) for i, name in enumerate(names)}
    states = {name: phase[:, i] for i, name in enumerate(system.truth.phase)}
    missing = MISSING[system.name](states, params)
    for index, name in enumerate(system.truth.states):
        wanted = torch.as_tensor(missing.get(name, 0.0), dtype=torch.float64).expand(gap[:, index].shape)
        torch.testing.assert_close(gap[:, index], wanted, rtol=1e-9, atol=1e-12)


def test_its_terms_add_up_to_what_is_missing(system: System):
    _, phase, theta, _ = rows(system)
    params = {name: theta[:, i].numpy() for i, name in enumerate(system.truth.params)}
    states = dict(zip(system.truth.phase, phase.unbind(1), strict=True))
    shape = (-1, *[1] * len(system.truth.grid))
    right = MISSING[system.name](states, {name: torch.as_tensor(one).reshape(shape) for name, one in params.items()})
    known = {term.text: term for term in candidates(system.truth.phase, 3)}
    assert system.missing.keys() == right.keys()
    for state, terms in system.missing.items():
        parts = [
            torch.as_tensor(worth(params)).reshape(shape) * known[text].values(states) for text, worth in terms.items()
        ]
        torch.testing.assert_close(torch.stack(parts).sum(0), right[state] + torch.zeros_like(parts[0]))


def test_more_points_go_on_where_the_split_ends(system: System):
    times = system.splits["test"].times
    short, longer = (system.data("test", trajectories=2, points=points) for points in (5, len(times) + 4))
    torch.testing.assert_close(longer.values[:, :5], short.values)
    steps = longer.times[0].diff()
    torch.testing.assert_close(steps[-4:], steps[len(times) - 2].repeat(4))
    assert (longer.inputs is None) == (system.drive is None)
    with pytest.raises(GreymatchError, match=r"points.*got 1"):
        system.data("test", points=1)


def test_data_are_accurate_and_the_same_for_a_seed(system: System):
    data = system.data("train", trajectories=2)
    assert torch.equal(data.values, system.data("train", trajectories=2).values)
    assert not torch.equal(data.values[:, 0], replace(system, substeps=1).data("train", 99, 2, points=2).values[:, 0])
    finer = replace(system, substeps=2 * system.substeps).data("train", trajectories=2)
    torch.testing.assert_close(data.values, finer.values, rtol=1e-6, atol=1e-6)


def test_splits_differ_and_go_beyond_what_is_given(system: System):
    seeds = [split.seed for split in system.splits.values()]
    assert len(set(seeds)) == len(seeds) == 3
    assert all(len(split.times) > system.given for split in system.splits.values())
    assert system.preset.window <= system.given


def test_true_parameters_come_along_and_lie_in_their_prior(system: System):
    data = replace(system, substeps=1).data("train", trajectories=20)
    assert set(data.truth) == set(system.truth.params)
    for name, prior in system.truth.params.items():
        low, high = prior.support
        assert np.all((data.truth[name] >= low) & (data.truth[name] <= high))


def test_an_unknown_split_is_named(system: System):
    with pytest.raises(GreymatchError, match=r"`split` must be one of .*Did you mean 'train'"):
        system.data("tarin")


def test_the_voltage_is_an_input_known_between_its_samples():
    rlc = SYSTEMS["rlc"]
    data = rlc.data("test", trajectories=2)
    assert data.inputs is not None
    assert rlc.drive is not None
    clock = torch.rand(2, 50, dtype=torch.float64) * 20
    torch.testing.assert_close(data.inputs.at(torch.arange(2), clock), rlc.drive(clock), rtol=0, atol=1e-5)


def test_lorenz_rests_at_its_fixed_points():
    truth = SYSTEMS["lorenz"].truth
    sigma, rho, beta = 10.0, 28.0, 8 / 3
    side = (beta * (rho - 1)) ** 0.5
    point = torch.tensor([[side, side, rho - 1], [-side, -side, rho - 1], [0, 0, 0]], dtype=torch.float64)
    theta = torch.tensor([[sigma, rho, beta]], dtype=torch.float64).expand(3, -1)
    torch.testing.assert_close(
        truth.evaluate(torch.zeros(3), point, theta), torch.zeros(3, 3, dtype=torch.float64), rtol=0, atol=1e-12
    )


def test_reaction_diffusion_is_flat_where_it_starts_flat():
    system = SYSTEMS["reaction_diffusion"]
    flat = replace(system, start=lambda rng, count: np.full((count, 2, 32, 32), 0.4))
    values = flat.data("train", trajectories=1).values
    torch.testing.assert_close(values, values[..., :1, :1].expand_as(values), rtol=0, atol=1e-13)
