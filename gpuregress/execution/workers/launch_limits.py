"""Time limits of launches: seconds of the clock, or CPU time where a task has a limit of its own.

Such a limit is a multiple of what the launches took before. A busy machine gives them less CPU time than then, and
would let one that is well seem to hang.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuregress.execution.workers.watchdog import Phase
from gpuregress.gpu.schedules import WATCHED_SLOWDOWN

if TYPE_CHECKING:
    from gpuregress.execution.workers.worker_process import Worker
    from gpuregress.foundation.records import Task

_OWN = (Phase.LAUNCHING, Phase.TRYING, Phase.WATCHING)
_LEAST_SHARE = 0.5
"""Of its limit, the CPU time that a launch must have had before it is ended."""
_LEAST_S = 0.05
"""Seconds between two looks at the CPU time."""


def limit_s(task: Task, phase: Phase) -> float:
    """Return the limit of a phase: the case's, but for launches that have one of their own.

    It is longer where all accesses are watched.
    """
    limit = task.launch_limit_s if _has_own(task, phase) else task.case.limits.timeout
    return WATCHED_SLOWDOWN * limit if phase is Phase.WATCHING else limit


def put_off(worker: Worker, now: float) -> None:
    """Put off the end of launches with a limit of their own that had too little CPU time, up to the case's limit.

    Args:
        worker: whose phase may be over.
        now: seconds on the clock of its watch.
    """
    watch, task = worker.watch, worker.task
    if task is None or not watch.is_over(now) or not _has_own(task, watch.phase):
        return
    most_s = task.case.limits.timeout * watch.limit / task.launch_limit_s
    left_s = watch.began + most_s - now
    lacking_s = _LEAST_SHARE * watch.limit - (worker.cpu_s() - worker.cpu_before_s)
    if left_s > 0 and lacking_s > 0:
        watch.deadline = now + min(left_s, max(lacking_s, _LEAST_S))


def _has_own(task: Task, phase: Phase) -> bool:
    return phase in _OWN and task.launch_limit_s > 0
