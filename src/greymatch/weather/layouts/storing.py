"""Files of an archive that are whole or not there, and the years that are finished."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import xarray as xr

from greymatch.errors import GreymatchError
from greymatch.files import write_json

_TOGETHER = 40  # states in a block


def write_netcdf(path: Path, data: xr.Dataset, encoding: Mapping[str, Any]) -> None:
    """Atomic: written beside its place, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data.to_netcdf(temporary, engine="h5netcdf", encoding=dict(encoding))
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise GreymatchError(f"cannot write {str(path)!r}: {error.strerror or error}.") from error


def compressed(data: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Single precision, lightly compressed, in blocks of whole maps."""
    shared = {"dtype": "float32", "zlib": True, "complevel": 2, "shuffle": True}
    return {
        str(name): shared | {"chunksizes": (min(_TOGETHER, array.shape[0]), *array.shape[1:])}
        for name, array in data.data_vars.items()
    }


def finished(ledger: Path) -> set[int]:
    """Years of which everything is there: a year that was cut short is not among them, and is written again."""
    return {int(year) for year in json.loads(ledger.read_text())} if ledger.is_file() else set()


def finish(ledger: Path, year: int) -> None:
    write_json(ledger, sorted(finished(ledger) | {year}))
