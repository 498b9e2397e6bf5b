"""Tensor maps on each device that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import TensorMap
from gpuregress.gpu.base import Device, check_size
from tests.devices.tensor_map_contract import TensorMapContract
from tests.fakes import FakeMemory

pytestmark = pytest.mark.usefixtures("without_llvm_passes")


class TestCpu(TensorMapContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        with registry.open_device("cpu") as device:
            yield device


@pytest.mark.gpu
class TestCuda(TensorMapContract):
    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device


def test_a_buffer_holds_its_tensor() -> None:
    given = TensorMap("float32", (4, 2), (32,), (4, 1), (1, 1))
    check_size(FakeMemory("x", 48, 0), given)
    with pytest.raises(DeviceError, match="x has 47 bytes; its tensor map has 48"):
        check_size(FakeMemory("x", 47, 0), given)
