from __future__ import annotations

import threading
import time

import pytest

from gpuregress.foundation.errors import StorageError
from gpuregress.store import remote


def test_a_result_or_an_error_is_passed_on() -> None:
    assert remote.within(lambda: 7, "reading") == 7

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        remote.within(fail, "reading")


def test_what_makes_no_progress_is_given_up() -> None:
    begin, over = time.monotonic(), threading.Event()
    with pytest.raises(StorageError, match=r"reading s3://b/x: no answer for \d+ s; check the network"):
        remote.within(lambda: over.wait(20), "reading s3://b/x", stalled_s=0.2)
    assert time.monotonic() - begin < 10
    over.set()  # later tests wait for the threads that were left alone


def test_what_makes_progress_may_take_its_time() -> None:
    begin = time.monotonic()
    remote.within(
        lambda: time.sleep(1), "reading", progress=lambda: int(20 * (time.monotonic() - begin)), stalled_s=0.3
    )


def test_a_large_object_may_take_longer_where_nothing_tells_the_progress() -> None:
    remote.within(lambda: time.sleep(0.5), "reading", size=2 * remote.SLOWEST_BYTES_PER_S, stalled_s=0.1)
