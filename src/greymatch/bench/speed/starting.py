"""How long it takes until something happens, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence

from greymatch.bench.speed.sizes import Sizes
from greymatch.bench.speed.timing import Measured

COMPILING = 5.0  # seconds, at most
FIRST = "import json; from greymatch.bench.speed.training import first_step; print(json.dumps(first_step()))"


def starting(sizes: Sizes) -> Iterator[Measured]:
    yield _beside("import greymatch", ["-c", "import greymatch"], "import torch", ["-c", "import torch"], sizes)
    yield _beside("greymatch --help", ["-m", "greymatch.cli", "--help"], "import torch", ["-c", "import torch"], sizes)
    found = [json.loads(run(["-c", FIRST]).stdout) for _ in range(sizes.starts)]
    until = [one["until"] for one in found]
    yield Measured("start-up", "from nothing to a fit's first step", "s", 1, until, note="imports and data included")
    compiling = [max(0.0, one["first"] - one["later"]) for one in found]
    note = "how much longer a fit's first step takes than a later one: what is compiled or warmed up"
    yield Measured("start-up", "compiling for the first fit", "s", 1, compiling, most=COMPILING, note=note)


def _beside(case: str, words: Sequence[str], against: str, plain: Sequence[str], sizes: Sizes) -> Measured:
    turns = [(spent(words), spent(plain)) for _ in range(sizes.starts + 1)][1:]
    ours, theirs = ([turn[way] for turn in turns] for way in (0, 1))
    return Measured("start-up", case, "s", 1, ours, theirs, against)


def spent(words: Sequence[str]) -> float:
    """Processor seconds of Python with these words."""
    before = _children()
    run(words)
    return _children() - before


def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
