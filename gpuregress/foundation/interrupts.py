"""Stop signal of a run, and signals that end a process from outside.

^C, SIGTERM and SIGHUP set a flag that select can wait for. So a run stops between two steps and not inside one.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Self

from gpuregress.foundation.errors import Interrupted

FROM_OUTSIDE: Mapping[int, str] = {
    signal.SIGKILL: "it was killed from outside, or memory ran out (`dmesg` shows whether the system did it)",
    signal.SIGTERM: "it was ended from outside",
    signal.SIGINT: "it was ended from outside",
    signal.SIGHUP: "it was ended from outside",
    signal.SIGXCPU: "its processor time is limited (see `ulimit -t`)",
    signal.SIGXFSZ: "the size of its files is limited (see `ulimit -f`)",
}
"""Signal → why a process dies of it that we have not killed: for nothing that ran in it."""
_PR_SET_PDEATHSIG = 1


class StopSignal:
    """A flag that ^C, SIGTERM or SIGHUP sets; a second ^C stops Python at once.

    A context manager, on the main thread. On another thread, where Python allows no handlers, only `set` sets it.

    Args:
        handles: install handlers of these signals; else only `set` sets the flag.
    """

    def __init__(self, *, handles: bool = True) -> None:
        self.is_set = False
        self._handles = handles
        self._reader, self._writer = -1, -1
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the handlers."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        if self._handles and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_error: object) -> None:
        """Restore the handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        """A descriptor that becomes readable when the flag is set."""
        return self._reader

    def set(self) -> None:
        """Ask the run to stop."""
        self.is_set = True
        with contextlib.suppress(OSError):
            os.write(self._writer, b"!")

    def check(self) -> None:
        """Raise Interrupted if the flag is set."""
        if self.is_set:
            raise Interrupted("interrupted")

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.is_set and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.set()


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, even inside an endless kernel."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
