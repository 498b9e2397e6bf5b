"""Devices by name, and the process of each."""

from __future__ import annotations

import pytest

from gpuregress.api import kernel
from gpuregress.foundation.errors import UsageError


def test_a_device_has_one_process() -> None:
    cpu = kernel.open_device("cpu")
    assert cpu.kind == "cpu"
    assert kernel.process_of(cpu) is kernel.process_of(kernel.open_device("cpu"))
    kernel.close()
    with pytest.raises(UsageError, match="no device is called 'tpu'"):
        kernel.open_device("tpu")
