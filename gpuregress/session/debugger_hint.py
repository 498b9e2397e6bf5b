"""Command that starts cuda-gdb on a case that faulted on a GPU.

The case is saved in a file of its own.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from gpuregress.execution.workers import alone
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Task

FOLDER = "alone"


def command(task: Task, run: Path, environment: Mapping[str, str]) -> str:
    """Save the case and name the command that debugs it; "" where it cannot be saved.

    Args:
        task: of the run, whose kernel failed.
        run: the run's folder.
        environment: what the worker was given, which card it sees.
    """
    path = run / FOLDER / f"{task.case.name}.json"
    try:
        alone.save(task, path)
    except StorageError:
        return ""
    settings = [f"{name}={value}" for name, value in environment.items()]
    program = ["cuda-gdb", "--args", sys.executable, "-m", "gpuregress.execution.workers.alone", str(path)]
    return "to debug this case alone: " + shlex.join(["env", *settings, *program])
