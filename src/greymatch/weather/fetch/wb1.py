"""WeatherBench 1 from its server, or a mirror of it: one archive for each variable, unpacked when it is there."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from greymatch.errors import GreymatchError
from greymatch.weather.fetch.digest import Digest
from greymatch.weather.fetch.download import Item, download
from greymatch.weather.fields import Field
from greymatch.weather.meter import Meter

SERVER = "https://dataserv.ub.tum.de/s/m1524895/download"
DEGREES = "5.625deg"


def fetch(folder: Path, fields: Sequence[Field], base: str | None, digests: Mapping[str, Digest], meter: Meter) -> None:
    """Fields and constants; folders that are complete are left alone."""
    for name in dict.fromkeys(["constants", *(field.folder for field in fields)]):
        done = folder / name / ".complete"
        if done.exists():
            continue
        file = f"{name}_{DEGREES}.{'nc' if name == 'constants' else 'zip'}"
        item = Item(address(name, file, base), folder / name / file, digests.get(file))
        download(item, meter)
        if item.path.suffix == ".zip":
            unpack(item.path)
        done.touch()


def address(name: str, file: str, base: str | None) -> str:
    """On the server, or on a mirror that has plain folders."""
    if base is None:
        return f"{SERVER}?path=%2F{DEGREES}%2F{name}&files={file}"
    return f"{base.rstrip('/')}/{name}/{file}"


def unpack(archive: Path) -> None:
    """NetCDF files of a zip archive beside it, which is then deleted; their check sums must fit."""
    try:
        with zipfile.ZipFile(archive) as content:
            members = [one for one in content.infolist() if one.filename.endswith(".nc")]
            for member in members:
                _extract(content, member, archive.parent)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        archive.unlink()
        raise GreymatchError(f"{archive.name} arrived damaged ({error}). It was deleted; try again.") from None
    if not members:
        raise GreymatchError(f"{str(archive)!r} holds no NetCDF file; was an error page downloaded in its place?")
    archive.unlink()


def _extract(content: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    # the last part of the name alone, so that nothing lands outside the folder
    path = folder / PurePosixPath(member.filename).name
    growing = path.with_name(f".{path.name}.tmp")
    with content.open(member) as source, growing.open("wb") as target:
        while piece := source.read(1 << 20):
            target.write(piece)
    growing.replace(path)
