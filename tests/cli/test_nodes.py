"""Two nodes of one process each, as torchrun and as Slurm start them; both are this machine, over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
PROGRAM = """
import importlib, json, os, sys
for name in ("torch.distributed", "lightning_fabric", "greymatch.training.fit", "greymatch.data.tables", "dask.array"):
    importlib.import_module(name)  # all that takes long: the nodes are as this process is, with one thread yet
from greymatch.cli import main

def start(node):
    child = os.fork()
    if child == 0:
        os.environ.update(node["told"])
        os.dup2(os.open(node["name"], os.O_CREAT | os.O_WRONLY), 1)
        sys.argv = ["greymatch", *node["words"]]
        main()
    return child

nodes = json.loads(sys.argv[1])
codes = []
for pair in (nodes[:2], nodes[2:]):
    started = [start(node) for node in pair]
    codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in started]
print(json.dumps(codes))
"""
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
def test_two_nodes_fit_one_model_however_they_are_started(folder: Path) -> None:
    told = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "MASTER_"))}
    small = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    words = ["fit", *DATA, *small, "--steps", "3", "--nodes", "2", "--devices", "1"]
    nodes = [
        {"name": f"{launcher.__name__}-{rank}", "told": launcher(rank), "words": [*words, "--out", launcher.__name__]}
        for launcher in (by_torchrun, by_slurm)
        for rank in range(2)
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(nodes)],
        cwd=folder,
        env=told | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    said = {node["name"]: (folder / node["name"]).read_text() for node in nodes}
    assert json.loads(done.stdout) == [0, 0, 0, 0], (said, done.stderr)
    for launcher in (by_torchrun.__name__, by_slurm.__name__):
        assert "model.safetensors" in said[f"{launcher}-0"]
        assert said[f"{launcher}-1"] == "", "one of them speaks"
        lines = [json.loads(line) for line in (folder / launcher / "metrics.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines if "forecast_mse" in line] == [3], "one of them writes"
