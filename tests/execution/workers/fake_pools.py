"""Pools of workers that run a fake device."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome, Task
from tests import fakes

FAKE = (sys.executable, "-m", "tests.fake_worker")


def tasks(folder: Path, cases: Sequence[Case]) -> list[Task]:
    program = fakes.program()
    return [
        Task(case, program, str(folder / "launch.log"), 100 * number, str(folder / "dumps"))
        for number, case in enumerate(cases, 1)
    ]


@contextlib.contextmanager
def pool(
    folder: Path,
    slots: int = 1,
    device: str = "cpu",
    stop: StopSignal | None = None,
    *,
    tries_slow_code: bool = True,
    keeps_faulted: bool = False,
) -> Iterator[WorkerPool]:
    places = [DeviceSlot(device, f"fake:{number}") for number in range(slots)]
    made = WorkerPool(
        places, folder, command=FAKE, stop=stop, tries_slow_code=tries_slow_code, keeps_faulted=keeps_faulted
    )
    with made:
        yield made


def outcomes(folder: Path, *cases: Case, slots: int = 1, device: str = "cpu") -> dict[str, Outcome]:
    with pool(folder, slots, device) as made:
        ended = [event for event in made.run(tasks(folder, cases)) if isinstance(event, Outcome)]
    assert sorted(outcome.case for outcome in ended) == sorted(case.name for case in cases)
    return {outcome.case: outcome for outcome in ended}
