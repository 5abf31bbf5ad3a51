"""The folder of a run: who may write there, and what it must match to be resumed."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.files import write_json
from greymatch.settings_tree import Tree
from greymatch.training.loop import LAST

PLAN, METRICS, MODEL = "run.json", "metrics.jsonl", "model.safetensors"
LOCK = ".lock"
MACHINES = ("devices", "nodes", "strategy", "parts")


def run_folder(folder: str | Path | None) -> Path:
    """The folder asked for, or a new temporary one; it exists and can be written."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="greymatch-"))
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise GreymatchError(f"`folder` {str(path)!r} cannot be written: {error.strerror}. Choose another.") from None
    return path


class Lock:
    """Keeps a second run out of the folder; freed by the system even when the process is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = None

    def __enter__(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such lock on this system
            return
        self._file = (self._folder / LOCK).open("w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise GreymatchError(
                f"`folder` {str(self._folder)!r} is in use by another run. Wait for it, or choose another folder."
            ) from None

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def check_plan(folder: Path, plan: dict[str, Any], resume: bool) -> None:
    """A new run needs a folder without a run in it; a resumed one the same settings, physics and data."""
    path = folder / PLAN
    if not resume:
        if (folder / LAST).exists():
            raise GreymatchError(
                f"`folder` {str(folder)!r} holds a run already. Resume it (resume=True, or --resume), "
                "or choose another."
            )
        write_json(path, plan)
        return
    if not path.exists() or not (folder / LAST).exists():
        raise GreymatchError(f"`folder` {str(folder)!r} holds no run to resume: no {PLAN} and {LAST} there.")
    changed = [key for key, value in plan.items() if _stored(path).get(key) != value]
    if changed:
        raise GreymatchError(
            f"a resumed run must be the same run; {', '.join(changed)} differ from those in {str(path)!r}. "
            "Give the same physics, data and settings, or start in a new folder."
        )


def _stored(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise GreymatchError(f"{str(path)!r} is not whole ({error}). Start in a new folder.") from None


def of_the_run(settings: Tree) -> dict[str, Any]:
    """All settings but how the work is shared out: in other processes or parts the same run goes on."""
    tree = settings.model_dump(mode="json")
    return tree | {"training": {key: value for key, value in tree["training"].items() if key not in MACHINES}}


def fingerprint(data: Trajectories) -> str:
    """A digest of the observations and inputs, to tell whether data are the same."""
    driving = (data.inputs.times, data.inputs.values, data.inputs.seen) if data.inputs else ()
    return digest(dict(enumerate((data.times, data.values, data.mask, *driving))))


def digest(tensors: Mapping[Any, Tensor]) -> str:
    """A short name for the content of tensors, in their order."""
    found = hashlib.sha256()
    for tensor in tensors.values():
        found.update(tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()[:16]
