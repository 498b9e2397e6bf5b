"""The start of a run: the first worker loads its libraries while the parent loads its own and reads the jobs.

Nothing is imported here that the first worker's start can do without: it waits for all of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import storage
from gpuregress.interrupts import StopSignal
from gpuregress.session import device_slots
from gpuregress.session.request import Machinery, Request
from gpuregress.workers.process import DeviceSlot, Worker

if TYPE_CHECKING:
    from gpuregress.project import Project
    from gpuregress.records import RunSummary
    from gpuregress.session.events import Listener


def _deaf(_event: object) -> None:
    """Listens to nothing."""


class Opening:
    """A run whose first worker is on its way.

    Args:
        request: what to run.
        machinery: what a test may replace.
        stop: set when the user asks to stop.
        scratch: a folder for what workers print.

    Raises:
        UsageError: a device that means nothing.
        DeviceError: no such device.
    """

    def __init__(self, request: Request, machinery: Machinery, stop: StopSignal, scratch: Path) -> None:
        self._request, self._machinery, self._stop, self._scratch = request, machinery, stop, scratch
        self._first: Worker | None = None
        try:
            self._choice = self._choose()
        except BaseException:
            self.close()
            raise

    def _choose(self) -> device_slots.DeviceSelection:
        """Where the cases run; looking closely at the GPUs takes a while, so the likely one starts before."""
        likely = device_slots.likely(self._request.device)
        if likely is not None:
            self._start(likely)
        choice = device_slots.choose(self._request.device, self._request.jobs)
        choice = device_slots.ordered(choice, self._request.block_order)
        if likely != choice.slots[0]:
            self.close()
            self._start(choice.slots[0])
        return choice

    def _start(self, slot: DeviceSlot) -> None:
        self._first = Worker(slot, self._machinery.command, self._scratch / "worker-0.txt")

    def run(self, project: Project | Callable[[], Project], listen: Listener = _deaf) -> RunSummary:
        """Runs the cases that are asked for, once; see `run` below."""
        found = project() if callable(project) else project
        from gpuregress.session.execution import Execution  # noqa: PLC0415 - takes as long as the worker's start
        from gpuregress.workers.pool import Pool  # noqa: PLC0415 - as above

        first, self._first = self._first, None
        command, slots = self._machinery.command, self._choice.slots
        with Pool(slots, self._scratch, command=command, stop=self._stop, first=first) as pool:
            execution = Execution(found, self._request, listen, self._machinery, self._stop)
            return execution.execute(pool, self._choice)

    def close(self) -> None:
        """Ends a first worker that no run took."""
        first, self._first = self._first, None
        if first is not None:
            first.end(grace_s=0.0)


@contextlib.contextmanager
def opened(request: Request, machinery: Machinery | None = None) -> Iterator[Opening]:
    """Starts the first worker of a run; no worker is left when the block is over.

    Args:
        request: what to run, and where.
        machinery: for tests.

    Raises:
        UsageError: a device that means nothing.
        DeviceError: no such device.
    """
    machinery = machinery or Machinery()
    with (
        StopSignal() as stop,
        storage.scratch() as scratch,
        contextlib.closing(Opening(request, machinery, stop, scratch)) as opening,
    ):
        yield opening


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
    with opened(request, machinery) as opening:
        return opening.run(project, listen)
