"""Runs one faulty kernel in a process of its own, since a fault may end its use of the GPU; says as JSON what came."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpuregress.execution import device_registry as registry
from gpuregress.foundation.errors import GpuregressError, KernelFault
from tests.devices.bench import Bench
from tests.devices.programs import PROGRAMS

KERNELS = PROGRAMS["faults"].kernels
"""In the order of their lines, the first on line 3."""


def run(device_name: str, kernel: str) -> dict[str, Any]:
    """Launches `kernel` of the program `faults`, then tries the device again."""
    with registry.open_device(device_name) as device, TemporaryDirectory() as folder:
        bench = Bench(device, Path(folder), "faults")
        x, y = bench.put("x", np.zeros(64, np.int32)), bench.put("y", np.zeros(64, np.int32))
        _say("launching")
        actual: dict[str, Any] = {"kind": "none"}
        try:
            bench.launch(kernel, 1, 32, y, x)
        except KernelFault as fault:
            actual = {"kind": fault.kind, "message": str(fault), "details": fault.details, "sticky": fault.sticky}
        try:
            device.allocate("again", 4).read()
            actual["again"] = "works"
        except GpuregressError as error:
            actual["again"] = str(error)
        device.free_all()
        actual["marked"] = device.info.card.sticky
    return actual


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _say(json.dumps(run(sys.argv[1], sys.argv[2])))
