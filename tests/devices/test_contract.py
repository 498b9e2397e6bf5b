"""The contract on each device that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.gpu.base import Device
from tests.devices import faulting
from tests.devices.contract import DeviceContract


class TestCpu(DeviceContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        pytest.importorskip("gpuregress.virtual_gpu.device")
        with registry.open_device("cpu") as device:
            yield device


@pytest.mark.gpu
class TestCuda(DeviceContract):
    near_fault = "red-zone"

    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        ("far_read", "out-of-bounds", "read of 4 bytes at x[17179869184] (x has 64)"),
        ("far_write", "out-of-bounds", "write of 4 bytes at y[17179869184] (y has 64)"),
        ("through_null", "out-of-bounds", "null pointer"),
        ("misaligned", "misaligned", "misaligned read of 4 bytes at x[0]"),
        ("asserts", "assert", "x[threadIdx.x] != 0"),
        ("traps", "trap", "trap"),
    ],
)
def test_the_cpu_names_each_fault_and_its_line_and_goes_on(kernel: str, kind: str, words: str) -> None:
    actual = faulting.run("cpu", kernel)
    assert actual["kind"] == kind
    assert words in actual["message"]
    assert f"faults.cu:{3 + faulting.KERNELS.index(kernel)}" in actual["message"]
    assert not actual["sticky"]
    assert actual["again"] == "works"
