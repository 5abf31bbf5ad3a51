"""Reading ahead: while one part of a store is learned from, the next is on its way into memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Part = TypeVar("Part")


class ReadAhead(Generic[Part]):
    """Parts by their number, as `read` gives them; after each, the one that follows is read in the background.

    What was read ahead and is not asked for next is let go, so that at most one part waits in memory.
    """

    def __init__(self, read: Callable[[int], Part], first: int) -> None:
        self._read = read
        self._reader = ThreadPoolExecutor(1, "read-ahead")
        self._expect(first)

    def __call__(self, number: int) -> Part:
        if number != self._number:
            self._coming.cancel()
            self._expect(number)
        part = self._coming.result()
        self._expect(number + 1)
        return part

    def _expect(self, number: int) -> None:
        self._number = number
        self._coming: Future[Part] = self._reader.submit(self._read, number)
