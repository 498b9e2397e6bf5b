"""Watch over a night with a deadline: it ends the process where the night itself does not come back.

A night stops by itself at its deadline. What can keep it from that is outside of Python: a dead network file system, a
driver that does not return. Then this thread ends the process, which frees the lock for the next night.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuregress.foundation.errors import HarnessError

GRACE_S = 300.0
"""The time after the deadline in which a night writes its results."""


@contextlib.contextmanager
def watched(until: float | None, deadline: str, stop: Callable[[str], None] | None = None) -> Iterator[None]:
    """Watch the block.

    Args:
        until: the deadline, seconds of time.monotonic; None: no watch.
        deadline: in words.
        stop: for tests; ends the process.
    """
    if until is None:
        yield
        return
    over = threading.Event()
    stuck = threading.get_ident()

    def watch() -> None:
        if not over.wait(max(0.0, until + GRACE_S - time.monotonic())):
            grace = f"{GRACE_S / 60:g} min" if GRACE_S >= 60 else f"{GRACE_S:g} s"
            (stop or _stop)(f"the night did not end within {grace} after its deadline of {deadline}: {_place(stuck)}")

    threading.Thread(target=watch, daemon=True, name="night watch").start()
    try:
        yield
    finally:
        over.set()


def _place(thread: int) -> str:
    """Where a thread is, in words."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented; there is no other way
    return f"it hangs in {Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "it is gone"


def _stop(message: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"gpuregress: {message}\n".encode())
    os._exit(HarnessError.exit_code)
