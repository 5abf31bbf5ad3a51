from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench.jobs import result_file
from greymatch.bench.plan import Run
from greymatch.bench.stored import stored
from greymatch.errors import GreymatchError

RUNS = [Run("pendulum", "gb-dm", 0)]


def test_a_result_of_other_settings_is_refused(tmp_path: Path) -> None:
    other = Run("pendulum", "gb-dm", 0, {"residual.width": 8}, draws=7)
    result_file(other, tmp_path).write_text(json.dumps(other.asked()))
    assert stored(other, tmp_path) is not None
    with pytest.raises(GreymatchError, match="draws, settings differ"):
        stored(RUNS[0], tmp_path)


def test_a_result_of_another_version_is_refused(tmp_path: Path) -> None:
    old = {key: value for key, value in RUNS[0].asked().items() if key != "format"}
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    with pytest.raises(GreymatchError, match="written by another version"):
        stored(RUNS[0], tmp_path)


@pytest.mark.parametrize(("method", "counts"), [("vgb-dm", False), ("tfm", True)])
def test_a_result_from_before_settling_is_of_another_method_if_that_settles(
    method: str, counts: bool, tmp_path: Path
) -> None:
    run = Run("pendulum", method, 0)
    found = json.loads(json.dumps(run.asked()))
    del found["settings"]["training"]["settle"]
    result_file(run, tmp_path).write_text(json.dumps(found))
    if counts:
        assert stored(run, tmp_path) is not None
    else:
        with pytest.raises(GreymatchError, match="settings differ"):
            stored(run, tmp_path)


def test_a_setting_that_came_later_had_its_default(tmp_path: Path) -> None:
    old = RUNS[0].asked()
    del old["settings"]["encoder"]["stencil"]
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    assert stored(RUNS[0], tmp_path) is not None
    old["settings"]["encoder"]["stencil"] = 3
    result_file(RUNS[0], tmp_path).write_text(json.dumps(old))
    with pytest.raises(GreymatchError, match="settings differ"):
        stored(RUNS[0], tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    result_file(RUNS[0], tmp_path).write_text(content)
    with pytest.raises(GreymatchError, match="is not the result of a run"):
        stored(RUNS[0], tmp_path)
