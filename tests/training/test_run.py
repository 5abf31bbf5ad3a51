from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.training.loop import LAST
from greymatch.training.run import PLAN, Lock, check_plan, fingerprint, run_folder

PLANNED = {"settings": {"window": 8, "rate": 0.1 + 0.2, "steps": None}, "physics": {"states": ["x"]}, "data": "abc"}


def test_without_a_name_every_run_has_a_folder_of_its_own():
    one, two = run_folder(None), run_folder(None)
    assert one != two
    assert one.is_dir()
    one.rmdir()
    two.rmdir()


def test_a_folder_is_made_with_its_parents(tmp_path: Path):
    assert run_folder(tmp_path / "a" / "b").is_dir()
    assert run_folder(tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(GreymatchError, match=r"`folder` .* cannot be written.*Choose another"):
            run_folder(folder)


def test_a_folder_is_for_one_run_at_a_time(tmp_path: Path):
    with Lock(tmp_path), pytest.raises(GreymatchError, match="is in use by another run"), Lock(tmp_path):
        pass
    with Lock(tmp_path):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    # the lock alone, without the second that importing everything takes
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(GreymatchError, match="in use"), Lock(tmp_path):
            pass
        holder.kill()
    with Lock(tmp_path):
        pass


def test_a_new_run_writes_its_plan_and_a_resumed_one_must_keep_to_it(tmp_path: Path):
    check_plan(tmp_path, PLANNED, resume=False)
    (tmp_path / LAST).write_bytes(b"")
    check_plan(tmp_path, PLANNED, resume=True)
    for key, value in [("settings", {"window": 9}), ("data", "abd"), ("physics", {})]:
        with pytest.raises(GreymatchError, match=f"must be the same run; {key} differ from"):
            check_plan(tmp_path, {**PLANNED, key: value}, resume=True)


def test_a_run_is_not_overwritten_by_another(tmp_path: Path):
    check_plan(tmp_path, PLANNED, resume=False)
    check_plan(tmp_path, PLANNED, resume=False)  # it ended before its first checkpoint, so nothing is lost
    (tmp_path / LAST).write_bytes(b"")
    with pytest.raises(GreymatchError, match=r"holds a run already\. Resume it"):
        check_plan(tmp_path, PLANNED, resume=False)


def test_nothing_to_resume_is_said_so(tmp_path: Path):
    with pytest.raises(GreymatchError, match="holds no run to resume"):
        check_plan(tmp_path, PLANNED, resume=True)
    check_plan(tmp_path, PLANNED, resume=False)
    with pytest.raises(GreymatchError, match="holds no run to resume"):
        check_plan(tmp_path, PLANNED, resume=True)


@pytest.mark.parametrize("content", ["{", "[1, 2]", ""])
def test_a_broken_plan_is_an_error_of_ours(tmp_path: Path, content: str):
    (tmp_path / PLAN).write_text(content)
    (tmp_path / LAST).write_bytes(b"")
    with pytest.raises(GreymatchError, match=r"run\.json' is not whole"):
        check_plan(tmp_path, PLANNED, resume=True)


def test_a_fingerprint_changes_with_every_observation_and_input(decays: Callable[..., Trajectories]):
    data = decays(3)
    data = replace(data, inputs=Signals(("u",), data.times, data.values))
    assert data.inputs is not None

    def nudged(tensor: torch.Tensor) -> torch.Tensor:
        changed = tensor.clone()
        changed.view(-1)[5] += 1e-9
        return changed

    mask = data.mask.clone()
    mask[1, 2] = False
    variants = [
        data,
        replace(data, values=nudged(data.values)),
        replace(data, times=nudged(data.times)),
        replace(data, mask=mask),
        replace(data, inputs=replace(data.inputs, values=nudged(data.inputs.values))),
        replace(data, inputs=None),
        data.select([0, 1]),
    ]
    assert len({fingerprint(variant) for variant in variants}) == len(variants)
    assert fingerprint(data) == fingerprint(replace(data, labels=np.array(["a", "b", "c"])))
