"""Isolation of the user's comparison and check functions in a child process.

A function that hangs or crashes fails its case and no other.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import field

from gpuregress.execution.workers.watchdog import Phase
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker, WorkerEnded, WorkerLate
from gpuregress.foundation import storage
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.interrupts import FROM_OUTSIDE, StopSignal
from gpuregress.foundation.records import Case, Check, Comparison, Dump, PythonFunction, Rule, from_json
from gpuregress.gpu.records import Record, replace

if TYPE_CHECKING:
    from gpuregress.judge.buffer_pairs import BufferPair

MOST_PROCESSES = 4
"""Processes that wait for a further call; each takes some 60 MB."""
COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "gpuregress.judge.user_code_child")


class UserCodeRequest(Record):
    """One call for the child process: a check of a dump, or a comparison of two.

    Attributes:
        case: the case that ran.
        actual: the buffer's dump.
        check: the check; None: a comparison.
        against: for a comparison, as `expected` and `rule`: see `BufferPair`.
        expected: the other dump.
        rule: its `verify` names the function.
    """

    case: Case
    actual: Dump
    check: Check | None = None
    against: str = ""
    expected: Dump | None = None
    rule: Rule = field(default_factory=Rule)


class UserCodeProcess:
    """Child processes for the user's functions, as a context manager; each started with its first call.

    Functions of different folders have different processes, so that nothing that one leaves behind reaches another.

    Args:
        stop: set when the user asks to stop.

    Attributes:
        unanswered: calls that took too long, or during which the process died or sent a damaged message.
    """

    def __init__(self, stop: StopSignal) -> None:
        self.unanswered = 0
        self._stop = stop
        self._processes: dict[frozenset[str], Worker] = {}
        self._count = 0
        self._held = contextlib.ExitStack()
        self._scratch: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """End the processes."""
        for folders in list(self._processes):
            self._end(folders)
        self._held.close()

    def compare(self, pair: BufferPair) -> Comparison:
        """Compare a pair by the user's `verify` function.

        Raises:
            HarnessError: the process was killed from outside.
            Interrupted: the user asked to stop.
        """
        rule, actual = pair.request.rule, pair.actual
        request = UserCodeRequest(
            pair.case, actual, check=None, against=pair.against, expected=pair.expected, rule=rule
        )
        failed = Comparison(
            actual.buffer, pair.against, "verify", same=False, identical=False, of=actual.count, unanswered=True
        )
        return self._call(request, str(rule.verify), failed)

    def check(self, check: Check, case: Case, actual: Dump) -> Comparison:
        """Check a dump by the user's function.

        Raises:
            HarnessError: the process was killed from outside.
            Interrupted: the user asked to stop.
        """
        failed = Comparison(
            actual.buffer, "check", check.name, same=False, identical=False, of=actual.count, unanswered=True
        )
        return self._call(UserCodeRequest(case, actual, check), str(check.setting), failed)

    def _call(self, request: UserCodeRequest, function: str, failed: Comparison) -> Comparison:
        folders, limit_s = _folders(request.case, function), request.case.limits.timeout
        process = self._started(folders)
        name = f"{Path(function.rpartition(':')[0]).name}:{function.rpartition(':')[2]}"
        try:
            process.channel.send({"call": request})
            process.watch.enter(Phase.COMPUTING, time.monotonic(), limit_s)
            answer = process.next_message(self._stop)
        except WorkerLate:
            message = f"{name} did not return within {limit_s:g} s"
        except HarnessError as error:
            self.unanswered += 1
            self._end(folders)
            return replace(failed, message=f"{name}: {error}")
        except (OSError, WorkerEnded):
            process.end(grace_s=0.5)
            message = f"{name}: {process.death().replace('worker process', 'process it ran in')}"
            why = FROM_OUTSIDE.get(-(process.process.returncode or 0))
            if why is not None:
                self.unanswered += 1
                self._end(folders)
                raise HarnessError(f"{message}: {why}") from None
        else:
            if answer.get("last"):
                self._end(folders)
            return _comparison_in(answer)
        self.unanswered += 1
        tail = process.tail()
        self._end(folders)
        return replace(failed, message=message + (f"; it last said: {tail[-1]}" if tail else ""))

    def _started(self, folders: frozenset[str]) -> Worker:
        """The process of some folders."""
        process = self._processes.pop(folders, None)
        if process is not None:
            self._processes[folders] = process  # last: that of the earliest call is ended first
        else:
            if len(self._processes) == MOST_PROCESSES:
                longest_unused = next(iter(self._processes))
                self._end(longest_unused)
            self._scratch = self._scratch or self._held.enter_context(storage.scratch())
            self._count += 1
            printed = self._scratch / f"printed-{self._count}.txt"
            process = self._processes[folders] = Worker(DeviceSlot("cpu", "the user's code"), COMMAND, printed)
            with contextlib.suppress(WorkerEnded, WorkerLate):  # its start is not the user's time
                process.next_message(self._stop)
        return process

    def _end(self, folders: frozenset[str]) -> None:
        process = self._processes.pop(folders, None)
        if process is not None:
            process.end(grace_s=0.1)


def _folders(case: Case, function: str) -> frozenset[str]:
    """The folders of the code that a call may run: of the function, and of fills that it may be compared with."""
    functions = [function, *(fill.options.function for fill in case.fills if isinstance(fill.options, PythonFunction))]
    paths = (path.rpartition(":")[0] for path in functions)
    return frozenset(str(Path(path).parent) for path in paths if path.startswith("/"))


def needs(case: Case, check: Check) -> bool:
    """Whether a check runs code of the user: its own function, or that of a fill it compares with."""
    return check.name == "python" or any(fill.runs_user_code for fill in case.fills)


def _comparison_in(answer: dict[str, Any]) -> Comparison:
    if "bug" in answer:
        raise HarnessError(answer["bug"])
    return from_json(Comparison, answer["comparison"])
