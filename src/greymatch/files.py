"""Files that are either whole or not there, and never run code when read."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError

HEADER, DIGEST = "greymatch", "digest"


def write_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """A safetensors file with `header` as JSON inside; atomic: a crash leaves the old file or the new one."""
    from safetensors.torch import save

    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # one entry, since safetensors keeps several in no order: the same content is then the same file
    signed = {**header, DIGEST: _digest(contiguous, header)}
    write_bytes(path, save(contiguous, metadata={HEADER: json.dumps(signed)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header of a file made by `write_tensors`; anything else is refused with a clear error."""
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise GreymatchError(f"`path` must be a greymatch file; {str(path)!r} is a folder. Name the file in it.")
    if not path.is_file():
        raise GreymatchError(f"`path` must be a greymatch file; {str(path)!r} does not exist.")
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        header = json.loads(metadata[HEADER])
    except (SafetensorError, KeyError, ValueError, OSError, RecursionError) as error:
        raise GreymatchError(
            f"{str(path)!r} is not a whole greymatch file ({type(error).__name__}: {error}). "
            "It may be cut short or of another kind; save the model again."
        ) from None
    if not isinstance(header, dict):
        raise GreymatchError(f"{str(path)!r} holds no greymatch header; save the model again.")
    if header.pop(DIGEST, None) != _digest(tensors, header):
        raise GreymatchError(f"{str(path)!r} was changed after it was written: its digest does not fit. Save it again.")
    return tensors, header


def _digest(tensors: dict[str, Tensor], header: dict[str, Any]) -> str:
    """Tells whether a file holds what was written: against faults and carelessness, not against malice."""
    digest = hashlib.sha256(json.dumps(header).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write atomically: a temporary file beside `path`, synced, then renamed over it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise GreymatchError(
            f"cannot write {str(path)!r}: {error.strerror or error}. The old file, if any, stands."
        ) from error


def write_json(path: Path, content: Any) -> None:
    write_bytes(path, (json.dumps(content, indent=2, allow_nan=True) + "\n").encode())
