"""Deadlines of network operations: one that makes no progress is an error, not a hang.

Libraries have timeouts of their own, but not all of them, and retries multiply them. So each operation runs in a thread
that is left alone when its time is over; the process does not wait for it at its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from gpuregress.foundation.errors import StorageError

R = TypeVar("R")


class NoAnswer(StorageError):
    """An operation made no progress and was given up."""


STALLED_S = 60.0
"""Seconds without progress after which an operation is given up."""
SLOWEST_BYTES_PER_S = 1 << 20
"""Speed that is assumed where nothing tells the progress."""
_LOOK_S = 0.5


def within(
    action: Callable[[], R], what: str, *, size: int = 0, progress: Callable[[], int] = lambda: 0, stalled_s: float = 0
) -> R:
    """Run an operation in a thread, and give it up when it stalls.

    Args:
        action: the operation.
        what: for the message: `reading s3://bucket/x`.
        size: bytes that it moves.
        progress: grows while bytes move; constant where nothing is known.
        stalled_s: seconds without progress; 0: STALLED_S.

    Raises:
        NoAnswer: it made no progress for that long.
        Exception: what the operation raised.
    """
    limit = stalled_s or STALLED_S
    done = threading.Event()
    results: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(action())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append(error)
        finally:
            done.set()

    begin = moved = time.monotonic()
    before = progress()
    threading.Thread(target=work, daemon=True, name="gpuregress-remote").start()
    while not done.wait(min(_LOOK_S, limit / 4)):
        now, count = time.monotonic(), progress()
        if count != before:
            before, moved = count, now
        if now - moved > limit and now - begin > limit + size / SLOWEST_BYTES_PER_S:
            raise NoAnswer(f"{what}: no answer for {now - moved:.0f} s; check the network, then run again")
    if errors:
        raise errors[0]
    return results[0]
