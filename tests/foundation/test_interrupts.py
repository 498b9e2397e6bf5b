"""The stop signal of a run: what sets it, what waits for it, and what it puts back."""

from __future__ import annotations

import os
import select
import signal
import threading

import pytest

from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.interrupts import StopSignal

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_sets_it_and_wakes_who_waits(number: signal.Signals) -> None:
    with StopSignal() as stop:
        stop.check()
        assert select.select([stop], [], [], 0)[0] == []
        os.kill(os.getpid(), number)
        assert select.select([stop], [], [], 10)[0] == [stop]
        assert stop.is_set
        with pytest.raises(Interrupted):
            stop.check()


def test_a_second_interrupt_stops_python_at_once() -> None:
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_the_handlers_of_before_are_restored() -> None:
    before = [signal.getsignal(number) for number in NUMBERS]
    with StopSignal():
        assert [signal.getsignal(number) for number in NUMBERS] != before
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignal() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set
    finally:
        signal.signal(signal.SIGHUP, before)


def test_on_another_thread_only_set_sets_it() -> None:
    before, seen = signal.getsignal(signal.SIGINT), list[bool]()

    def work() -> None:
        with StopSignal() as stop:
            seen.append(signal.getsignal(signal.SIGINT) == before)
            stop.set()
            seen.append(stop.is_set)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert seen == [True, True]


def test_it_can_be_set_any_number_of_times() -> None:
    with StopSignal() as stop:
        for _ in range(100_000):
            stop.set()
        assert stop.is_set


def test_a_signal_without_handlers_leaves_those_of_the_process() -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopSignal(handles=False) as stop:
        assert signal.getsignal(signal.SIGINT) is before
        stop.set()
        assert stop.is_set
