"""Stand-alone run of one case.

    python -m gpuregress.execution.workers.alone --device cuda:0 TASK.json

It is the target of a debugger or of compute-sanitizer: no worker, no red zones, one run, and no dumps are kept.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuregress.execution import device_registry as registry
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, KernelFault
from gpuregress.foundation.escapes import entry
from gpuregress.foundation.records import Outcome, Task
from gpuregress.gpu.base import Device
from gpuregress.gpu.records import replace


def main(arguments: Sequence[str], opener: Callable[[str], Device] | None = None) -> int:
    """Run the task of a file.

    Args:
        arguments: `--device NAME TASK.json`.
        opener: opens a device by name; the registry's where none is given.

    Returns:
        0 where the case ran to its end, 3 where its kernel failed, 4 where it could not be run.
    """
    options = _parse(arguments)
    try:
        task = storage.read_record(Path(options.task), Task, "run the case again", is_sealed=False)
        opened = opener(options.device) if opener else registry.open_device(options.device, bare=True)
        with opened as device:
            outcome = _run(task, device)
            is_dead = device.info.card.sticky
    except GpuregressError as error:
        sys.stderr.write(entry(f"gpuregress: {error}") + "\n")
        return GpuregressError.exit_code
    sys.stdout.write("".join(f"{entry(line)}\n" for line in _summary(outcome)))
    sys.stdout.flush()
    code = {"done": 0, "fault": KernelFault.exit_code}.get(outcome.state, GpuregressError.exit_code)
    # A normal exit would print a page of pycuda's warnings.
    if is_dead:
        os._exit(code)
    return code


def _run(task: Task, device: Device) -> Outcome:
    with storage.scratch() as folder:
        log, dumps = folder / "launch.log", folder / "dumps"
        task = replace(task, log=str(log), dumps=str(dumps), device_label="")
        return run_case(device, task)


def _summary(outcome: Outcome) -> list[str]:
    if outcome.fault is not None:
        details = [f"  {line}" for line in outcome.fault.details]
        return [f"{outcome.case}: {outcome.fault.kind}: {outcome.fault.message}", *details]
    if outcome.state == "done":
        return [f"{outcome.case}: ran to its end"]
    return [f"{outcome.case}: {outcome.state}: {outcome.message}"]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gpuregress.execution.workers.alone", description="Runs one case of a run again."
    )
    parser.add_argument("--device", default="cuda:0", help="cpu or cuda:N")
    parser.add_argument("task", metavar="TASK.json", help="runs/RUN/alone/CASE.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
