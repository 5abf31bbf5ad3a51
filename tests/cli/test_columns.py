"""Names, renamings and units on the command line are those of `gm.read`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from greymatch.cli.columns import Columns
from greymatch.errors import GreymatchError
from greymatch.physics.physics import Physics

PHYSICS = Physics(lambda t, x, p, u: {"angle": x.speed, "speed": u.torque}, ["angle", "speed"], {}, inputs=["torque"])


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    path = tmp_path / "bench.csv"
    table = pd.DataFrame({"stamp": [0.0, 20.0, 40.0], "theta": [1.0, 2.0, 4.0], "speed": 0.5, "ch7": [0.0, 1.0, 1.0]})
    table.to_csv(path, index=False)
    return path


def test_columns_are_renamed_held_and_have_units(bench: Path):
    asked = Columns(
        time="stamp", states="angle=theta", inputs="torque=ch7", input_kind="hold", units="time=ms, torque=N m"
    )
    data = asked.in_memory(PHYSICS, bench)
    assert data.states == ("angle", "speed")  # what is not renamed has the name that the physics has for it
    assert data.values[0, :, 0].tolist() == [1.0, 2.0, 4.0]
    assert data.inputs is not None
    assert (data.inputs.names, data.inputs.kind) == (("torque",), "hold")
    assert data.units == {"time": "ms", "torque": "N m"}


def test_without_physics_all_numbers_are_states(bench: Path):
    assert Columns(time="stamp").in_memory(None, bench).states == ("theta", "speed", "ch7")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Columns(units="time"), "`--units` must be written NAME=VALUE"),
        (Columns(units="=s"), "`--units` must be written NAME=VALUE"),
        (Columns(states="angle="), "`--states` must be written NAME=VALUE"),
        (Columns(inputs="torque=a,torque=b"), "'torque' stands twice"),
        (Columns(states="angle=tehta", inputs="torque=ch7", time="stamp"), "Did you mean 'theta'"),
    ],
)
def test_wrong_words_are_refused(asked: Columns, words: str, bench: Path):
    with pytest.raises(GreymatchError, match=words):
        asked.in_memory(PHYSICS, bench)


def test_a_model_remembers_the_columns_of_its_fit(tmp_path: Path):
    (tmp_path / "command.json").write_text(json.dumps({"trajectory": "run", "time": "seconds", "data": "bench.csv"}))
    model = tmp_path / "model.safetensors"
    assert Columns(time="t").as_fitted(model, Path("new.csv")) == Columns(trajectory="run", time="t")
    assert Columns(time="t").as_fitted(model, Path("new.nc")) == Columns(time="t")


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_not_a_command_says_nothing(tmp_path: Path, text: str):
    (tmp_path / "command.json").write_text(text)
    assert Columns().as_fitted(tmp_path / "model.safetensors", Path("new.csv")) == Columns()
