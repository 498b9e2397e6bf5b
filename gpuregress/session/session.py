"""Session of one run: the one entry for commands, experiments and nights."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.execution.workers import worker_spawn
from gpuregress.execution.workers.pool import CasePool, WorkerPool
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation import storage
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import MutableRecord, replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseOverrides, Plan
from gpuregress.session import device_slots, workflow
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_context import RunContext
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project
from gpuregress.virtual_gpu.parallel import block_order

if TYPE_CHECKING:
    from gpuregress.execution.cluster.pool import ClusterPool

MACHINERY = Machinery()
"""A test puts another one here."""


class _KeptWorkers(MutableRecord):
    """The workers that several runs share, as soon as the first one has started them."""

    held: contextlib.ExitStack
    stop: StopSignal
    slots: tuple[DeviceSlot, ...] = ()
    pool: WorkerPool | None = None


_kept: ContextVar[_KeptWorkers | None] = ContextVar("kept_workers", default=None)


@contextlib.contextmanager
def keeping_workers() -> Iterator[None]:
    """Keep the workers of a run for the next ones on the same devices, until the block is over."""
    with contextlib.ExitStack() as held:
        kept = _KeptWorkers(held, held.enter_context(StopSignal()))
        held.callback(_kept.reset, _kept.set(kept))
        yield


def run(
    project: Project,
    cases: Plan | Sequence[str],
    request: RunRequest,
    *,
    listen: Listener = ignore,
    stop: StopSignal | None = None,
) -> RunSummary:
    """Run cases and reach a verdict on each; no worker is left when it returns, but for `keeping_workers`.

    Args:
        project: whose jobs, baselines and runs.
        cases: selectors, as `RunRequest` has them; or cases that are planned already.
        request: where to run them, and how.
        listen: receives the run's events.
        stop: ends the run when it is set; where none is given, ^C and SIGTERM do.

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
    address = request.cluster
    if address is None:
        address = project.settings.cluster.scheduler
    with contextlib.ExitStack() as held:
        kept = _kept.get()
        if stop is None:
            stop = kept.stop if kept is not None else held.enter_context(StopSignal())
        scratch = held.enter_context(storage.scratch())
        pool: CasePool
        if address:
            worker_spawn.drop()  # of a command that did not know the settings: no case runs on this host
            _refuse_unknown_names(project, request)  # before the scheduler is waited for
            cluster = held.enter_context(_cluster_pool(address, project, request, scratch, stop))
            devices = device_slots.of_cluster(cluster.devices, cluster.labels)
            pool = cluster
        else:
            try:
                devices = device_slots.select(request.device, request.jobs)
            except DeviceError:
                _refuse_unknown_names(project, request)
                raise
            devices = device_slots.with_block_order(devices, request.block_order)
            pool = held.enter_context(_worker_pool(devices.slots, scratch, stop))
            pool.warm(1)  # the first worker starts while the jobs are planned
        context = RunContext(
            project=project,
            request=request,
            listen=listen,
            machinery=MACHINERY,
            stop=stop,
            devices=devices,
            pool=pool,
        )
        return workflow.execute(context)


def _refuse_unknown_names(project: Project, request: RunRequest) -> None:
    """Report a selector that means nothing before what is wrong with the devices."""
    if request.selectors and not request.rerun_failed:
        plan.make(project, request.selectors, overrides=CaseOverrides(parameters=request.parameters), keep_going=True)


@contextlib.contextmanager
def _worker_pool(slots: tuple[DeviceSlot, ...], scratch: Path, stop: StopSignal) -> Iterator[WorkerPool]:
    """The workers on this machine: those that are kept, or others that end with the run."""
    kept = _kept.get()
    if kept is None or kept.stop is not stop or kept.slots not in ((), slots):
        with WorkerPool(slots, scratch, command=MACHINERY.command, stop=stop) as pool:
            yield pool
        return
    if kept.pool is None or kept.pool.is_lost:
        folder = kept.held.enter_context(storage.scratch())
        pool = WorkerPool(slots, folder, command=MACHINERY.command, stop=stop, keeps_faulted=True)
        kept.pool, kept.slots = kept.held.enter_context(pool), slots
    try:
        yield kept.pool
    finally:
        kept.pool.abandon()


def _cluster_pool(address: str, project: Project, request: RunRequest, scratch: Path, stop: StopSignal) -> ClusterPool:
    """The workers on the hosts of a Dask cluster."""
    from gpuregress.execution.cluster.pool import ClusterPool, PoolOptions  # noqa: PLC0415 - asyncio and TLS, 30 ms

    environment = {block_order.VARIABLE: request.block_order} if request.block_order else {}
    options = PoolOptions(
        request.device, request.jobs, project.settings.cluster.wait, environment, tuple(MACHINERY.command or ())
    )
    return ClusterPool(address, os.urandom(6).hex(), scratch, options, stop)
