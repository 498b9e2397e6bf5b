"""Room for nested calls on Python's stack.

CPython 3.11 and 3.12, and 3.13 and 3.14 before their releases of spring 2026, keep the frames of Python functions in
chunks of 16 KiB, and return a chunk to the system with the last frame in it. Calls that cross the end of a chunk again
and again, as those of a recursive interpreter, map and unmap memory each time (gh-142183), which took 1.4 of the 3.4 s
in which the host code of a program was read.
"""

from __future__ import annotations

from collections.abc import Callable

_WORDS = 2**16
"""For which a chunk has 2**17, as it has a power of two: the other half is for the calls."""


def call_with_room(function: Callable[[], None]) -> None:
    """Call a function with room for the frames of a thousand nested calls in one piece."""
    function()


call_with_room.__code__ = call_with_room.__code__.replace(co_stacksize=_WORDS)
