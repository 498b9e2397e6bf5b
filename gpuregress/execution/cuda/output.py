"""Capture of kernel output, which the driver writes to the process's own descriptors."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(slots=True)
class Printed:
    """Captured output: device printf on stdout, device asserts on stderr."""

    stdout: str = ""
    stderr: str = ""


@contextmanager
def captured() -> Iterator[Printed]:
    """Redirect descriptors 1 and 2 into files while the block runs; the result has their text afterwards.

    Files, not pipes: a kernel may print more than a pipe holds while no process reads it.
    """
    printed = Printed()
    sys.stdout.flush()
    sys.stderr.flush()
    _flush_c()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        saved = (os.dup(1), os.dup(2))
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            yield printed
        finally:
            _flush_c()
            for descriptor, old in zip((1, 2), saved, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            out.seek(0)
            err.seek(0)
            printed.stdout = out.read().decode(errors="replace")
            printed.stderr = err.read().decode(errors="replace")


@contextmanager
def silenced() -> Iterator[None]:
    """Discard the output of libraries while a dead context is cleaned up."""
    with captured(), suppress(Exception):
        yield


def _flush_c() -> None:
    """Flush C's own buffers, which the driver's printf goes through."""
    ctypes.CDLL(None).fflush(None)
