"""Outcomes of cases that their worker did not finish.

It never started, crashed, was killed at a limit, or cannot be killed.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from gpuregress.execution.workers.channel import Message
from gpuregress.execution.workers.watchdog import LAUNCHES, Phase
from gpuregress.execution.workers.worker_process import StoppedLaunch, Worker
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Fault, FurtherRun, Observations, Outcome, Task, from_json
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import EXPLANATION
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchLog


def lost(worker: Worker) -> str:
    """Describe a slot whose worker outlives SIGKILL."""
    return (
        f"{worker.slot.label} is lost: its worker (process {worker.process.pid}) cannot be killed; "
        "the device may need a reset"
    )


def startup_error(worker: Worker) -> str:
    """Describe the end of a worker that never became ready, with the last line it wrote."""
    how = worker.death()
    if worker.watch.late is not None:
        how = f"killed, because it was not ready after {worker.watch.limit:g} s (does its driver or its disk hang?)"
    message = f"a worker for {worker.slot.label} did not start: {how}"
    tail = worker.tail()
    return f"{message}: {tail[-1].strip()}" if tail else message


def refused(task: Task, why: str, details: tuple[str, ...] = (), error: str = "DeviceError") -> Outcome:
    """Return the outcome of a case of which nothing is known but that it could not be run."""
    observed = Observations(error=error, details=details)
    return Outcome(case=task.case.name, state="error", message=why, observations=observed)


def crashed(worker: Worker, task: Task) -> Outcome:
    """Return the outcome of a case whose worker died: a fault of its kernel only if that is the cause."""
    seconds = time.monotonic() - worker.began
    phase, tail = worker.watch.phase, worker.tail()
    cause = worker.cause(phase)
    number, call = _unfinished_launch(task)
    where = f"in launch {number}, {call}" if number is not None else f"while {phase} the case"
    if phase is Phase.COMPUTING:
        where = f"in a Python function of the job ({_user_functions(task)})"
    if cause.whose == "kernel" and number is not None:
        where = f"in {call}"  # the fault has the number
    why = f"{worker.death()} {where}"
    if cause.why:
        why += f": {cause.why}"
    if cause.whose == "kernel" and phase is Phase.REFERENCE:
        return replace(refused(task, f"the reference's own kernel failed: {why}", tail), seconds=seconds)
    if cause.whose == "kernel":
        fault = Fault("crash", why, details=tail, launch=number, position=_position(task, number))
        return Outcome(case=task.case.name, state="fault", fault=fault, seconds=seconds)
    error = "UserCodeError" if cause.whose == "user" else "HarnessError"
    return replace(refused(task, why, tail, error), seconds=seconds)


def overdue(worker: Worker, task: Task, late: Phase, before: StoppedLaunch | None = None) -> Outcome:
    """Return the outcome of a case whose worker was killed at the limit of a phase.

    Args:
        late: the phase.
        before: what its code reported that was not optimised, if that was tried before.
    """
    seconds, limit = time.monotonic() - worker.began, worker.watch.limit
    if late is Phase.COMPUTING:
        why = f"a Python function of the job ({_user_functions(task)}) did not return within {limit:g} s"
        return replace(refused(task, why, worker.tail(), "UserCodeError"), seconds=seconds)
    if late not in LAUNCHES:
        why = f"{worker.slot.label} did not answer for {limit:g} s while {late} the case"
        return replace(refused(task, why, worker.tail()), seconds=seconds)
    number, call = _unfinished_launch(task)
    launch = f" in {call}" if number is not None else ""
    if late is Phase.REFERENCE:
        why = f"the reference's own kernel was killed at its limit of {limit:g} s{launch}"
        return replace(refused(task, why, worker.tail()), seconds=seconds)
    why, stopped = f"killed at its limit of {limit:g} s{launch}", worker.stopped
    if stopped.lines:
        why += f"; it was here: {stopped.lines[0]}"
    elif before is not None and before.lines:
        stopped = before
        why += f"; before its code was optimised, it was here: {stopped.lines[0]}"
    fault = Fault("timeout", why, details=stopped.lines[1:], launch=number, position=_position(task, number))
    return Outcome(case=task.case.name, state="timeout", fault=fault, source_line=stopped.source_line, seconds=seconds)


def under_schedule(interim: Message, task: Task, ended: Outcome) -> Outcome:
    """Add the end of a worker under a further schedule to what the case gave until then."""
    known = from_json(Outcome, interim["outcome"])
    if ended.fault is None:
        return ended
    name = interim["schedule"]
    runs = list(known.observations.runs)
    if name != EXPLANATION:
        runs.append(FurtherRun("schedule", name, fault=f"{ended.fault.kind}: {ended.fault.message}"))
        done = [run.name for run in runs if run.axis == "schedule"]
        left = task.case.settings.schedules[1 + len(done) :]
        runs += (FurtherRun("schedule", other, left_out=f"{name} ended the worker") for other in left)
    observed = replace(known.observations, runs=tuple(runs))
    return replace(known, observations=observed, seconds=ended.seconds)


def _user_functions(task: Task) -> str:
    """List the user functions that run in a worker: fills and references."""
    return ", ".join(dict.fromkeys(path.rpartition("/")[2] for path in task.case.user_functions))


def _position(task: Task, number: int | None) -> int | None:
    """Find the case's own launch with a log number; its own come before its repeats and references."""
    if number is None or number >= task.first_launch + len(task.case.launches):
        return None
    return number - task.first_launch


def log_retry(task: Task, why: str, otherwise: int | None = None) -> None:
    """Write to the log that the launch under way was stopped, so that it is blamed for nothing."""
    unfinished, _ = _unfinished_launch(task)
    number = otherwise if unfinished is None else unfinished
    if number is not None:
        with contextlib.suppress(StorageError), contextlib.closing(LaunchLog(Path(task.log))) as log:
            log.retry(number, why)


def _unfinished_launch(task: Task) -> tuple[int | None, str]:
    """Find the launch of this case that the log says never ended."""
    try:
        unfinished = launch_log.read(Path(task.log)).unfinished
    except StorageError:
        return None, ""
    for event in reversed(unfinished):
        if event.case == task.case.name:
            under = f" under the schedule {event.schedule}" if event.schedule else ""
            return event.number, event.call + under
    return None, ""
