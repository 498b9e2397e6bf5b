"""One launch inside the process, on the fake device."""

from __future__ import annotations

import os

import numpy as np
import pytest

from gpuregress.execution.workers.direct import child
from gpuregress.execution.workers.direct.child import SharedMemory
from gpuregress.execution.workers.direct.messages import Contents, LaunchCall
from gpuregress.foundation.errors import DeviceError, KernelFault
from gpuregress.foundation.records import Argument, LaunchShape
from gpuregress.gpu.records import replace
from tests.fakes import FakeDevice, program

CALL = LaunchCall(
    program(),
    "twice",
    LaunchShape((1, 1, 1), (8, 1, 1)),
    (Argument("buffer", buffer="out"), Argument("buffer", buffer="x")),
    (Contents("out", 0, 32, 4, is_output=True), Contents("x", 64, 32, 4)),
    4096,
    1 << 20,
)


@pytest.fixture
def memory() -> SharedMemory:
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, 4096)
    made = SharedMemory(descriptor)
    made.of_size(4096)[64:96] = np.arange(8, dtype=np.float32).view(np.uint8)
    return made


def test_outputs_are_written_into_the_shared_memory(memory: SharedMemory) -> None:
    phases: list[str] = []
    device = FakeDevice()
    result = child.launch(device, CALL, memory, phases.append)
    assert memory.of_size(4096)[:32].view(np.float32).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert (phases, result.elapsed_ms, device.heap) == (["launching"], 0.5, 1 << 20)
    child.launch(FakeDevice(is_optimised=False), CALL, memory, phases.append)
    assert phases[1:] == ["trying"]


def test_inputs_are_not_read_back(memory: SharedMemory) -> None:
    call = replace(CALL, contents=(replace(CALL.contents[0], is_output=False), CALL.contents[1]))
    child.launch(FakeDevice(), call, memory, lambda _phase: None)
    assert not memory.of_size(4096)[:32].any()


def test_a_variable_is_filled_and_must_be_large_enough(memory: SharedMemory) -> None:
    table = Contents("::d_table", 128, 64, 4, is_output=True, symbol="d_table")
    memory.of_size(4096)[128:192] = 7
    child.launch(FakeDevice(), replace(CALL, contents=(*CALL.contents, table)), memory, lambda _phase: None)
    assert (memory.of_size(4096)[128:192] == 7).all()
    large = replace(table, size=65)
    with pytest.raises(DeviceError, match="the variable d_table has 64 bytes; 65 were given"):
        child.launch(FakeDevice(), replace(CALL, contents=(*CALL.contents, large)), memory, lambda _phase: None)


def test_a_cluster_that_the_kernel_does_not_have_is_refused(memory: SharedMemory) -> None:
    call = replace(CALL, cluster=(2, 1, 1))
    with pytest.raises(DeviceError, match="twice has clusters of 1 x 1 x 1 blocks, not of 2 x 1 x 1"):
        child.launch(FakeDevice(), call, memory, lambda _phase: None)


def test_a_fault_leaves_the_outputs_as_they_were(memory: SharedMemory) -> None:
    with pytest.raises(KernelFault):
        child.launch(FakeDevice(), replace(CALL, kernel="fault"), memory, lambda _phase: None)
    assert not memory.of_size(4096)[:32].any()
