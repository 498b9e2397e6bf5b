"""Errors of devices and of the compiler of the virtual GPU, each with its exit code.

`foundation.errors` has all errors of gpuregress as a tree; these are the part of it that needs nothing else.
"""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record


class ExitCode:
    """Every exit code of a command; `docs/reference/exit-codes.md` has their meaning.

    Plain numbers: records hold them, and the digests of the history are those of their text.
    """

    PASSED = 0
    DIFFERS = 1
    WRONG_REQUEST = 2
    KERNEL_FAILED = 3
    HARNESS_FAILED = 4
    NOTHING_TO_DO = 5
    LOCKED = 75
    INTERRUPTED = 130


CALLED_AT = ", called at "
"""Between a line of an inlined function and the line of the call, in messages."""


class CodeLine(Record):
    """A line of a source, as its compiler names the file.

    Attributes:
        file: with or without folders; "" for the PTX itself.
        line: counted from 1; the innermost one where functions are inlined.
        calls: (file, line) of the calls that the line is inlined into, innermost first.
    """

    file: str
    line: int
    calls: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """`saxpy.cu:12`, `dot.cuh:8, called at gemv.cu:10`, or `PTX line 9`."""
        return CALLED_AT.join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The line and those of the calls in words, the innermost first."""
        if not self.file:
            return (f"PTX line {self.line}",)
        return tuple(f"{file}:{line}" for file, line in ((self.file, self.line), *self.calls))


class GpuregressError(Exception):
    """The root of all errors that a user can cause or meet; never shown with a traceback.

    Args:
        message: for people.
        source_line: the line that reports point at; None where there is none. Nothing looks for it in the message.
    """

    exit_code: int = ExitCode.HARNESS_FAILED

    def __init__(self, message: str = "", *, source_line: CodeLine | None = None) -> None:
        super().__init__(message)
        self.source_line = source_line


class UsageError(GpuregressError):
    """The command line is wrong."""

    exit_code: int = ExitCode.WRONG_REQUEST


class CompileError(GpuregressError):
    """The source does not compile, or holds no such kernel; the message has the compiler's own words.

    Args:
        message: for people.
        log: the compiler's own, from which the message is made; "" where the compiler did not refuse the source.
        missing_headers: the names of headers that were not found, in the order in which they are included. Only a
            source whose directives alone are compiled has more than the first.
        standard: a later standard of C++ with which the source compiles, `c++20`; "" where none was tried or helps.
        needs: other template arguments that may help: `classes` where numbers are used as such, `nothing` where errors
            do not depend on them.
        source_line: as of `GpuregressError`.
    """

    exit_code: int = ExitCode.KERNEL_FAILED

    def __init__(
        self,
        message: str = "",
        *,
        log: str = "",
        missing_headers: tuple[str, ...] = (),
        standard: str = "",
        source_line: CodeLine | None = None,
    ) -> None:
        self.log = log
        self.missing_headers = missing_headers
        self.standard = standard
        self.needs: Literal["any", "classes", "nothing"] = "any"
        super().__init__(message, source_line=source_line)


class RefusedSource(CompileError):
    """The PTX assembler of every GPU refuses the program."""


class InfeasibleSource(CompileError):
    """A static_assert fails, or a kernel needs more memory than the architecture has; nothing else is wrong."""


class FaultLocation(Record):
    """The place of a fault, as far as the device tells: the CPU device tells all, a GPU little or nothing.

    Attributes:
        buffer: the buffer or variable that was accessed, "" where that is not known.
        index: of the element in it; negative before its beginning.
        elements: how many the buffer has, of an access that is out of bounds or misaligned.
        size: bytes of such an access.
        thread: the thread's x, y, z in its block.
        block: the block's x, y, z in the grid.
        file: the name of the source file, "" where it is not known.
        line: in that file, counted from 1; the innermost one where functions are inlined.
        calls: `gemv.cu:10`, the calls that the line is inlined into, innermost first.
    """

    buffer: str = ""
    index: int | None = None
    elements: int | None = None
    size: int | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    file: str = ""
    line: int | None = None
    calls: tuple[str, ...] = ()


NOWHERE = FaultLocation()


class KernelFault(GpuregressError):
    """A kernel failed on a device.

    Args:
        kind: one of `records.FAULT_KINDS`, what `expect: {fault: …}` names.
        message: one line: buffer, index, thread, block, source line.
        details: further lines (a stack of waiting threads, a compute-sanitizer report).
        sticky: the device cannot be used by this process any more.
        location: of a fault of one thread, the same place as the message tells.
        source_line: as `location` has it; of a fault of several threads, the first one that the message tells.
    """

    exit_code: int = ExitCode.KERNEL_FAILED

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        details: tuple[str, ...] = (),
        sticky: bool = False,
        location: FaultLocation = NOWHERE,
        source_line: CodeLine | None = None,
    ) -> None:
        super().__init__(message, source_line=source_line)
        self.kind = kind
        self.details = details
        self.sticky = sticky
        self.location = location

    @property
    def buffer(self) -> str:
        """The buffer that was accessed, "" where that is not known."""
        return self.location.buffer

    @property
    def index(self) -> int | None:
        """The index of the element in that buffer."""
        return self.location.index

    @property
    def thread(self) -> tuple[int, int, int] | None:
        """The thread's x, y, z in its block."""
        return self.location.thread

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The block's x, y, z in the grid."""
        return self.location.block

    @property
    def line(self) -> int | None:
        """The source line, counted from 1."""
        return self.location.line


class LaunchStopped(BaseException):
    """A launch was stopped at its time limit; no error, so that nobody takes it for one of the kernel.

    Attributes:
        lines: where its threads stood, and what the dynamic checks had found until then.
        source_line: the first line of a source that they name.
    """

    def __init__(self, lines: tuple[str, ...], source_line: CodeLine | None = None) -> None:
        super().__init__(*lines)
        self.lines = lines
        self.source_line = source_line


class HarnessError(GpuregressError):
    """The harness, a device or a disk failed."""


class DeviceError(HarnessError):
    """No such device, a lost GPU, or a request that is over the device's limits."""


class LaunchRefused(DeviceError):
    """A launch is over the device's limits: threads, blocks, shared memory, registers."""


class UnsupportedError(HarnessError):
    """The device cannot run an instruction or a feature; the message names it and its source line."""

    exit_code: int = ExitCode.KERNEL_FAILED
