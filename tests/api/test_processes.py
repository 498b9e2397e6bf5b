"""Devices by name, and the process of each."""

from __future__ import annotations

import pytest

from gpuregress.api import processes
from gpuregress.foundation.errors import UsageError


def test_a_device_has_one_process() -> None:
    cpu = processes.device("cpu")
    assert cpu.kind == "cpu"
    assert processes.process_of(cpu) is processes.process_of(processes.device("cpu"))
    processes.close()
    with pytest.raises(UsageError, match="no device is called 'tpu'"):
        processes.device("tpu")
