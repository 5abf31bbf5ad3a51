"""Memory that one step of training frees is there for the next."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_USUAL, _LARGEST, _NEVER = 128 * 2**10, 32 * 2**20, 2**31 - 1


@contextmanager
def memory_reused() -> Iterator[None]:
    """Within, the C library keeps what is freed; afterwards it gives it back.

    It would else hand maps of more than 128 kB back to the system, which clears each page anew when the next step asks
    for it. Where the library is not GNU's all stays as it is.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
        yield
        return
    keep(library, _LARGEST, _NEVER)
    try:
        yield
    finally:
        keep(library, _USUAL, _USUAL)
        library.malloc_trim(0)


def keep(library: ctypes.CDLL, mapped: int, trimmed: int) -> None:
    library.mallopt(_MAP, mapped)
    library.mallopt(_TRIM, trimmed)
