"""Work of another thread: a value that is computed while the process goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

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
