"""The whole state of a run, to and from one file, so that a resumed run is the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError
from greymatch.files import read_tensors, write_tensors
from greymatch.training.noise import RunningMean

KIND = "run"
KEPT = ("settled", "course", "drawn")  # tensors that a state may lack


@dataclass
class RunState:
    """What a step reads and writes besides what is learned. `settled` are the latents of the trajectories since the
    last `turn` of settling, `course` where noisy ones then went. `began` tells what was chosen before the first step,
    so that a resumed run need not choose again. `drawn` is the state of the generator that drew the next settled
    batches, `taken` how many of those are used (see `Pool`). `lawful`: the best weights are those of a law that was
    held."""

    noise: RunningMean
    gradient: RunningMean
    settled: Tensor | None = None
    course: Tensor | None = None
    drawn: Tensor | None = None
    taken: int = 0
    turn: int = 0
    shelf: int = 0
    restocking: float = 0.0
    step: int = 0
    elapsed: float = 0.0
    validations: int = 0
    validating: float = 0.0
    validation: float | None = None
    best: float = float("inf")
    best_step: int = 0
    lawful: bool = False
    waited: int = 0
    finished: bool = False
    began: dict[str, Any] = field(default_factory=dict)

    def numbers(self) -> dict[str, Any]:
        names = (
            "taken",
            "turn",
            "shelf",
            "restocking",
            "step",
            "elapsed",
            "validations",
            "validating",
            "validation",
            "best",
            "best_step",
            "lawful",
            "waited",
            "finished",
            "began",
        )
        return {name: getattr(self, name) for name in names}


class Learned(NamedTuple):
    """What is learned: the weights, what their optimiser remembers, and the averaged weights, which are kept and
    judged."""

    weights: nn.Module
    optimizer: torch.optim.Optimizer
    averaged: dict[str, Tensor]


def save_state(path: Path, state: RunState, learned: Learned, generator: torch.Generator) -> None:
    tensors = {f"weights.{name}": value for name, value in learned.weights.state_dict().items()}
    tensors |= {f"averaged.{name}": value for name, value in learned.averaged.items()}
    for index, slots in learned.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{slot}": torch.as_tensor(value) for slot, value in slots.items()}
    for name, mean in (("noise", state.noise), ("gradient", state.gradient)):
        tensors |= {f"{name}.value": mean.value, f"{name}.count": torch.tensor(mean.count)}
    tensors["generator"] = generator.get_state()
    tensors |= {name: value for name in KEPT if (value := getattr(state, name)) is not None}
    write_tensors(path, tensors, {"kind": KIND, **state.numbers()})


def load_state(path: Path, state: RunState, learned: Learned, generator: torch.Generator) -> dict[str, Tensor]:
    """Put everything back as it was; `state`, weights and optimiser are changed in place, the averaged weights
    returned."""
    tensors, header = read_tensors(path)
    if header.pop("kind", None) != KIND:
        raise GreymatchError(f"{str(path)!r} is not the state of a run; give the folder of the run.")
    like = next(learned.weights.parameters())

    def part(prefix: str) -> dict[str, Tensor]:
        chosen = {name: value for name, value in tensors.items() if name.startswith(prefix)}
        return {name[len(prefix) :]: value.to(like.device) for name, value in chosen.items()}

    try:
        learned.weights.load_state_dict(part("weights."))
    except RuntimeError as error:
        raise GreymatchError(
            f"{str(path)!r} holds other weights than this version of greymatch learns: {error}. Go on with the version "
            "that wrote it, or begin anew in another folder."
        ) from None
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, slot = name.split(".", 2)
            slots.setdefault(int(index), {})[slot] = value
    optimizer = learned.optimizer
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    _lay_out(optimizer)
    for name in ("noise", "gradient"):
        old: RunningMean = getattr(state, name)
        found = part(f"{name}.")
        setattr(state, name, RunningMean(found["value"], float(found["count"]), old.decay))
    generator.set_state(tensors["generator"].cpu())
    for name in KEPT:
        setattr(state, name, tensors[name].to("cpu" if name == "drawn" else like.device) if name in tensors else None)
    for name, value in header.items():
        setattr(state, name, value)
    return part("averaged.")


def _lay_out(optimizer: torch.optim.Optimizer) -> None:
    """Let what was loaded lie in memory as its weights do (channels last): fused steps go by memory, not by index."""
    for parameter, slots in optimizer.state.items():
        for name, value in slots.items():
            if value.shape == parameter.shape:
                slots[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
