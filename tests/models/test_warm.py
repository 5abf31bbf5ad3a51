"""Starting from another model: the same nets begin as the same function, others take what fits."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from greymatch.bench.speed.stepping import network_for
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.warm import Warm
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.systems import pendulum
from greymatch.training.fit import fit
from greymatch.training.law import polynomial_of

Swings = tuple[Trajectories, Trajectories]
LAST = ("encoder.eps_head.weight", "encoder.eps_head.bias")


def network(model: GreyBox, physics: Physics, data: Trajectories, **changes: Any) -> Network:
    """A network for `physics` with the settings of `model`, as random as they begin."""
    return network_for(physics, data, model.settings.updated(changes))


@pytest.mark.usefixtures("roughly")
def test_the_same_nets_begin_as_the_model_they_start_from(small_model: GreyBox, swings: Swings):
    half = swings[0].select(range(24))
    again = fit(pendulum.physics, half, start=small_model, steps=1, settings=small_model.settings, quiet=True)
    history, times = swings[1].first(10), swings[1].times[:, 10:]
    mine, its = (model.forecast(history, times, draws=1, refine=False) for model in (small_model, again))
    assert float((mine.draws - its.draws).abs().max()) < 0.02 * float(mine.draws.std())


@pytest.mark.usefixtures("roughly")
def test_a_model_that_starts_from_a_good_one_is_no_worse_on_validation_data(small_model: GreyBox, swings: Swings):
    ruin = small_model.settings.updated({"training.rate": 1.0, "training.warmup": 0.0, "training.validations": 1})
    few = swings[1].select(range(4)).first(20)  # to solve what is ruined takes long
    again = fit(pendulum.physics, swings[0], few, start=small_model, settings=ruin, steps=3, quiet=True)
    assert again.record["best_step"] == 0


def test_a_file_will_do_and_needs_no_physics(small_model: GreyBox, tmp_path: Path):
    path = small_model.save(tmp_path / "swing.safetensors")
    mine, its = Warm.of(small_model), Warm.of(path)
    assert mine.physics == its.physics
    assert mine.settings == its.settings
    assert all(torch.equal(value, its.weights[name]) for name, value in mine.weights.items())


def test_coefficients_are_taken_beyond_single_precision(small_model: GreyBox, swings: Swings):
    model = deepcopy(small_model)
    products = polynomial_of(model.network.dynamics)
    exact = products.coefficients.weight.detach().double() + 1e-9
    products.tell(exact)
    fresh = network(model, pendulum.physics, swings[0])
    Warm.of(model).into(fresh)
    torch.testing.assert_close(polynomial_of(fresh.dynamics.double()).told, exact, atol=1e-12, rtol=1e-12)


def test_other_parameters_get_heads_of_their_own(small_model: GreyBox, swings: Swings):
    swing = Physics(pendulum.physics.function, ["angle"], {"omega": Uniform(0.1, 9.0)}, order=2)
    fresh = network(small_model, swing, swings[0])
    found = Warm.of(small_model).into(fresh)
    assert found.fresh == LAST
    assert str(found).endswith("; anew: encoder.eps_head")


def test_units_are_kept_between_the_same_states_only(small_model: GreyBox, swings: Swings):
    warm, own = Warm.of(small_model), small_model.network.scales
    assert warm.scales_for(pendulum.physics, own) is warm.scales
    renamed = Physics(lambda t, x, p: {"tilt": -x.tilt}, ["tilt"], order=2)
    assert warm.scales_for(renamed, own) is own


def test_nets_of_another_size_take_nothing_that_does_not_fit(small_model: GreyBox, swings: Swings):
    wide = network(small_model, pendulum.physics, swings[0], **{"encoder.width": 40, "residual.width": 24})
    before = {name: value.clone() for name, value in wide.named_parameters()}
    found = Warm.of(small_model).into(wide)
    assert not found.whole
    assert all(torch.equal(before[name], value) for name, value in wide.named_parameters() if name in found.fresh)


def test_a_residual_of_more_states_begins_with_what_it_knows_of_one(small_model: GreyBox, swings: Swings):
    def two(t: Any, x: Any, p: Any) -> dict[str, Any]:
        return {"other": -x.other, "angle": -(p.omega**2) * torch.sin(x.angle)}

    physics = Physics(two, ["other", "angle"], pendulum.physics.params, order=2)
    data = swings[0]
    both = Trajectories(
        ("other", "angle"), data.times, torch.cat([data.values, data.values], 2), data.mask.repeat(1, 1, 2), data.labels
    )
    bigger = network(small_model, physics, both, **{"residual.curves": ()})
    found = Warm.of(small_model).into(bigger)
    assert "dynamics.field.trunk.0.weight" in found.partly
    said = [_residual(one, angle=0.3) for one in (small_model.network, bigger)]
    torch.testing.assert_close(said[1][:, 1:], said[0])
    assert not torch.allclose(said[1][:, :1], said[0])  # the other equation is another one


def _residual(network: Network, angle: float) -> torch.Tensor:
    """What the nets add in units of the data, where the angle is off its centre, and all else at it."""
    names = network.physics.phase
    state = torch.tensor([[angle if name.startswith("angle") else 0.0 for name in names]])
    latents = Latents(torch.zeros(1, 1), torch.full((1, network.settings.encoder.latents), 0.4))
    with torch.no_grad():
        return network.dynamics.field(state, latents.z)


def test_what_is_no_model_is_refused(tmp_path: Path):
    with pytest.raises(GreymatchError, match="`start` must be a GreyBox or the path of its file; got dict"):
        Warm.of({})  # pyright: ignore[reportArgumentType]
    with pytest.raises(GreymatchError, match="does not exist"):
        Warm.of(tmp_path / "none.safetensors")


@pytest.mark.usefixtures("roughly")
def test_a_resumed_run_must_start_from_the_same_model(small_model: GreyBox, swings: Swings, tmp_path: Path):
    settings: Settings = small_model.settings
    fit(pendulum.physics, swings[0], start=small_model, settings=settings, steps=1, folder=tmp_path, quiet=True)
    with pytest.raises(GreymatchError, match="a resumed run must be the same run; start differ"):
        fit(pendulum.physics, swings[0], settings=settings, steps=1, folder=tmp_path, resume=True, quiet=True)
