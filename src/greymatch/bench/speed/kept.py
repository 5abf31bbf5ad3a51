"""What each part found, in a file of its own: a suite cut short keeps what it has, and parts can be measured anew."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from greymatch.bench.speed.suite import PARTS, Found
from greymatch.bench.speed.timing import Curve, Measured
from greymatch.files import write_json

FOLDER = "speed"


def keep(out: Path, part: str, found: Found, about: dict[str, Any]) -> None:
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    write_json(folder / f"{part}.json", {**about, **asdict(found)})


def kept(out: Path) -> tuple[Found, dict[str, Any]]:
    """All parts that are there, in the order of the suite, and how each was measured."""
    whole, about = Found(), {}
    for part in PARTS:
        path = out / FOLDER / f"{part}.json"
        if path.exists():
            content = json.loads(path.read_text())
            whole.measured.extend(Measured(**one) for one in content.pop("measured"))
            whole.curves.extend(Curve(**one) for one in content.pop("curves"))
            about[part] = content
    return whole, about
