"""Two processes (gloo) against one. A pair is started as `greymatch fit --devices 2` starts it; all runs but its last
are those of children, which are as the pair is once it has loaded what takes long."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import ExitStack
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
import json, os, signal, sys, time
from pathlib import Path
import lightning_fabric
import numpy as np, torch
from greymatch.children import end_with_parent
from greymatch.data.trajectories import Trajectories
from greymatch.files import read_tensors, write_json
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.settings import Settings
from greymatch.training import loop
from greymatch.training.fit import fit

end_with_parent()
torch.set_num_threads(1)
stop = ""

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
rank = os.environ.get("RANK")

def run(folder, how, strategy, parts):
    global stop
    stop, resume = how, os.path.exists(f"{folder}/last.safetensors")
    settings = Settings(window=8).updated(small | {"training.strategy": strategy, "training.parts": parts})
    try:
        fit(decay, decays(9, 0), decays(4, 1), settings=settings, folder=folder, resume=resume, quiet=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=open(f"{folder}/said-{rank}", "w"))
        raise

*before, last = json.loads(sys.argv[1])
for number, (port, *asked) in enumerate(before):
    child = os.fork()
    if child == 0:
        os.environ["MASTER_PORT"] = str(port)  # of its own: others may still part
        run(*asked)
        sys.exit()
    code, kept = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), Path(asked[0])
    write_json(kept / f"ended-{number}-{rank}", [code, read_tensors(kept / "last.safetensors")[1]["step"]])
    while not (kept / f"ended-{number}-{1 - int(rank)}").exists():
        time.sleep(0.05)
run(*last[1:])
"""


def one(folder: Path) -> None:
    """In this very process, which has loaded all that takes long; what the program changes is put back."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "argv", ["-c", asked((folder, "", "ddp", 1))])
        changed.setattr(Loop, "step", Loop.step)
        exec(PROGRAM, {})


def two(*runs: tuple[Path, str, str, int]) -> Ended:
    """Folder, what stops it, strategy and parts of each run; the last one is the pair's own."""
    folder = runs[-1][0]
    for one_of_them, *_ in runs:
        one_of_them.mkdir(exist_ok=True)
    return launch(["-c", PROGRAM, asked(*runs)], 2, folder)


def asked(*runs: tuple[Path, str, str, int]) -> str:
    with ExitStack() as held:
        ports = [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in runs]
    return json.dumps([(port, str(folder), *how) for port, (folder, *how) in zip(ports, runs, strict=True)])


def children(folder: Path, number: int) -> list[list[int]]:
    """Code with which the child of either ended, and the step that is kept then."""
    return [json.loads((folder / f"ended-{number}-{rank}").read_text()) for rank in range(2)]


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
def test_two_learn_as_one_stop_together_and_go_on_and_if_one_dies_the_job_ends_and_one_goes_on(
    alone: Path, tmp_path: Path
) -> None:
    stopped, apart, killed = tmp_path / "stopped", tmp_path / "parts", tmp_path / "killed"
    ended = two(
        (stopped, "ctrl-c", "ddp", 1),
        (stopped, "", "fsdp", 1),
        (apart, "ctrl-c", "ddp", 2),
        (apart, "", "fsdp", 4),
        (killed, "killed", "fsdp", 1),
    )
    assert children(stopped, 0) == children(apart, 2) == [[130, 6]] * 2
    assert (
        children(stopped, 1) == children(apart, 3) == [[0, 8]] * 2
    )  # what each held whole, they went on with in parts
    check_same_run(alone, stopped)
    check_same_run(alone, apart)
    assert ended.codes[1] == -signal.SIGKILL
    assert "process 2 of 2 was killed (SIGKILL)" in Ended(ended.codes, 1, None).text()
    assert "one of the 2 processes is gone" in (killed / "said-0").read_text()
    assert read_tensors(killed / "last.safetensors")[1]["step"] == 5
    one(killed)
    check_same_run(alone, killed)


def test_processes_that_end_well_leave_no_logs(tmp_path: Path) -> None:
    ended = launch(["-S", "-c", "print('well')"], 2, tmp_path)
    assert (ended.codes, ended.fallen, ended.log) == ([0, 0], None, None)
    assert not list(tmp_path.iterdir())


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
