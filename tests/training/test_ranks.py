"""Two processes (gloo) against one; each pair of processes is started as `greymatch fit --devices 2` starts it."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.files import read_tensors
from greymatch.training.launch import Ended, launch
from greymatch.training.loop import Loop
from greymatch.training.ranks import ALONE, Ranks

VALIDATED = [2, 4, 6, 8]  # steps
PROGRAM = """
import os, signal, sys
import numpy as np, torch
from greymatch.children import end_with_parent
from greymatch.data.trajectories import Trajectories
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.training import loop
from greymatch.training.fit import fit

end_with_parent()
torch.set_num_threads(1)
folder, stop, strategy, parts = sys.argv[1:]

def decays(rows, seed):
    rng = np.random.default_rng(seed)
    k, start = (torch.as_tensor(rng.uniform(*ends, (rows, 1))) for ends in ((0.2, 2.0), (-2.0, 2.0)))
    times = torch.linspace(0, 4, 41, dtype=torch.float64).repeat(rows, 1)
    mask = torch.ones(rows, 41, 1, dtype=torch.bool)
    mask[::3, 20:24] = False  # the halves of a batch then hold different numbers of observations
    x = 0.5 / k + (start - 0.5 / k) * torch.exp(-k * times)
    return Trajectories(("x",), times, x[..., None], mask, np.arange(rows))

def falls(self, step=loop.Loop.step):
    if self.state.step == 5 and self.ranks.first and stop == "ctrl-c":
        signal.raise_signal(signal.SIGINT)
    if self.state.step == 5 and not self.ranks.first and stop == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self)

loop.Loop.step = falls
decay = Physics(lambda t, x, p: {"x": -p.k * x.x}, ["x"], {"k": Uniform(0.2, 2.0)}, name="decay")
small = {"encoder.width": 8, "encoder.latents": 1, "residual.width": 8, "training.batch": 16}
small |= {"training.validations": 4, "training.steps": 8, "residual.products": 0, "training.checkpoint_seconds": 0.0}
small |= {"training.strategy": strategy, "training.parts": int(parts)}
resume = os.path.exists(f"{folder}/last.safetensors")
try:
    fit(decay, decays(9, 0), decays(4, 1), settings=Settings(window=8).updated(small), folder=folder, resume=resume,
        quiet=True)
except KeyboardInterrupt:
    sys.exit(130)
except Exception as error:
    print(f"{type(error).__name__}: {error}", file=open(f"{folder}/said-{os.environ.get('RANK')}", "w"))
    raise
"""


def one(folder: Path) -> None:
    """In this very process, which has loaded all that takes long; what the program changes is put back."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "argv", ["-c", str(folder), "", "ddp", "1"])
        changed.setattr(Loop, "step", Loop.step)
        exec(PROGRAM, {})


def two(folder: Path, stop: str = "", strategy: str = "ddp", parts: int = 1) -> Ended:
    folder.mkdir(exist_ok=True)
    return launch(["-c", PROGRAM, str(folder), stop, strategy, str(parts)], 2, folder)


def curve(folder: Path) -> dict[str, list[Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "forecast_mse" in line]
    return {name: [line[name] for line in lines] for name in ("step", "total", "noise_0", "forecast_mse")}


def close(folder: Path, other: Path) -> bool:
    first, second = (read_tensors(path / "last.safetensors")[0] for path in (folder, other))
    names = [name for name in first if name.startswith(("weights.", "averaged."))]
    return bool(names) and all(torch.allclose(first[name], second[name], atol=1e-4) for name in names)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    one(folder)
    return folder


def check_same_run(folder: Path, other: Path) -> None:
    mine, its = curve(folder), curve(other)
    assert mine["step"] == its["step"] == VALIDATED  # one process wrote, once
    for name in ("total", "noise_0", "forecast_mse"):
        assert its[name] == pytest.approx(mine[name], rel=2e-4, abs=1e-7)  # what a solver is exact to
    assert close(folder, other)


@pytest.mark.slow
def test_two_with_parts_of_the_weights_learn_as_one_and_if_one_dies_the_job_ends_and_one_goes_on(
    alone: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    ended = two(folder, "killed", "fsdp")
    assert ended.codes[1] == -signal.SIGKILL
    assert "process 2 of 2 was killed (SIGKILL)" in Ended(ended.codes, 1, None).text()
    assert "one of the 2 processes is gone" in (folder / "said-0").read_text()
    assert read_tensors(folder / "last.safetensors")[1]["step"] == 5
    one(folder)
    check_same_run(alone, folder)


@pytest.mark.slow
def test_two_with_all_weights_learn_as_one_and_ctrl_c_of_either_stops_both_at_the_same_step(
    alone: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    assert two(folder, "ctrl-c", "ddp").codes == [130, 130]
    assert read_tensors(folder / "last.safetensors")[1]["step"] == 6
    ended = two(folder, strategy="fsdp")  # what each held whole, they go on with in parts
    assert (ended.codes, ended.fallen) == ([0, 0], None)
    check_same_run(alone, folder)
    assert not list(folder.glob("process-*.log"))


@pytest.mark.slow
def test_two_that_go_through_parts_learn_as_one_with_either_strategy(alone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    assert two(folder, "ctrl-c", "ddp", parts=2).codes == [130, 130]
    assert two(folder, strategy="fsdp", parts=4).codes == [0, 0]
    check_same_run(alone, folder)


def test_a_batch_must_divide_among_the_processes() -> None:
    assert Ranks(None, 1, 4).part(32) == 8
    with pytest.raises(GreymatchError, match="multiple of the 3 processes"):
        Ranks(None, 0, 3).part(32)


def test_what_each_has_must_divide_into_parts() -> None:
    assert Ranks(None, 1, 4).part(32, parts=2) == 8
    with pytest.raises(GreymatchError, match=r"4 processes .*, times the 3 `training.parts` of each; got 30. Set 24"):
        Ranks(None, 0, 4).part(30, parts=3)


def test_one_process_alone_asks_nobody() -> None:
    class Terms(NamedTuple):
        total: torch.Tensor

    terms = Terms(torch.ones(()))
    assert ALONE.mean(terms) is terms
    assert ALONE.told(os.getpid) == os.getpid()
    assert (ALONE.any(True), ALONE.any(False), ALONE.agreed(2.5)) == (True, False, 2.5)
