"""Work of other threads: a value that is computed while the process goes on, and a pool."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Value = TypeVar("Value")


class Background(Generic[Value]):
    """A call in a thread of its own.

    Args:
        call: what computes the value.
        name: of the thread.
    """

    def __init__(self, call: Callable[[], Value], name: str) -> None:
        self._call = call
        self._values: list[Value] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised where the value is wanted
            self._error = error

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the call, but no longer than this; tell whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> Value:
        """Wait for the value; raise the error of the call, if there was one."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._values[0]


def thread_pool(count: int) -> ThreadPoolExecutor:
    """Make a pool of threads. Large dumps, many files and remote folders want one."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 3 ms, with `logging`; few cases need it

    return ThreadPoolExecutor(count)
