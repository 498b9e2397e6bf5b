"""Errors of devices and of the compiler of the virtual GPU, each with its exit code.

`foundation.errors` has all errors of gpuregress as a tree; these are the part of it that needs nothing else.
"""

from __future__ import annotations

from gpuregress.gpu.records import Record


class GpuregressError(Exception):
    """The root of all errors that a user can cause or meet; never shown with a traceback."""

    exit_code = 4


class UsageError(GpuregressError):
    """The command line is wrong."""

    exit_code = 2


class CompileError(GpuregressError):
    """The source does not compile, or holds no such kernel; the message has the compiler's own words.

    Args:
        message: for people.
        log: the compiler's own, from which the message is made; "" where the compiler did not refuse the source.
        missing_header: the name of a header that was not found; "" where all were.
        standard: a later standard of C++ with which the source compiles, `c++20`; "" where none was tried or helps.
    """

    exit_code = 3

    def __init__(self, message: str = "", *, log: str = "", missing_header: str = "", standard: str = "") -> None:
        self.log = log
        self.missing_header = missing_header
        self.standard = standard
        super().__init__(message)


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


CALLED_AT = ", called at "
"""Between a line of an inlined function and the line of the call, in messages."""
NOWHERE = FaultLocation()


class KernelFault(GpuregressError):
    """A kernel failed on a device.

    Args:
        kind: one of `records.FAULT_KINDS`, what `expect: {fault: …}` names.
        message: one line: buffer, index, thread, block, source line.
        details: further lines (a stack of waiting threads, a compute-sanitizer report).
        sticky: the device cannot be used by this process any more.
        location: the same place as the message tells.
    """

    exit_code = 3

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        details: tuple[str, ...] = (),
        sticky: bool = False,
        location: FaultLocation = NOWHERE,
    ) -> None:
        super().__init__(message)
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
    """

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__(*lines)
        self.lines = lines


class HarnessError(GpuregressError):
    """The harness, a device or a disk failed."""


class DeviceError(HarnessError):
    """No such device, a lost GPU, or a request that is over the device's limits."""


class LaunchRefused(DeviceError):
    """A launch is over the device's limits: threads, blocks, shared memory, registers."""


class UnsupportedError(HarnessError):
    """The device cannot run an instruction or a feature; the message names it and its source line."""

    exit_code = 3
