"""Conversion of CUDA's errors by their text: pycuda's exception classes do not distinguish them.

The texts are those of cuGetErrorString; the numbers beside them are cuda.h's. An error is sticky if the header states
that the process must be terminated and relaunched.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpuregress.foundation.errors import CodeLine, DeviceError, GpuregressError, KernelFault
from gpuregress.gpu.records import MutableRecord, Record, replace


class Meaning(Record):
    """The meaning of an error text.

    Attributes:
        pattern: searched in the text, any case.
        kind: of `records.FAULT_KINDS`, or "" where it is not the kernel's doing.
        sticky: the process can use the device no more.
        advice: for the user.
    """

    pattern: str
    kind: str
    sticky: bool
    advice: str = ""


_SANITIZER = "compute-sanitizer names the thread and the line: --sanitize memcheck; the cpu device names the buffer too"
_ASSERTED = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): ")
"""The beginning of what the driver prints for a device-side assert."""
_LAUNCH_FAILURE = "unspecified launch failure"
TABLE = (
    Meaning(r"illegal memory access", "illegal-access", True, _SANITIZER),  # 700
    Meaning(r"launch timed out", "timeout", True, "the driver's watchdog ended the kernel"),  # 702
    Meaning(r"device-side assert", "assert", True),  # 710
    Meaning(r"hardware stack error", "stack-overflow", True),  # 714
    Meaning(r"illegal instruction", "illegal-instruction", True),  # 715
    Meaning(r"misaligned address", "misaligned", True, _SANITIZER),  # 716
    Meaning(r"not supported on global/shared address space", "illegal-access", True, _SANITIZER),  # 717
    Meaning(r"invalid program counter", "illegal-instruction", True),  # 718
    Meaning(  # 719
        _LAUNCH_FAILURE,
        "trap",
        True,
        "a trap instruction, or an access outside shared or local memory; --sanitize memcheck shows which",
    ),
    Meaning(r"tensor memory", "trap", True),  # 721
    Meaning(
        r"too many resources requested", "launch", False, "too many registers times threads, or too much shared memory"
    ),  # 701
    Meaning(r"cooperative launch", "launch", False),  # 720
    Meaning(r"cluster", "launch", False, "the grid must be a multiple of the cluster, which may have 8 blocks"),  # 912
    Meaning(
        r"invalid (argument|value)", "launch", False, "the driver does not say which of the launch's numbers is wrong"
    ),  # 1
    Meaning(r"contained", "", True, "the GPU contained a hardware error; `nvidia-smi -q -d ECC` says more"),  # 226
    Meaning(r"uncorrectable", "", True, "`nvidia-smi -q -d ECC` says more"),  # 214, 220
    Meaning(r"MPS (client|server|RPC)", "", True, "the MPS server or one of its clients died"),  # 805-810
    Meaning(
        r"(GPU|device).*(lost|fallen off)|unknown error",
        "",
        True,
        "the GPU does not answer; `nvidia-smi` shows whether it is there",
    ),
    Meaning(  # 222
        r"unsupported toolchain",
        "",
        False,
        "the driver is older than the PTX; nvJitLink makes a cubin that it can load: pip install 'gpuregress[cuda]'",
    ),
    Meaning(
        r"no kernel image|invalid.*image|image is invalid",
        "",
        False,
        "it was built for another architecture, or is cut short",
    ),  # 209, 200
    Meaning(r"exclusive|busy or unavailable", "", False, "another process holds the GPU: `nvidia-smi` names it"),  # 46
    Meaning(r"invalid device ordinal", "", False, "`nvidia-smi -L` lists the GPUs"),  # 101
    Meaning(r"out of memory", "", False, "`nvidia-smi` shows what other processes hold"),  # 2
)


def meaning_of(text: str) -> Meaning:
    """Return the meaning of an error text; an unknown one is no kernel fault and not sticky."""
    for meaning in TABLE:
        if re.search(meaning.pattern, text, re.IGNORECASE):
            return meaning
    return Meaning("", "", sticky=False)


def as_error(
    text: str, *, doing: str, kernel: str = "", dead: bool = False, stderr: str = "", traps: bool | None = None
) -> GpuregressError:
    """The error to raise for a call that CUDA refused.

    Args:
        text: pycuda's message, as `cuCtxSynchronize failed: an illegal memory access was encountered`.
        doing: the operation, for messages: `launching block_sum`.
        kernel: the kernel that ran, by its C++ name; "" where none did.
        dead: nothing works in this process any more.
        stderr: text of the kernel on stderr (an assert's file, line and thread).
        traps: whether the program has a trap instruction; None where its PTX is not there.

    Returns:
        A KernelFault where a kernel ran and the table knows its fault, else a DeviceError.
    """
    meaning = _narrowed(meaning_of(text), traps=traps)
    words = text.partition(" failed: ")[2] or text
    lines = tuple(line for line in stderr.splitlines() if line.strip())
    if meaning.kind and kernel:
        message = f"{words} in {kernel}"
        source_line = None
        if meaning.kind == "assert" and lines:
            message = lines[0].strip()
            asserted = _ASSERTED.match(message)
            if asserted is not None:
                source_line = CodeLine(asserted["file"], int(asserted["line"]))
        details = lines[1:]
        if meaning.advice:
            details += (meaning.advice,)
        return KernelFault(
            meaning.kind, message, details=details, sticky=meaning.sticky or dead, source_line=source_line
        )
    message = f"{doing}: {words}"
    if meaning.advice:
        message += f"; {meaning.advice}"
    return DeviceError(message)


def _narrowed(meaning: Meaning, *, traps: bool | None) -> Meaning:
    """The meaning of CUDA's text for both a trap and an access outside shared or local memory."""
    if meaning.pattern != _LAUNCH_FAILURE or traps is None:
        return meaning
    if traps:
        advice = "the program has a trap instruction, and most likely ran into it; --sanitize memcheck confirms it"
        return replace(meaning, advice=advice)
    return replace(meaning, kind="illegal-access", advice=f"most likely outside shared or local memory; {_SANITIZER}")


class Printed(MutableRecord):
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
