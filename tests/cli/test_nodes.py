"""Two nodes of one process each, as torchrun and as Slurm start them; both are this machine, over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from greymatch.systems import System

DATA = ("--physics", "swing.py:physics", "--data", "train.csv", "--trajectory", "id", "--time", "t")
PHYSICS = """\
import torch
import greymatch as gm

physics = gm.Physics(
    lambda t, x, p: {"angle": -p.omega**2 * torch.sin(x.angle)}, ["angle"], {"omega": gm.Uniform(0.785, 3.14)}, order=2
)
"""
SMALL = {"window": 10, "encoder.width": 8, "residual.width": 8, "residual.products": 0, "encoder.refine": "false"}
SMALL |= {"training.batch": 8, "training.validations": 1}
PATIENCE_SECONDS = 120
PORT = 15000 + os.getpid() % 9999  # one that the number of a Slurm job leads to


def by_torchrun(rank: int) -> dict[str, str]:
    """`torchrun --nnodes 2 --nproc-per-node 1`."""
    told = {"TORCHELASTIC_RUN_ID": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(PORT)}
    told |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "GROUP_WORLD_SIZE": "2"}
    return told | {"RANK": str(rank), "GROUP_RANK": str(rank), "LOCAL_RANK": "0"}


def by_slurm(rank: int) -> dict[str, str]:
    """`srun --nodes 2 --ntasks 2`: no address is told, and no number of tasks a node. The port follows from the job."""
    told = {"SLURM_JOB_ID": str(PORT - 15000), "SLURM_JOB_NAME": "fit", "SLURM_NODELIST": "localhost,elsewhere"}
    told |= {"SLURM_NTASKS": "2", "SLURM_NNODES": "2"}
    return told | {"SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank), "SLURM_LOCALID": "0"}


@pytest.fixture
def folder(small_pendulum: System, tmp_path: Path) -> Path:
    """A user's physics, and few trajectories of it."""
    (tmp_path / "swing.py").write_text(PHYSICS)
    train = small_pendulum.data("train").to_dataset().to_dataframe().reset_index()
    train.rename(columns={"trajectory": "id", "time": "t"})[["id", "t", "angle"]].to_csv(tmp_path / "train.csv")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [by_torchrun, by_slurm])
def test_two_nodes_fit_one_model(launcher: Callable[[int], dict[str, str]], folder: Path) -> None:
    small = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    words = ["fit", *DATA, *small, "--steps", "3", "--nodes", "2", "--devices", "1", "--out", "both"]
    told = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "MASTER_"))}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "greymatch.cli", *words],
            cwd=folder,
            env=told | {"OMP_NUM_THREADS": "1"} | launcher(rank),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=PATIENCE_SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert "model.safetensors" in said[0][0]
    assert said[1][0] == "", "one of them speaks"
    lines = [json.loads(line) for line in (folder / "both" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "forecast_mse" in line] == [3], "one of them writes"
