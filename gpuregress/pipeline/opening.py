"""The start of a run: the first worker loads its libraries while the parent loads its own and reads the jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.pipeline import seats
from gpuregress.pipeline.events import Listener
from gpuregress.pipeline.interrupts import Bell
from gpuregress.pipeline.request import Machinery, Request
from gpuregress.workers.pool import Pool

if TYPE_CHECKING:
    from gpuregress.project import Project
    from gpuregress.records import RunSummary


def _deaf(_event: object) -> None:
    """Listens to nothing."""


def run(
    project: Project | Callable[[], Project],
    request: Request,
    *,
    listen: Listener = _deaf,
    machinery: Machinery | None = None,
) -> RunSummary:
    """Runs the cases that are asked for.

    Args:
        project: whose jobs, baselines and runs; or what finds it, called while the first worker starts.
        request: what to run, and where.
        listen: told what happens.
        machinery: for tests.

    Returns:
        Every verdict; after ^C those of the cases that had finished.

    Raises:
        JobErrors: a job is wrong; nothing was run.
        NothingToDo: no case is asked for.
        UsageError: a selector or device that means nothing.
        DeviceError: no such device.
        StorageError: no space, no permission.
    """
    machinery = machinery or Machinery()
    with Bell() as bell:
        choice = seats.ordered(seats.choose(request.device, request.jobs), request.block_order)
        with (
            tempfile.TemporaryDirectory(prefix="gpuregress-") as scratch,
            Pool(choice.seats, Path(scratch), command=machinery.command, bell=bell) as pool,
        ):
            pool.warm(1)
            found = project() if callable(project) else project
            from gpuregress.pipeline.steps import Execution  # noqa: PLC0415 - takes as long as the worker's start

            return Execution(found, request, listen, machinery, bell).execute(pool, choice)
