"""One file over HTTP: resumed after a break, and checked before it takes its name."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from greymatch.errors import GreymatchError
from greymatch.files import write_json
from greymatch.weather.fetch.digest import Digest, promised
from greymatch.weather.meter import Meter

ATTEMPTS, TIMEOUT, PIECE = 6, 60.0, 1 << 18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # statuses that may be gone at the next attempt
_BREAKS = (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError)


@dataclass(frozen=True)
class Item:
    """What to download, where to, and its digest if that is known."""

    url: str
    path: Path
    digest: Digest | None = None


def download(item: Item, meter: Meter, pause: float = 1.0) -> None:
    """Fetch a file that is not there yet.

    It grows as `NAME.part`, from where an earlier call stopped if the server still has the same file; a connection that
    breaks is tried again after a `pause` that doubles. The file gets its name when its length is right, and its digest,
    if one was given or the server told it.
    """
    if item.path.exists():
        return
    if not item.url.startswith(("http://", "https://")):
        raise GreymatchError(f"`url` must begin with http:// or https://; got {item.url!r}.")
    item.path.parent.mkdir(parents=True, exist_ok=True)
    part = Part(item.path)
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            if _continue(item, part, meter):
                return part.finish(item)
        except urllib.error.HTTPError as error:
            _give_up_unless_passing(error, item)
        except _BREAKS:
            continue
    raise GreymatchError(
        f"{item.url} broke off {ATTEMPTS} times; {part.size} bytes are kept. The same command goes on from there."
    )


class Part:
    """The beginning of a file, and what the server said of the whole."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.part")
        self._note = path.with_name(f"{path.name}.part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def told(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return json.loads(self._note.read_text())
        return {}

    def tell(self, headers: Any, total: int | None) -> None:
        digest = promised(headers)
        version = headers.get("ETag") or headers.get("Last-Modified")
        write_json(self._note, {"version": version, "total": total, "digest": digest.text if digest else None})

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self, item: Item) -> None:
        """Give it its name, if it is what it should be."""
        known = item.digest or Digest.parsed(self.told.get("digest"))
        if known and not known.fits(self.path):
            self.drop()
            raise GreymatchError(
                f"{item.url} arrived damaged: its {known.kind} differs from the one stated. It was deleted; try again."
            )
        self.path.replace(item.path)
        self._note.unlink(missing_ok=True)


def _continue(item: Item, part: Part, meter: Meter) -> bool:
    """Download what is missing; True when all of it is there."""
    request = urllib.request.Request(item.url, headers={"User-Agent": "greymatch", "Accept-Encoding": "identity"})
    version = part.told.get("version")
    if part.size and version:
        request.add_header("Range", f"bytes={part.size}-")
        request.add_header("If-Range", version)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        resumed = answer.status == http.client.PARTIAL_CONTENT
        total = _total(answer.headers, part.size if resumed else 0)
        if not resumed:
            part.drop()
        part.tell(answer.headers, total)
        meter.begin(item.path.name, total, part.size)
        with part.path.open("ab") as file:
            while piece := answer.read(PIECE):
                file.write(piece)
                meter.advance(len(piece))
    return total is None or part.size == total


def _total(headers: Any, before: int) -> int | None:
    length = headers.get("Content-Length")
    return None if length is None else before + int(length)


def _give_up_unless_passing(error: urllib.error.HTTPError, item: Item) -> None:
    error.close()
    if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
        Part(item.path).drop()  # it was complete, or the file has become shorter: from the start
    elif error.code not in _PASSING:
        raise GreymatchError(f"{item.url} answered {error.code} {error.reason}. Has it moved?") from None
