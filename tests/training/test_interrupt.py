from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest

from greymatch.training.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_stops(number: signal.Signals):
    with Interrupt() as interrupt:
        assert not interrupt.asked
        os.kill(os.getpid(), number)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_the_handlers_come_back_even_after_an_error():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with contextlib.suppress(RuntimeError), Interrupt():
        assert signal.getsignal(signal.SIGINT) != before[signal.SIGINT]
        raise RuntimeError
    assert {number: signal.getsignal(number) for number in before} == before


def test_outside_the_main_thread_it_does_nothing():
    before, found = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with Interrupt() as interrupt:
            found.append((interrupt.asked, signal.getsignal(signal.SIGINT) == before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, True)]
