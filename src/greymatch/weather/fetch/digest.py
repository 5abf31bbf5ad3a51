"""Digests, by which a file is known to be whole."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from greymatch.errors import GreymatchError

_LENGTHS = {32: "md5", 64: "sha256", 128: "sha512"}
_LINE = re.compile(r"([0-9a-fA-F]+)\s+\*?(.+)")


@dataclass(frozen=True)
class Digest:
    """The kind (md5, sha256, sha512) and the digest in hexadecimal."""

    kind: str
    value: str

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.value}"

    @staticmethod
    def parsed(text: str | None) -> Digest | None:
        return Digest(*text.split(":", 1)) if text else None

    def fits(self, path: Path) -> bool:
        with path.open("rb") as file:
            return hashlib.file_digest(file, self.kind).hexdigest() == self.value


def promised(headers: Any) -> Digest | None:
    """What a server says of the whole file, as Google's storage and RFC 9530 do."""
    for name, pattern, kind in (
        ("x-goog-hash", r"md5=([^,\s]+)", "md5"),
        ("Repr-Digest", r"sha-512=:([^:]+):", "sha512"),
        ("Repr-Digest", r"sha-256=:([^:]+):", "sha256"),
    ):
        found = re.search(pattern, ", ".join(headers.get_all(name) or []))
        if found:
            return Digest(kind, base64.b64decode(found[1]).hex())
    return None


def read_digests(path: Path) -> dict[str, Digest]:
    """File names and digests of a list as sha256sum or sha512sum write it."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = _LINE.fullmatch(line.strip())
        if parts is None or len(parts[1]) not in _LENGTHS:
            raise GreymatchError(
                f"`--checksums` must hold lines 'DIGEST  FILE' of md5, sha256 or sha512; got {line!r}."
            )
        found[Path(parts[2]).name] = Digest(_LENGTHS[len(parts[1])], parts[1].lower())
    return found
