from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import SKIPPED, Windows
from greymatch.files import read_tensors
from greymatch.matching.observed import interpolated
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.training.fit import fit
from greymatch.training.loop import LAST
from greymatch.training.recipe import Recipe, recipe
from greymatch.training.settling import TURNS, Settling, turn

Decays = Callable[..., Trajectories]


def whole_truth() -> Physics:
    """What the decays obey, so that a residual of zero is right."""
    return Physics(lambda t, x, p: {"x": 0.5 - p.k * x.x}, ["x"], {"k": Uniform(0.2, 2.0)})


def prepared(physics: Physics, data: Trajectories, settings: Settings) -> Recipe:
    path = interpolated(data, settings, physics.order)
    window = Windows.of(data, settings.window).gather(torch.tensor([0]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Network.fitting(physics, settings, Scales.of(data, path), window)
    network.noise.fill_(1e-3)
    return recipe(network, data, path)


def settling(physics: Physics, data: Trajectories, settings: Settings) -> Settling:
    found = prepared(physics, data, settings).settling
    assert found is not None
    return found


@pytest.mark.parametrize("part", [0.25, 0.4, 0.75])
def test_turns_are_counted_over_the_last_part_of_the_budget(part: float):
    fractions = [i / 1000 for i in range(1001)]
    turns = [turn(fraction, part) for fraction in fractions]
    assert turns == sorted(turns)
    assert set(turns) == set(range(TURNS + 1))
    first = next(f for f, t in zip(fractions, turns, strict=True) if t)
    assert first == pytest.approx(1 - part, abs=2e-3)


def test_without_a_part_there_is_no_turn():
    assert {turn(fraction, 0.0) for fraction in (0.0, 0.5, 1.0)} == {0}


def test_whole_trajectories_tell_their_parameters(decays: Decays, tiny: Settings):
    data, physics = decays(12), whole_truth()
    asked = settling(physics, data, tiny)
    first = asked.latents(None, 1)
    again = asked.latents(first, 2)
    for found in (first, again):
        k = physics.push(found[:, :1])[:, 0].double()
        torch.testing.assert_close(k, torch.as_tensor(data.truth["k"]), rtol=0, atol=5e-3)


def test_errors_are_measured_by_whole_trajectories_whichever_window_is_drawn(decays: Decays, tiny: Settings):
    asked = settling(whole_truth(), decays(12), tiny)
    settled = asked.latents(None, 1)
    drawn = [sample for seed in (0, 1) for sample in asked.draw(settled, 64, torch.Generator().manual_seed(seed))]
    rows = torch.cat([sample.rows for sample in drawn])
    sizes = torch.cat([sample.features.amplitude for sample in drawn])
    for row in rows.unique():
        assert len(sizes[rows == row].unique(dim=0)) == 1
    assert len(sizes.unique(dim=0)) == len(rows.unique())


def test_trajectories_without_a_window_are_neither_asked_nor_drawn(decays: Decays, tiny: Settings):
    data = decays(6)
    mask = data.mask.clone()
    mask[2, 4:] = False  # four points are less than a window
    asked = settling(whole_truth(), replace(data, mask=mask), tiny)
    found = asked.latents(None, 1)
    assert bool((found[2] == 0).all())
    assert bool((found[[0, 1, 3, 4, 5]] != 0).any(1).all())
    (sample,) = asked.draw(found, 256, torch.Generator().manual_seed(0))
    assert set(sample.rows.tolist()) == {0, 1, 3, 4, 5}


def test_a_state_that_is_not_seen_at_the_end_does_not_matter(tiny: Settings):
    times = torch.linspace(0, 4, 41, dtype=torch.float64).repeat(6, 1)
    rates = torch.linspace(0.5, 1.5, 6, dtype=torch.float64)[:, None]
    values = torch.stack([torch.exp(-rates * times), torch.exp(-times)], -1)
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[3, 25:, 1] = False  # longer than a window
    data = Trajectories(("x", "y"), times, values, mask, np.arange(6))
    physics = Physics(lambda t, x, p: {"x": -p.k * x.x, "y": -x.y}, ["x", "y"], {"k": Uniform(0.2, 2.0)})
    k = physics.push(settling(physics, data, tiny).latents(None, 1)[:, :1])[:, :1].double()
    torch.testing.assert_close(k, rates, rtol=0, atol=5e-3)


def test_a_batch_comes_from_all_over_the_trajectories_with_their_latents(decays: Decays, tiny: Settings):
    data = decays(6)
    asked = settling(whole_truth(), data, tiny)
    latents = torch.arange(12.0).reshape(6, 2)
    (sample,) = asked.draw(latents, 400, torch.Generator().manual_seed(0))
    assert sample.settled is not None
    assert torch.equal(sample.settled, latents[sample.rows])
    times = sample.matched.time
    first, last = float(data.times[0, SKIPPED]), float(data.times[0, -1])
    assert first <= float(times.min()) < first + 0.05
    assert last - 0.05 < float(times.max()) <= last
    parts = torch.histc(times.float(), 8, min=first, max=last)
    assert float(parts.max() / parts.min()) < 1.3


@pytest.mark.parametrize("changes", [{"method": "tfm"}, {"method": "bb-node"}, {"encoder.refine": False}])
def test_what_cannot_be_asked_never_settles(decays: Decays, tiny: Settings, changes: dict[str, object]):
    assert prepared(whole_truth(), decays(6), tiny.updated(changes)).settling is None


def test_settled_latents_teach_the_field_and_leave_the_encoder_alone(decays: Decays, tiny: Settings):
    way = prepared(whole_truth(), decays(6), tiny)
    assert way.settling is not None
    generator = torch.Generator().manual_seed(0)
    (sample,) = way.settling.draw(way.settling.latents(None, 1), 16, generator)
    loss = way.objective(sample, torch.ones(1), generator)
    loss.total.backward()
    assert bool(loss.total.isfinite())
    assert loss._asdict()["kl_theta"] is loss._asdict()["kl_z"] is None
    network = way.settling.network
    assert all(parameter.grad is None for parameter in network.encoder.parameters())
    assert any(parameter.grad is not None and bool(parameter.grad.any()) for parameter in network.dynamics.parameters())


@pytest.mark.usefixtures("roughly")
def test_the_latents_of_a_run_are_kept_with_it(decay: Physics, decays: Decays, tiny: Settings, tmp_path: Path):
    data = decays(12)
    for settle in (0.5, 0.0):
        folder = tmp_path / str(settle)
        settings = tiny.updated({"training.settle": settle, "residual.products": 0})  # else it knows all before
        fit(decay, data, settings=settings, steps=8, folder=folder, quiet=True)
        tensors, header = read_tensors(folder / LAST)
        assert header["turn"] == turn(7 / 8, settle)  # the last of eight steps began there
        assert ("settled" in tensors) == bool(settle)
        if settle:
            assert tensors["settled"].shape == (9, 2)  # three are held out


@pytest.mark.usefixtures("roughly")
def test_settling_brings_a_run_closer_to_the_truth(decay: Physics, decays: Decays, tiny: Settings):
    def error(settle: float) -> float:
        changes = {"training.settle": settle, "training.batch": 64, "training.rate": 5e-3}
        settings = tiny.updated(changes | {"residual.products": 0})  # else it begins too well
        return fit(decay, decays(40), decays(20, seed=1), settings=settings, steps=300, quiet=True).record[
            "validation_error"
        ]

    assert error(0.75) < 0.5 * error(0.0)


@pytest.mark.parametrize("changes", [{}, {"matching.sensitivity": 0.0}])
def test_what_is_worked_out_for_many_batches_is_what_each_would(
    decays: Decays, tiny: Settings, changes: dict[str, object]
):
    way = prepared(whole_truth(), decays(6), tiny.updated(changes))
    assert way.settling is not None
    latents = way.settling.latents(None, 1)
    (sample,) = way.settling.draw(latents, 16, torch.Generator().manual_seed(0))
    drawn = way.settling.sampler.draw_whole(
        16, generator := torch.Generator().manual_seed(0), way.settling._amplitude, latents
    )
    assert sample.posed is not None
    assert drawn.posed is None
    before, after = (way.objective(one, torch.ones(1), generator) for one in (drawn, sample))
    torch.testing.assert_close(before.total, after.total)
