"""Where metrics go: one small protocol, JSONL by default, TensorBoard and Weights & Biases as extras."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Protocol


class Tracker(Protocol):
    """Receives numbers as training goes."""

    def log(self, step: int, metrics: dict[str, float]) -> None: ...

    def close(self) -> None: ...


class JsonlTracker:
    """One JSON object a line: {"step": 100, "total": ...}, null for what is not finite.

    Lines past `resume_from` are cut off first.
    """

    def __init__(self, path: Path, resume_from: int | None = None) -> None:
        kept = "" if resume_from is None or not path.exists() else _lines_until(path, resume_from)
        path.write_text(kept)
        self._file = path.open("a")

    def log(self, step: int, metrics: dict[str, float]) -> None:
        finite = {name: value if math.isfinite(value) else None for name, value in metrics.items()}
        self._file.write(json.dumps({"step": step, **finite}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class TensorBoardTracker:
    """Scalars for TensorBoard; needs the extra `greymatch[tensorboard]`."""

    def __init__(self, folder: Path | str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder))

    def log(self, step: int, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WandbTracker:
    """A Weights & Biases run; needs the extra `greymatch[wandb]`. Arguments go to `wandb.init`."""

    def __init__(self, **arguments: Any) -> None:
        import wandb  # pyright: ignore[reportMissingImports]

        self._run = wandb.init(**arguments)

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self._run.log(metrics, step=step)

    def close(self) -> None:
        self._run.finish()


def _lines_until(path: Path, step: int) -> str:
    """The complete lines up to `step`; a line cut short by a crash is dropped."""
    kept = []
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            break
        if record["step"] > step:
            break
        kept.append(line + "\n")
    return "".join(kept)
