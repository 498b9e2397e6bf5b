from __future__ import annotations

import threading
import time

import pytest

from gpuregress.session import nightly as night_watch
from tests.waiting import wait_until


def test_a_night_that_does_not_come_back_is_stopped_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(night_watch, "GRACE_S", 0.05)
    told: list[str] = []
    with night_watch.watched(time.monotonic(), "6 h", told.append):
        wait_until(lambda: bool(told))
    assert told[0].startswith("the night did not end within 0.05 s after its deadline of 6 h: it hangs in ")


def test_a_night_that_ends_is_left_alone() -> None:
    told: list[str] = []
    with night_watch.watched(time.monotonic() + 60, "1 min", told.append):
        (thread,) = [one for one in threading.enumerate() if one.name == "night watch"]
    thread.join(10)
    assert (thread.is_alive(), told) == (False, [])
    before = threading.active_count()
    with night_watch.watched(None, ""):
        assert threading.active_count() == before
