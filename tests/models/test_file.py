from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors
from greymatch.models.file import FORMAT, load
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Uniform
from greymatch.systems import pendulum
from greymatch.training.law import polynomial_of

Make = Callable[..., GreyBox]
Swings = tuple[Trajectories, Trajectories]
SPRING = Physics(lambda t, x, p: {"angle": -p.k * x.angle}, ["angle"], {"k": Normal(4.0, 1.0)}, order=2, name="spring")


@pytest.fixture
def saved(greybox: Make, swings: Swings, tmp_path: Path) -> Path:
    model = greybox(SPRING, swings[0], trained=True)
    return model.save(tmp_path / "spring.safetensors")


def test_what_is_loaded_is_what_was_saved(small_model: GreyBox, swings: Swings, tmp_path: Path):
    path = small_model.save(tmp_path / "swing.safetensors")
    again = load(path)
    history, times = swings[1].first(10), swings[1].times[:, 10:]
    assert again.settings == small_model.settings
    assert again.record == small_model.record
    for draws in (1, 4):
        mine, its = small_model.forecast(history, times, draws), again.forecast(history, times, draws)
        assert torch.equal(mine.draws, its.draws)
    assert torch.equal(small_model.infer(history).draws, again.infer(history).draws)


def test_saving_what_was_loaded_gives_the_same_file(saved: Path, tmp_path: Path):
    second = load(saved, SPRING).save(tmp_path / "second.safetensors")
    assert second.read_bytes() == saved.read_bytes()


def test_loading_leaves_the_global_generator_alone(saved: Path, seed: int):
    state = torch.get_rng_state()
    load(saved, SPRING)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_name_must_tell_the_kind(greybox: Make, swings: Swings, tmp_path: Path):
    with pytest.raises(GreymatchError, match=r"`path` must end in \.safetensors; got .*model\.pt"):
        greybox(SPRING, swings[0]).save(tmp_path / "model.pt")


def test_physics_that_is_not_built_in_must_be_given(saved: Path):
    with pytest.raises(
        GreymatchError, match=r"trained with physics 'spring', which is not built in.*physics=.*pendulum"
    ):
        load(saved)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            Physics(SPRING.function, ["angle"], {"k": Uniform(1.0, 9.0)}, order=2),
            r"params is .*Uniform.*the file has .*Normal",
        ),
        (Physics(SPRING.function, ["angle"], {"k": Normal(4.0, 1.0)}), "order is 1, the file has 2"),
        (Physics(SPRING.function, ["theta"], {"k": Normal(4.0, 1.0)}, order=2), r"states is \['theta'\]"),
        (pendulum.physics, "params is .*omega"),
    ],
)
def test_other_physics_is_refused(saved: Path, other: Physics, message: str):
    with pytest.raises(GreymatchError, match=f"`physics` must be the one .* was trained with: {message}"):
        load(saved, other)


def test_the_name_of_the_physics_may_differ(saved: Path):
    renamed = Physics(SPRING.function, ["angle"], {"k": Normal(4.0, 1.0)}, order=2, name="my spring")
    assert load(saved, renamed).physics.name == "my spring"


def test_a_built_in_whose_definition_changed_is_refused(
    small_model: GreyBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from greymatch.systems import SYSTEMS

    path = small_model.save(tmp_path / "swing.safetensors")
    wider = Physics(pendulum.physics.function, ["angle"], {"omega": Uniform(0.1, 9.0)}, order=2, name="pendulum")
    monkeypatch.setitem(SYSTEMS, "pendulum", replace(pendulum, physics=wider))
    with pytest.raises(GreymatchError, match=r"params is .*9.0.*the file has .*3.14"):
        load(path)


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object]) -> Path:
    """The file as somebody with our own writer might have made it."""
    tensors, header = read_tensors(path)
    change(header, tensors)
    write_tensors(path, tensors, header)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda h, t: h.update(format=FORMAT + 1),
            f"has format {FORMAT + 1}; this version .* reads up to {FORMAT}. Upgrade",
        ),
        (lambda h, t: h.update(format="new"), "has format 'new'"),
        (lambda h, t: h.update(kind="run"), "holds a 'run', not a model"),
        (lambda h, t: h.pop("settings"), r"lacks \['settings'\] in its header"),
        (lambda h, t: h.update(shapes=[1, 2]), r"lacks \['shapes'\]"),
        (lambda h, t: h["settings"]["encoder"].update(width=9), "does not hold the model its header describes"),
        (lambda h, t: h["settings"].update(window=7), "its window is 7 points, its encoder reads 6"),
        (lambda h, t: h["settings"].update(window=1), "setting 'window'"),
        (lambda h, t: h["settings"].update(windows=7), "unknown setting 'windows'"),
        (lambda h, t: h["settings"].update(method="magic"), "`method` must be one of"),
        (lambda h, t: h["shapes"].update(channels=-5), "does not hold the model its header describes"),
        (lambda h, t: h["shapes"].update(summary="x"), "does not hold the model its header describes"),
        (lambda h, t: h["shapes"].pop("grid"), "does not hold the model its header describes"),
        (lambda h, t: h["shapes"].update(more=1), "does not hold the model its header describes"),
        (lambda h, t: t.pop("weights.encoder.z_head.bias"), "(?s)does not hold .*Missing.*z_head.bias"),
        (lambda h, t: t.pop("weights.kicked"), "(?s)does not hold .*Missing.*kicked"),
        (lambda h, t: t.update({"weights.extra": torch.ones(1)}), "(?s)does not hold .*Unexpected.*extra"),
        (lambda h, t: t.pop("scales.spread"), "does not hold .*spread"),
        (lambda h, t: t.update({"scales.spread": torch.ones(2)}), r"scale 'spread' has shape \(2,\)"),
    ],
)
def test_files_that_do_not_hold_together_are_refused(
    saved: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object], message: str
):
    with pytest.raises(GreymatchError, match=message):
        load(rewritten(saved, change), SPRING)


def test_members_of_a_model_of_format_2_are_kicked_by_its_noise_and_windows_are_not_asked(saved: Path):
    def older(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        header.update(format=2)
        header["settings"]["encoder"].pop("refine")
        del tensors["weights.kicked"], tensors["weights.refined"]
        del tensors["weights.dynamics.field.products.coefficients.weight"]
        del tensors["weights.dynamics.field.products.finer"]

    network = load(rewritten(saved, older), SPRING).network
    assert (float(network.kicked), float(network.refined)) == (1.0, 0.0)


def test_coefficients_of_format_8_are_in_single_precision(saved: Path):
    def older(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        header.update(format=8)
        del tensors["weights.dynamics.field.products.finer"]

    products = polynomial_of(load(rewritten(saved, older), SPRING).network.dynamics)
    assert not bool(products.finer.any())
    torch.testing.assert_close(products.told, products.coefficients.weight)


def test_products_of_an_older_format_are_refused(saved: Path):
    def older(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        header.update(format=6)
        header["settings"]["residual"]["products"] = True

    with pytest.raises(
        GreymatchError, match=r"written in format 6, whose products are not those of later ones\. Fit it"
    ):
        load(rewritten(saved, older), SPRING)


def test_a_flipped_bit_is_noticed(saved: Path):
    whole = bytearray(saved.read_bytes())
    whole[-100] ^= 4
    saved.write_bytes(whole)
    with pytest.raises(GreymatchError, match="was changed after it was written"):
        load(saved, SPRING)


def test_cut_and_foreign_files_are_refused(saved: Path, tmp_path: Path):
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(saved.read_bytes()[:-10])
    pickled = tmp_path / "pickled.safetensors"
    torch.save({"weights": torch.ones(3)}, pickled)
    for path in (cut, pickled, tmp_path / "missing.safetensors", tmp_path):
        with pytest.raises(GreymatchError):
            load(path, SPRING)


@pytest.mark.usefixtures("roughly")
def test_a_checkpoint_is_not_a_model(swings: Swings, tmp_path: Path):
    from greymatch.settings import Settings
    from greymatch.training.fit import fit

    settings = Settings(window=8).updated(
        {"encoder.width": 8, "residual.width": 8, "residual.products": 0, "training.batch": 8}
    )
    fit(pendulum.physics, swings[0], steps=2, settings=settings, folder=tmp_path, quiet=True)
    with pytest.raises(GreymatchError, match="holds a 'run', not a model"):
        load(tmp_path / "last.safetensors")
    assert load(tmp_path / "model.safetensors").record["steps"] == 2


def test_a_failed_save_leaves_the_old_model(
    saved: Path, swings: Swings, greybox: Make, monkeypatch: pytest.MonkeyPatch
):
    import os

    kept = shutil.copy(saved, saved.with_name("kept.safetensors"))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GreymatchError, match="No space left"):
        greybox(SPRING, swings[0]).save(saved)
    assert saved.read_bytes() == Path(kept).read_bytes()


def test_the_header_is_plain_json_for_other_tools(saved: Path):
    _, header = read_tensors(saved)
    assert header["physics"] == json.loads(json.dumps(SPRING.describe()))
    assert header["record"] == {"made": "by hand"}
