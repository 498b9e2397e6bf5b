"""Session of one run: the first worker starts while the parent loads its libraries and the jobs.

Only modules that the start of a worker needs are imported here, because it waits for all of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.execution.workers.worker_process import DeviceSlot, Worker
from gpuregress.foundation import storage
from gpuregress.foundation.background import Background
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.gpu.records import replace
from gpuregress.session import device_slots
from gpuregress.session.run_request import Machinery, RunRequest

if TYPE_CHECKING:
    from gpuregress.execution.workers.pool import CasePool
    from gpuregress.foundation.records import RunSummary
    from gpuregress.jobs.plan import Plan
    from gpuregress.session.events import Listener
    from gpuregress.store.project import Project

MACHINERY = Machinery()
"""A test puts another one here."""


def _ignore(_event: object) -> None:
    """Listen to nothing."""


class Session:
    """A run whose first worker is starting.

    Args:
        request: what to run.
        stop: set when the user asks to stop.
        scratch: a folder for what workers print.

    """

    def __init__(self, request: RunRequest, stop: StopSignal, scratch: Path) -> None:
        self._request = request
        self._machinery = MACHINERY
        self._stop = stop
        self._scratch = scratch
        self._first: Worker | None = None
        if request.cluster:
            return
        try:
            likely = device_slots.likely(request.device)
            if likely is not None:
                self._start(likely)
            # NVIDIA's management library needs some 10 ms for each card: the libraries of this process load meanwhile.
            self._devices = Background(self._select_devices, "devices")
            if likely is None:
                # `run` raises the error, unless the project's settings name a cluster.
                with contextlib.suppress(GpuregressError):
                    self._selected_devices()
        except BaseException:
            self.close()
            raise

    def _select_devices(self) -> device_slots.DeviceSelection:
        devices = device_slots.select(self._request.device, self._request.jobs)
        return device_slots.with_block_order(devices, self._request.block_order)

    def _selected_devices(self) -> device_slots.DeviceSelection:
        """The devices; the worker that was started is on the first of them."""
        try:
            devices = self._devices.result()
        except GpuregressError:
            self.close()
            raise
        if self._first is None or self._first.slot != devices.slots[0]:
            self.close()
            self._start(devices.slots[0])
        return devices

    def _start(self, slot: DeviceSlot) -> None:
        self._first = Worker(slot, self._machinery.command, self._scratch / "worker-0.txt")

    def run(self, project: Project | Callable[[], Project], listen: Listener = _ignore) -> RunSummary:
        """Run the cases of the request, once; see `run` below."""
        if callable(project):
            project = project()
        from gpuregress.session import workflow  # noqa: PLC0415 - takes as long as the worker's start
        from gpuregress.session.run_context import RunContext  # noqa: PLC0415 - as above

        with self._opened_pool(project) as (devices, pool):
            context = RunContext(
                project=project,
                request=self._request,
                listen=listen,
                machinery=self._machinery,
                stop=self._stop,
                devices=devices,
                pool=pool,
            )
            return workflow.execute(context)

    @contextlib.contextmanager
    def _opened_pool(self, project: Project) -> Iterator[tuple[device_slots.DeviceSelection, CasePool]]:
        """The workers of this machine, or of the cluster that the request or the project names."""
        request, command = self._request, self._machinery.command
        address = project.settings.cluster.scheduler if request.cluster is None else request.cluster
        if not address:
            from gpuregress.execution.workers.pool import WorkerPool  # noqa: PLC0415 - as above

            devices = self._selected_devices()
            first, self._first = self._first, None
            with WorkerPool(devices.slots, self._scratch, command=command, stop=self._stop, first=first) as workers:
                yield devices, workers
            return
        from gpuregress.execution.cluster.pool import ClusterPool, PoolOptions  # noqa: PLC0415 - few runs need it
        from gpuregress.virtual_gpu.parallel import block_order  # noqa: PLC0415 - as above

        self.close()
        environment = {block_order.VARIABLE: request.block_order} if request.block_order else {}
        options = PoolOptions(
            device=request.device,
            jobs=request.jobs,
            wait_s=project.settings.cluster.wait,
            environment=environment,
            command=tuple(command or ()),
        )
        with ClusterPool(address, os.urandom(6).hex(), self._scratch, options, self._stop) as cluster:
            yield device_slots.of_cluster(cluster.devices, cluster.labels), cluster

    def close(self) -> None:
        """End a first worker that no run took."""
        first, self._first = self._first, None
        if first is not None:
            first.end(grace_s=0.0)


@contextlib.contextmanager
def opened(request: RunRequest, stop: StopSignal | None = None) -> Iterator[Session]:
    """Start the first worker of a run; no worker is left when the block is over.

    Args:
        request: what to run, and where.
        stop: ends the run when it is set; where none is given, ^C and SIGTERM do.

    Raises:
        UsageError: the device has no valid name.
        DeviceError: no such device.
    """
    with (
        contextlib.nullcontext(stop) if stop is not None else StopSignal() as signalled,
        storage.scratch() as scratch,
        contextlib.closing(Session(request, signalled, scratch)) as session,
    ):
        yield session


def run(
    project: Project, cases: Plan | Sequence[str], request: RunRequest, *, listen: Listener = _ignore
) -> RunSummary:
    """Run cases and reach a verdict on each: the one entry for commands, experiments and nights.

    Args:
        project: whose jobs, baselines and runs.
        cases: selectors, as `RunRequest` has them; or cases that are planned already.
        request: where to run them, and how.
        listen: receives the run's events.

    Returns:
        Every verdict; after ^C those of the cases that had finished.

    Raises:
        JobErrors: a job is wrong; nothing was run.
        NothingToDo: no case is selected.
        UsageError: a selector or device that means nothing.
        DeviceError: no such device.
        StorageError: no space, no permission.
    """
    if isinstance(cases, Sequence):
        request = replace(request, selectors=tuple(cases))
    else:
        request = replace(request, planned=cases)
    with opened(request) as session:
        return session.run(project, listen)
