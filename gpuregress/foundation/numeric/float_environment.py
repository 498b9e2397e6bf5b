"""Floating-point environment of a thread: rounding, subnormals, precision of the x87.

A library that was linked with `-ffast-math` sets FTZ and DAZ in the thread that loads it, and `fesetround` sets the
rounding. New threads inherit the environment of the thread that starts them. What this package computes is defined in
the default environment alone: round to nearest, with subnormals.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterator

_BYTES = 256
"""More than a `fenv_t` of any C library: 32 on x86-64, 16 on AArch64."""


@contextlib.contextmanager
def default() -> Iterator[None]:
    """Run a block, or a decorated function, in the default environment; afterwards the thread has its own again."""
    libm = _libm()
    if libm is None:
        yield
        return
    before = ctypes.create_string_buffer(_BYTES)
    libm.fegetenv(before)
    libm.fesetenv(_default_environment(libm))
    try:
        yield
    finally:
        libm.fesetenv(before)


@functools.cache
def _libm() -> ctypes.CDLL | None:
    """The C library's functions of `<fenv.h>`; None where there are none."""
    for name in ("libm.so.6", None):  # None: what the interpreter is linked with
        with contextlib.suppress(OSError, TypeError):
            libm = ctypes.CDLL(name)
            if hasattr(libm, "fegetenv"):
                return libm
    return None


@functools.cache
def _default_environment(libm: ctypes.CDLL) -> ctypes.c_void_p:
    """`FE_DFL_ENV`: a pointer of all ones, but on macOS, where it is a variable's address."""
    if sys.platform == "darwin":
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(libm, "_FE_DFL_ENV")))
    return ctypes.c_void_p(-1)
