"""^C and SIGTERM as a bell that select hears, so that a run stops between two steps and not inside one."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from gpuregress.errors import Interrupted


class Bell:
    """Rings at ^C, SIGTERM or SIGHUP; a second ^C stops Python at once. A context manager, on the main thread.

    On another thread, where Python allows no handlers, it never rings by itself.
    """

    def __init__(self) -> None:
        self.rung = False
        self._reader, self._writer = -1, -1
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Takes the signals."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        """Readable once the bell rang."""
        return self._reader

    def ring(self) -> None:
        """Asks the run to stop."""
        self.rung = True
        with contextlib.suppress(OSError):
            os.write(self._writer, b"!")

    def check(self) -> None:
        """Raises Interrupted once the bell rang."""
        if self.rung:
            raise Interrupted("interrupted")

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.rung and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.ring()
