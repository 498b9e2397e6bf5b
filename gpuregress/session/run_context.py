"""Context of one run: what every step may use and none changes."""

from __future__ import annotations

import time
from datetime import datetime

from msgspec import field

from gpuregress.execution.workers.pool import CasePool
from gpuregress.foundation import clock
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.gpu.records import Record
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.events import Listener
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project


class RunContext(Record):
    """The request, the devices and the services of a run.

    Attributes:
        project: whose jobs, baselines and runs.
        request: what to run.
        listen: receives the run's events.
        machinery: parts that a test may replace.
        stop: set when the user asks to stop.
        devices: where the cases run.
        pool: the workers on these devices.
        started: UTC.
        start_s: the same moment, as time.perf_counter.
    """

    project: Project
    request: RunRequest
    listen: Listener
    machinery: Machinery
    stop: StopSignal
    devices: DeviceSelection
    pool: CasePool
    started: datetime = field(default_factory=clock.now)
    start_s: float = field(default_factory=time.perf_counter)

    @property
    def started_text(self) -> str:
        """The start of the run, ISO 8601."""
        return f"{self.started:%Y-%m-%dT%H:%M:%SZ}"
