"""Which device a run uses."""

from __future__ import annotations

import logging
from typing import Any

import torch

from greymatch.errors import GreymatchError
from greymatch.settings import TrainingSettings


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
    from lightning_fabric import Fabric

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells of the precision that was asked for
    return Fabric(**fabric_device(training.device), precision=training.precision)
