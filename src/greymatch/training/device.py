"""Which devices and processes a run uses."""

from __future__ import annotations

import atexit
import logging
import os
from dataclasses import dataclass
from typing import Any

import torch

from greymatch.errors import GreymatchError
from greymatch.halves import warn_of_broken
from greymatch.settings import TrainingSettings
from greymatch.training.bare import FULL, Bare
from greymatch.training.ranks import ALONE, Ranks


@dataclass(frozen=True)
class Launched:
    """How many processes a launcher has started, and which of them this one is."""

    devices: int
    nodes: int
    rank: int

    @property
    def count(self) -> int:
        return self.devices * self.nodes

    @staticmethod
    def here() -> Launched:
        """As torchrun or Slurm has it; one process if nobody has launched this one."""
        known = os.environ
        if "TORCHELASTIC_RUN_ID" in known:
            count, local = int(known["WORLD_SIZE"]), int(known["LOCAL_WORLD_SIZE"])
            return Launched(local, count // local, int(known["RANK"]))
        if known.get("SLURM_JOB_NAME") not in ("bash", "interactive") and "SLURM_PROCID" in known:
            count, nodes = int(known.get("SLURM_NTASKS", 1)), int(known.get("SLURM_NNODES", 1))
            return Launched(max(1, count // nodes), nodes, int(known["SLURM_PROCID"]))
        return Launched(1, 1, 0)


def fabric_device(name: str) -> dict[str, Any]:
    """What Fabric calls the device: cuda when there is one and nothing else is asked for, else the CPU."""
    kind, _, number = name.partition(":")
    if kind not in ("auto", "cpu", "cuda") or not (number or "0").isdigit():
        raise GreymatchError(f"`training.device` must be auto, cpu, cuda or cuda:N; got {name!r}.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise GreymatchError(
            f"`training.device` = {name!r} is not there: {torch.cuda.device_count()} CUDA devices found. Use auto."
        )
    on_gpu = kind == "cuda" or (kind == "auto" and torch.cuda.is_available())
    return {"accelerator": "gpu", "devices": [int(number or 0)]} if on_gpu else {"accelerator": "cpu", "devices": 1}


def fabric(training: TrainingSettings) -> Any:
    """What runs on it, in the precision asked for, without a word of its own."""
    where, here = fabric_device(training.device), Launched.here()
    check_launched(training, here)
    if here.count == 1 and training.precision == FULL:
        return Bare(torch.device("cuda", where["devices"][0]) if where["accelerator"] == "gpu" else torch.device("cpu"))
    if here.rank == 0:
        warn_of_broken(training.precision, where["accelerator"])
    from lightning_fabric import Fabric

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells of the precision that was asked for
    if here.count > 1:
        where |= {"devices": here.devices, "num_nodes": here.nodes, "strategy": _together()}
        os.environ.setdefault("SLURM_NTASKS_PER_NODE", str(here.devices))  # without it, Fabric refuses `srun --ntasks`
    machine = Fabric(**where, precision=training.precision)
    if here.count > 1:
        logging.getLogger("lightning_fabric.utilities.distributed").setLevel(logging.WARNING)
        machine.launch()
        atexit.register(_part)
    return machine


def ranks(machine: Any) -> Ranks:
    """The processes that train together on it."""
    return ALONE if machine.world_size == 1 else Ranks(machine, machine.global_rank, machine.world_size)


def check_launched(training: TrainingSettings, here: Launched) -> None:
    """What was asked for must be what was launched; who asks for nothing takes what there is."""
    wanted = training.devices * training.nodes
    if wanted in (1, here.count):
        return
    if here.count == 1:
        each = f" --nnodes {training.nodes}" if training.nodes > 1 else ""
        raise GreymatchError(
            f"`training.devices` x `training.nodes` = {wanted} processes, but this is the only one. Launch them: "
            f"torchrun{each} --nproc-per-node {training.devices} SCRIPT.py, srun, or on one machine `greymatch fit "
            f"--devices {training.devices}`."
        )
    raise GreymatchError(
        f"`training.devices` x `training.nodes` = {wanted} processes, but {here.count} were launched. Make them agree, "
        "or leave the settings out."
    )


def _part() -> None:
    """Threads that still wait for other processes when Python ends would abort this one, though its work is done."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _together() -> Any:
    from lightning_fabric.strategies.ddp import DDPStrategy

    return DDPStrategy(find_unused_parameters=True)  # the encoder rests while trajectories settle
