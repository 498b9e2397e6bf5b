"""Floating-point environments that code of users leaves behind: of `-ffast-math`, and another rounding."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

import numpy as np

LIBM = ctypes.CDLL("libm.so.6")
_MXCSR = slice(28, 32)
_FLUSHES = 0x8040
_UP = 0x800


def flush() -> None:
    """Set FTZ and DAZ, as a library that was linked with `-ffast-math` does when it is loaded."""
    environment = ctypes.create_string_buffer(64)
    LIBM.fegetenv(environment)
    word = int.from_bytes(environment.raw[_MXCSR], "little") | _FLUSHES
    words = bytearray(environment.raw)
    words[_MXCSR] = word.to_bytes(4, "little")
    LIBM.fesetenv(bytes(words))


@contextlib.contextmanager
def left_behind() -> Iterator[None]:
    """Flush subnormals and round upwards."""
    before = ctypes.create_string_buffer(64)
    LIBM.fegetenv(before)
    flush()
    LIBM.fesetround(_UP)
    try:
        yield
    finally:
        LIBM.fesetenv(before)


def traits() -> tuple[bool, float]:
    """Whether numpy's subnormals are there, and how it rounds."""
    return bool(np.float32(1e-40) * np.float32(1) > 0), float(np.float64(1) + np.float64(2) ** -60 - 1)


DEFAULT = (True, 0.0)
"""The traits of the default environment."""
