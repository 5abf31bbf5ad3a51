from __future__ import annotations

import threading

import pytest

from greymatch.errors import GreymatchError
from greymatch.training.ahead import ReadAhead


def test_the_next_part_is_read_before_it_is_asked_for():
    begun = {number: threading.Event() for number in range(5)}

    def read(number: int) -> int:
        begun[number].set()
        return 10 * number

    ahead = ReadAhead(read, first=1)
    assert begun[1].wait(5), "nobody has asked yet"
    assert ahead(1) == 10
    assert begun[2].wait(5)
    assert not begun[3].is_set(), "one part at a time is ahead"


def test_any_order_of_numbers_gets_the_parts_it_asks_for():
    ahead = ReadAhead(lambda number: number**2, first=1)
    assert [ahead(number) for number in (1, 2, 7, 8, 3, 3)] == [1, 4, 49, 64, 9, 9]


def test_an_error_in_the_background_reaches_who_asks():
    def read(number: int) -> int:
        if number == 2:
            raise GreymatchError("`path` must stay readable.")
        return number

    ahead = ReadAhead(read, first=1)
    assert ahead(1) == 1
    with pytest.raises(GreymatchError, match="stay readable"):
        ahead(2)
