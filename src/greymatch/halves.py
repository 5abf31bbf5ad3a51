"""Whether this processor computes in bfloat16 or only says so, and how to do without its units."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch

MIXED = ("bf16-mixed", "16-mixed")  # of which Fabric makes bfloat16 on a processor
PATIENCE_SECONDS = 120.0
CALLER = 4  # of `fit` and `train`, which ask for a device, which warns
TRIAL = """
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what is lost here is not to fill the user's folder
except ImportError:
    pass
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.Flatten(), torch.nn.Linear(2048, 64))
with torch.autocast("cpu", torch.bfloat16):
    loss = net(torch.ones(32, 16, 8, 8)).float().square().mean()
loss.backward()
"""

_UNIT = "amx_bf16"  # of processors; with vector instructions alone (avx512_bf16) float32 is half as fast again


class BrokenUnitsWarning(UserWarning):
    """The processor names units for bfloat16 that do not work, as on some virtual machines."""


def units_work() -> bool:
    """Whether the processor has units for bfloat16 that can be used."""
    return _named() and _tried()


def spared(precision: str, device: str) -> AbstractContextManager[None]:
    """Around all that is computed in this precision, gradients too: units that do not work are left alone."""
    return _without_units() if _asks_for_broken(precision, device) else nullcontext()


def warn_of_broken(precision: str, device: str) -> None:
    """Tell who asks for such units that there is something faster."""
    if _asks_for_broken(precision, device):
        warnings.warn(
            f"`training.precision` = {precision!r}, but the units for bfloat16 that this processor names ({_UNIT}) do "
            "not work here, as on some virtual machines. It is computed without them, slowly: "
            "training.precision='32-true' is faster here.",
            BrokenUnitsWarning,
            stacklevel=CALLER,
        )


def _asks_for_broken(precision: str, device: str) -> bool:
    return device == "cpu" and precision in MIXED and _named() and not _tried()


def _named() -> bool:
    known = getattr(torch.cpu, "get_capabilities", dict)  # which older versions of torch do not have
    return bool(known().get(_UNIT, False))


@cache
def _tried() -> bool:
    """In a process of its own, since units that do not work end the one that uses them."""
    nothing = subprocess.DEVNULL
    words = [sys.executable, "-P", "-c", TRIAL]
    try:
        done = subprocess.run(words, stdin=nothing, stdout=nothing, stderr=nothing, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@contextmanager
def _without_units() -> Iterator[None]:
    """Without oneDNN, which uses them; it heeds no other wish once it has begun."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)
