"""What a check finds: each fault is put into sound physics or data, and named with its fix."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import greymatch as gm
from greymatch.checking.check import check
from greymatch.checking.finding import Level
from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.physics.physics import Physics
from greymatch.physics.priors import LogNormal, Uniform
from greymatch.settings import Settings
from greymatch.systems import SYSTEMS

PRIORS = {"k": Uniform(0.5, 5.0)}


def spring(t: Any, x: Any, p: Any) -> dict[str, Any]:
    return {"x": -p.k * x.x}


def physics(function: Callable[..., Any] = spring, **more: Any) -> Physics:
    return Physics(function, **({"states": ["x"], "params": PRIORS, "order": 2} | more))


@pytest.fixture(scope="module")
def springs() -> Trajectories:
    """Damped oscillators in closed form, 16 of them, at uneven times of their own."""
    rng = np.random.default_rng(0)
    times = torch.as_tensor(np.cumsum(rng.uniform(0.08, 0.12, (16, 80)), 1))
    k, size = (torch.as_tensor(rng.uniform(low, high, (16, 1))) for low, high in ((1.0, 4.0), (0.5, 2.0)))
    values = size * torch.exp(-0.1 * times) * torch.cos((k - 0.01).sqrt() * times)
    mask = torch.ones(16, 80, 1, dtype=torch.bool)
    return Trajectories(("x",), times, values[..., None], mask, np.arange(16), units={"x": "m", "time": "s"})


def told(found: gm.Check, level: Level) -> str:
    return "\n".join(str(finding) for finding in found.findings if finding.level is level)


def test_sound_physics_and_data_can_be_fitted_and_nothing_is_in_the_way(springs: Trajectories):
    found = check(physics(), springs)
    assert found.fits
    assert not told(found, Level.PROBLEM) + told(found, Level.WARNING)
    assert str(found).endswith("This can be fitted; nothing is in the way.")


def test_it_says_what_it_understood(springs: Trajectories):
    facts = check(physics(), springs).facts
    assert facts["trajectories"] == "16, 80 points each"
    assert "s, uneven steps of 0.08 to 0.12, usually 0.1" in facts["times"]
    assert facts["gaps"] == "none"
    assert facts["state x"].endswith(" m")
    assert facts["window"].startswith("27 points, about 2.6")


def test_gaps_are_told_by_state(springs: Trajectories):
    mask = springs.mask.clone()
    mask[:, 20:28] = False
    gappy = replace(springs, mask=mask, values=springs.values.masked_fill(~mask, 0.0))
    assert check(physics(), gappy).facts["gaps"] == "missing values: x 10 %"


def test_chosen_settings_are_shown_and_given_ones_are_taken(springs: Trajectories):
    assert [choice.key for choice in check(physics(), springs).choices][:1] == ["window"]
    found = check(physics(), springs, settings=Settings(window=9))
    assert found.choices == []
    assert found.facts["window"].startswith("9 points")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t, x, p: {"y": x.x}, "missing ['x'], extra ['y']"),
        (lambda t, x, p: {"x": torch.ones(7)}, "returned shape (7,) for state 'x'"),
        (lambda t, x, p: {"x": x.x / 0}, "must be finite over its prior"),
        (lambda t, x, p: {"x": torch.log(x.x)}, "must be finite over its prior"),
        (lambda t, x, p: [x.x], "must return a dict"),
        (lambda t, x, p: {"x": -p.kk * x.x}, "asks for parameter 'kk'"),
        (lambda t, x, p: {"x": x.x - x.x.mean()}, "must treat rows of a batch independently"),
        (lambda t, x, p: {"x": np.sin(x.x.requires_grad_().numpy())}, "use torch functions, not math or numpy"),
    ],
)
def test_a_function_that_fails_on_real_rows_is_a_problem(
    springs: Trajectories, function: Callable[..., Any], message: str
):
    found = check(physics(function), springs)
    assert not found.fits
    assert message in told(found, Level.PROBLEM)
    assert str(found).endswith("This cannot be fitted as it is.")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"states": ["y"], "function": lambda t, x, p: {"y": -p.k * x.y}}, "must hold the physics' states ['y']"),
        ({"inputs": ["u"], "function": lambda t, x, p, u: {"x": u.u}}, "physics declares inputs ['u']"),
        ({"grid": ["r"]}, "must have the physics' grid axes ['r']"),
    ],
)
def test_data_of_another_physics_are_a_problem(springs: Trajectories, more: dict[str, Any], message: str):
    found = check(physics(**more), springs)
    assert not found.fits
    assert message in told(found, Level.PROBLEM)
    assert found.facts["trajectories"] == "16, 80 points each"


def test_an_axis_that_may_number_trajectories_is_named(springs: Trajectories):
    values = springs.values[None, :, :, 0].permute(0, 2, 1)[:, :, None]
    one = Trajectories(("x",), springs.times[:1], values, values.isfinite(), np.arange(1), grid=("run",))
    assert "read with trajectory='run' (--trajectory run)" in told(check(physics(), one), Level.PROBLEM)


def test_an_input_that_the_physics_does_not_take_is_told_with_both_ways_out(springs: Trajectories):
    said = told(check(physics(), springs.with_inputs({"push": np.sin})), Level.PROBLEM)
    assert "carries ['push']. Give the physics inputs=['push'] and a fourth argument" in said


def test_a_code_for_a_lost_sample_is_a_warning(springs: Trajectories):
    values = springs.values.clone()
    values[3, 7] = -9999
    said = told(check(physics(), replace(springs, values=values)), Level.WARNING)
    assert "state 'x' is far from all others at 1 points, such as -9999" in said


@pytest.mark.parametrize(("kind", "smooth", "noted"), [("cubic", 0, True), ("hold", 0, False), ("cubic", 1, False)])
def test_a_switch_that_is_drawn_as_a_smooth_curve_is_noted(springs: Trajectories, kind: str, smooth: int, noted: bool):
    push = springs.times.sin() if smooth else springs.times.sin().sign()
    driven = replace(springs, inputs=Signals(("push",), springs.times, push[..., None], kind))
    takes = physics(lambda t, x, p, u: {"x": -p.k * x.x + 0 * u.push}, inputs=["push"])
    assert ("has only 2 values, as a switch" in told(check(takes, driven), Level.NOTE)) is noted


def test_one_trajectory_needs_validation_data(springs: Trajectories):
    one = springs.select([0])
    assert "cannot be both learned from and validated on" in told(check(physics(), one), Level.PROBLEM)
    assert check(physics(), one, springs).fits


def test_few_trajectories_and_a_still_state_are_warned_of(springs: Trajectories):
    warned = told(check(physics(), springs.select([0, 1, 2])), Level.WARNING)
    assert "3 trajectories show little" in warned
    flat = replace(springs, values=torch.full_like(springs.values, 2.5))
    assert "'x' never changes: it is always 2.5" in told(check(physics(), flat), Level.WARNING)


def test_a_still_state_has_no_acceleration_to_doubt(springs: Trajectories):
    still = torch.cat([springs.values, torch.full_like(springs.values, 3.0)], 2)
    both = replace(springs, states=("x", "y"), values=still, mask=springs.mask.repeat(1, 1, 2), units={})
    two = physics(lambda t, x, p: {"x": -p.k * x.x, "y": 0 * x.y}, states=["x", "y"])
    warned = told(check(two, both), Level.WARNING)
    assert "'y' never changes" in warned
    assert "acceleration of 'y'" not in warned


def test_times_in_a_tiny_unit_are_a_problem_as_they_are_to_fit(springs: Trajectories):
    tiny = replace(springs, times=1e-9 * springs.times)
    fast = physics(params={"k": Uniform(0.5e18, 5e18)})
    found = check(fast, tiny)
    assert not found.fits
    assert "a unit in which steps are near 1" in told(found, Level.PROBLEM)
    with pytest.raises(GreymatchError, match="a unit in which steps are near 1"):
        gm.fit(fast, tiny, steps=1, quiet=True)


@pytest.mark.parametrize(
    ("settings", "level", "message"),
    [
        ({"window": 80}, Level.PROBLEM, "the window of 80 points leaves no future to learn"),
        ({"window": 500}, Level.PROBLEM, "--set window=26"),
        ({"matching.horizon": 0.01}, Level.PROBLEM, "less than one step"),
        ({"matching.horizon": 50.0}, Level.NOTE, "more than the longest trajectory has beyond a window"),
        ({"window": 3}, Level.WARNING, "shows derivatives crudely"),
        ({"matching.interpolant": "linear"}, Level.PROBLEM, "has no acceleration to match"),
    ],
)
def test_window_horizon_and_interpolant_are_held_against_the_data(
    springs: Trajectories, settings: dict[str, Any], level: Level, message: str
):
    assert message in told(check(physics(), springs, settings=Settings().updated(settings)), level)


def test_noise_that_drowns_the_acceleration_is_warned_of(springs: Trajectories, seed: int):
    noisy = replace(springs, values=springs.values + 0.6 * torch.randn(springs.values.shape))
    assert "the smoothed acceleration of 'x' changes" in told(check(physics(), noisy), Level.WARNING)


def test_noise_that_fit_smooths_away_is_not_warned_of(springs: Trajectories, seed: int):
    noisy = replace(springs, values=springs.values + 0.01 * torch.randn(springs.values.shape))
    assert not told(check(physics(), noisy), Level.WARNING)
    raw = Settings().updated({"data.noise": 0.0})
    assert "most of it is noise" in told(check(physics(), noisy, settings=raw), Level.WARNING)


def test_a_parameter_that_does_nothing_is_named(springs: Trajectories):
    found = check(physics(params=PRIORS | {"idle": Uniform(0.0, 1.0)}), springs)
    assert found.fits
    assert "'idle' does not move the known physics at all" in told(found, Level.WARNING)
    assert "'k'" not in told(found, Level.WARNING)


def test_a_parameter_that_hardly_does_anything_is_named(springs: Trajectories):
    faint = physics(lambda t, x, p: {"x": -p.k * x.x - 1e-5 * p.c * x.x_dot}, params=PRIORS | {"c": Uniform(0.0, 1.0)})
    assert "'c' hardly moves" in told(check(faint, springs), Level.WARNING)


def test_two_parameters_of_one_product_are_named(springs: Trajectories):
    product = physics(lambda t, x, p: {"x": -p.k / p.m * x.x}, params=PRIORS | {"m": Uniform(0.5, 2.0)})
    assert "'k' and 'm' move the known physics alike" in told(check(product, springs), Level.WARNING)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Uniform(20.0, 30.0), "of the trajectories ask for 'k' at or beyond the edge of its prior (20.1 to 29.9)"),
        (LogNormal(1e4, 0.1), "times that of the data"),
        (Uniform(1e-5, 2e-5), "% of the data's"),
    ],
)
def test_priors_are_held_against_the_data(springs: Trajectories, prior: Any, message: str):
    assert message in told(check(physics(params={"k": prior}), springs), Level.WARNING)


def test_arguments_of_the_wrong_kind_are_errors(springs: Trajectories):
    with pytest.raises(GreymatchError, match="`physics` must be a Physics"):
        check(spring, springs)  # pyright: ignore[reportArgumentType]
    with pytest.raises(GreymatchError, match="`data` must be Trajectories; got dict"):
        check(physics(), {"x": 1})  # pyright: ignore[reportArgumentType]


def test_the_time_that_a_window_covers_is_that_of_uneven_steps(springs: Trajectories):
    pairs = torch.arange(40).repeat_interleave(2) + torch.tensor([0.0, 0.1]).repeat(40)  # steps of 0.1 and 0.9
    found = check(physics(), replace(springs, times=pairs.double().expand(16, -1)), settings=Settings(window=21))
    assert "21 points, about 10 of time" in found.facts["window"]


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_built_in_systems_can_be_fitted_and_it_takes_seconds(name: str):
    system = SYSTEMS[name]
    data = system.data("train", trajectories=16 if system.physics.grid else 64)
    began = time.process_time()
    found = check(system.physics, data)
    assert found.fits
    assert time.process_time() - began < 15
    assert "noise" not in told(found, Level.WARNING)
    assert "prior (" not in told(found, Level.WARNING)
