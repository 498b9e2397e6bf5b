"""Session of one run: the one entry for commands, experiments and nights."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.execution.workers import worker_spawn
from gpuregress.execution.workers.pool import CasePool, WorkerPool
from gpuregress.foundation import storage
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
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


def run(
    project: Project,
    cases: Plan | Sequence[str],
    request: RunRequest,
    *,
    listen: Listener = ignore,
    stop: StopSignal | None = None,
) -> RunSummary:
    """Run cases and reach a verdict on each; no worker is left when it returns.

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
        if stop is None:
            stop = held.enter_context(StopSignal())
        scratch = held.enter_context(storage.scratch())
        pool: CasePool
        if address:
            worker_spawn.drop()  # of a command that did not know the settings: no case runs on this host
            cluster = held.enter_context(_cluster_pool(address, project, request, scratch, stop))
            devices = device_slots.of_cluster(cluster.devices, cluster.labels)
            pool = cluster
        else:
            try:
                devices = device_slots.select(request.device, request.jobs)
            except DeviceError:
                if request.selectors and not request.rerun_failed:  # a name that means nothing is reported first
                    overrides = CaseOverrides(parameters=request.parameters)
                    plan.make(project, request.selectors, overrides=overrides, keep_going=True)
                raise
            devices = device_slots.with_block_order(devices, request.block_order)
            pool = held.enter_context(WorkerPool(devices.slots, scratch, command=MACHINERY.command, stop=stop))
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


def _cluster_pool(address: str, project: Project, request: RunRequest, scratch: Path, stop: StopSignal) -> ClusterPool:
    """The workers on the hosts of a Dask cluster."""
    from gpuregress.execution.cluster.pool import ClusterPool, PoolOptions  # noqa: PLC0415 - asyncio and TLS, 30 ms

    environment = {block_order.VARIABLE: request.block_order} if request.block_order else {}
    options = PoolOptions(
        request.device, request.jobs, project.settings.cluster.wait, environment, tuple(MACHINERY.command or ())
    )
    return ClusterPool(address, os.urandom(6).hex(), scratch, options, stop)
