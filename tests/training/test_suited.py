from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.models.greybox import GreyBox
from greymatch.models.warm import Warm
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.systems import pendulum, reaction_diffusion
from greymatch.training.suited import LONGEST_WINDOW, choose, suited

Decays = Callable[..., Trajectories]


def chosen(physics: Physics, data: Trajectories) -> dict[str, object]:
    return {choice.key: choice.value for choice in choose(physics, data).choices}


def test_choices_are_the_settings(decay: Physics, decays: Decays):
    found = choose(decay, decays(4))
    assert found.settings == Settings().updated({choice.key: choice.value for choice in found.choices})
    assert found.settings == suited(decay, decays(4))
    assert str(found.choices[0]) == "window = 14: about a third of the usual 41 points"


def test_windows_of_long_recordings_stay_affordable(decay: Physics, recording: Callable[..., Trajectories]):
    times = torch.linspace(0, 50, 3000, dtype=torch.float64)
    assert chosen(decay, recording(times, torch.exp(-times).repeat(2, 1)))["window"] == LONGEST_WINDOW


def test_coarse_samples_get_a_plainer_interpolant(decay: Physics, decays: Decays, seed: int):
    data = decays(8)
    assert chosen(decay, data)["matching.interpolant"] == "quintic"
    times = torch.sort(torch.rand(8, 41, dtype=torch.float64) * 40, 1).values
    rough = Trajectories(("x",), times, torch.sin(3 * times)[..., None], data.mask, data.labels)
    assert chosen(decay, rough)["matching.interpolant"] == "cubic"


def test_fields_get_convolutions():
    physics = Physics(lambda t, x, p: {"u": -x.u, "v": -x.v}, ["u", "v"], grid=["y", "x"])
    found = chosen(physics, reaction_diffusion.data("val", trajectories=4))
    assert (found["encoder.kind"], found["residual.kind"]) == ("conv", "conv")


def test_a_built_in_system_needs_no_choice(swings: tuple[Trajectories, Trajectories]):
    found = choose(pendulum.physics, swings[0])
    assert (found.settings, found.choices) == (pendulum.settings(), [])


def test_nets_and_window_are_those_of_the_start(decay: Physics, decays: Decays, small_model: GreyBox):
    found = choose(decay, decays(4), Warm.of(small_model)).settings
    assert (found.window, found.encoder, found.residual) == (
        small_model.settings.window,
        small_model.settings.encoder,
        small_model.settings.residual,
    )


@pytest.mark.parametrize("points", [3, 4, 6, 20, 41])
def test_windows_leave_a_future(decay: Physics, decays: Decays, points: int):
    settings = suited(decay, decays(3).first(points))
    assert 2 <= settings.lengths[-1] <= settings.window < points


def test_curves_of_the_start_come_along_with_their_states(decay: Physics, decays: Decays, small_model: GreyBox):
    curves = {"residual.curves": ["abs(angle_dot, 1)", "root(x, 2)"]}
    start = replace(Warm.of(small_model), settings=small_model.settings.updated(curves))
    assert choose(decay, decays(4), start).settings.residual.curves == ("root(x, 2)",)
