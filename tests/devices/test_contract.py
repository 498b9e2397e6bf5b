"""The contract on each device that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuregress.devices import registry
from gpuregress.devices.base import Device
from tests.devices.contract import DeviceContract


class TestCpu(DeviceContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        pytest.importorskip("gpuregress.devices.cpu.device")
        with registry.open_device("cpu") as device:
            yield device


@pytest.mark.gpu
class TestCuda(DeviceContract):
    near_fault = "red-zone"

    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device
