"""Exceptions that a user can meet, each with its exit code.

    GpuregressError
    ├── UsageError                2   the command line is wrong
    ├── JobErrors                 2   one or more jobs are wrong: a tuple of JobError
    ├── CompileError              3   the source does not compile
    │   ├── CompilerStopped       3   the compiler crashed, or took too long
    │   ├── RefusedSource         3   the PTX assembler of every GPU refuses the program
    │   ├── UnknownNames          3   it has no such kernels or variables (a job that asks for them is wrong: 2)
    │   └── InfeasibleSource      3   a static_assert fails, or a kernel needs more memory than the architecture has
    │       └── MissingCompiler   3   the compiler of a kernel in Python is not installed
    ├── KernelFault               3   the kernel failed on a device (becomes the verdict `fault`)
    ├── KernelTimeout             3   the kernel was killed at its time limit (becomes `timeout`)
    ├── HarnessError              4   the harness, a device or a disk failed
    │   ├── DeviceError           4   no such device, a lost GPU, a request over its limits
    │   │   ├── LaunchRefused     4   a launch is over the device's limits
    │   │   └── ClusterLost       4   the scheduler of a cluster, or all of its workers, are gone while cases run
    │   ├── UnsupportedError      3   the device cannot run this instruction or feature
    │   ├── StorageError          4   no space, no permission, a path that is not what it should be
    │   ├── UserCodeError         3   a fill's own function failed: the user's code, as a kernel is
    │   ├── DumpError             4   a dump does not hold what its header says
    │   └── BaselineError         4   a baseline was cut short or edited, or cannot be accepted
    ├── NothingToDo               5   nothing to run or to compare
    │   └── NothingChanged        0   no selected job is touched by the change that is asked about
    ├── RunLocked                75   another run holds the lock
    └── Interrupted             130   the user asked to stop

An error's message is for people: what was wrong, where, what to do. `str(error)` is one line (JobErrors: one for each).
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation.wording import joined
from gpuregress.gpu import errors as device_errors
from gpuregress.gpu.errors import CALLED_AT as CALLED_AT
from gpuregress.gpu.errors import NOWHERE as NOWHERE
from gpuregress.gpu.errors import CodeLine as CodeLine
from gpuregress.gpu.errors import CompileError as CompileError
from gpuregress.gpu.errors import DeviceError as DeviceError
from gpuregress.gpu.errors import ExitCode as ExitCode
from gpuregress.gpu.errors import FaultLocation as FaultLocation
from gpuregress.gpu.errors import GpuregressError as GpuregressError
from gpuregress.gpu.errors import HarnessError as HarnessError
from gpuregress.gpu.errors import InfeasibleSource as InfeasibleSource
from gpuregress.gpu.errors import KernelFault as KernelFault
from gpuregress.gpu.errors import LaunchRefused as LaunchRefused
from gpuregress.gpu.errors import LaunchStopped as LaunchStopped
from gpuregress.gpu.errors import RefusedSource as RefusedSource
from gpuregress.gpu.errors import UnsupportedError as UnsupportedError
from gpuregress.gpu.errors import UsageError as UsageError
from gpuregress.gpu.records import Record


class ClusterLost(DeviceError):
    """The scheduler of a cluster, or all of its workers, are gone: the cases that are left have no result."""


class JobError(Record):
    """One error in a job file.

    Attributes:
        path: the job file.
        line: the line of the key or value, counted from 1, or None where no line is to blame.
        key: the dotted key, as `buffers.x.shape[0]`, or "" for the whole file.
        message: what is wrong and what would have been right.
    """

    path: Path
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        """`configs/reduce.yaml:12: buffers.x.shape[0]: …`."""
        where = str(self.path)
        if self.line is not None:
            where += f":{self.line}"
        return joined(": ", where, self.key, self.message)


class JobErrors(GpuregressError):
    """All errors in the jobs.

    Args:
        errors: at least one JobError; one that every case of a job repeats is kept once.
    """

    exit_code: int = ExitCode.WRONG_REQUEST

    def __init__(self, errors: tuple[JobError, ...]) -> None:
        self.errors = tuple(dict.fromkeys(errors))
        super().__init__("\n".join(str(error) for error in self.errors))


class UnknownNames(CompileError):
    """The source holds none of these kernels or variables.

    Args:
        messages: name → what to say, with the names that are there.
        source: the path of the source, "" where it is the only one.
    """

    def __init__(self, messages: Mapping[str, str], source: str = "") -> None:
        self.messages = dict(messages)
        self.source = source
        super().__init__("\n".join(messages.values()))


class CompilerStopped(CompileError):
    """The compiler crashed, or took too long; the source may be right."""


class MissingCompiler(InfeasibleSource):
    """The compiler of a kernel in Python is not installed; the source may be right."""


class KernelTimeout(GpuregressError):
    """A case was killed at its time limit."""

    exit_code: int = ExitCode.KERNEL_FAILED


class UserCodeError(HarnessError):
    """A user function of a fill failed, or returned a wrong result; the message names it."""

    exit_code: int = ExitCode.KERNEL_FAILED


class StorageError(HarnessError):
    """No space, no permission, or an unusable path."""


class DumpError(HarnessError):
    """A dump does not hold what its header says."""


class BaselineError(HarnessError):
    """A baseline was cut short or edited, or cannot be accepted."""


class NothingToDo(GpuregressError):
    """There was nothing to run or to compare."""

    exit_code: int = ExitCode.NOTHING_TO_DO


class NothingChanged(NothingToDo):
    """No job is touched by the change that is asked about: all is well."""

    exit_code: int = ExitCode.PASSED


class RunLocked(GpuregressError):
    """Another run holds the lock."""

    exit_code: int = ExitCode.LOCKED


class Interrupted(GpuregressError):
    """The user asked to stop."""

    exit_code: int = ExitCode.INTERRUPTED


INFEASIBLE = (InfeasibleSource.__name__, LaunchRefused.__name__)
"""Classes of errors that `infeasible: skip` makes a skip of."""

_LACKING = {errno.ENOMEM: "memory", errno.EAGAIN: "processes or threads", errno.EMFILE: "open files"}
_LACKING_WORDS = {
    "can't start new thread": "processes or threads",
    "Cannot allocate memory": "memory",
    "cannot allocate memory": "memory",
    "failed to map segment": "memory",
    "out of memory": "memory",
}


def ran_out(error: BaseException | None) -> str:
    """Name the resource that the system or a limit (`ulimit`) lacked; "" for other errors."""
    while error is not None:
        if isinstance(error, MemoryError):
            return "memory"
        if isinstance(error, OSError) and error.errno in _LACKING:
            return _LACKING[error.errno]
        if lacking := next((what for words, what in _LACKING_WORDS.items() if words in str(error)), ""):
            return lacking
        error = error.__cause__ or error.__context__
    return ""


def public_name(error: GpuregressError) -> str:
    """The name of an error's class, or of the next base class that is of this module or one of a device's errors."""
    public = (__name__, device_errors.__name__)
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ in public)
