"""Our side of the boundary to pycuda, with a fake card behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.cuda import cooperative, memory
from gpuregress.execution.cuda.device import BUSY_KERNEL, PROBE_KERNEL, CudaDevice, probe_output
from gpuregress.execution.cuda.module import CudaModule
from gpuregress.foundation.errors import DeviceError, KernelFault
from gpuregress.foundation.records import LaunchShape, Program
from tests.execution.cuda.fake_api import FakeApi, pointer
from tests.execution.cuda.fake_card import KERNELS, launch, program_in


def test_it_describes_the_card(device: CudaDevice) -> None:
    info = device.info
    assert (info.name, info.model, info.arch) == ("cuda:0", "NVIDIA Fake", "sm_90")
    assert info.driver == "driver 580.1, CUDA 13.0"
    assert info.limits["max_threads"] == 1024
    assert info.card.uuid == "GPU-1"


def test_a_buffer_is_written_and_its_zones_are_whole(device: CudaDevice, module: CudaModule) -> None:
    memory = device.allocate("y", 400, itemsize=4)
    device.launch(module, "fill", LaunchShape((1, 1, 1), (32, 1, 1)), (memory.address.to_bytes(8, "little"),))
    assert (memory.read() == 255).all()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("past", "4 bytes written after y: bytes 400 to 403, at y[100] (y has 100), now ff ff ff ff, in past"),
        ("before", "3 bytes written before y: bytes -8 to -6, at y[-2] (y has 100), now ff ff ff, in before"),
    ],
)
def test_a_write_into_a_zone_is_a_fault(device: CudaDevice, module: CudaModule, kernel: str, message: str) -> None:
    with pytest.raises(KernelFault) as caught:
        launch(device, module, kernel)
    assert caught.value.kind == "red-zone"
    assert f"at {caught.value.buffer}[{caught.value.index}] (" in message
    assert str(caught.value) == message
    assert not caught.value.sticky
    launch(device, module, "fill")


def test_exact_timing_queues_behind_a_busy_card(api: FakeApi, device: CudaDevice, module: CudaModule) -> None:
    with device.timed_exactly():
        launch(device, module, "fill")
    assert api.queued == [BUSY_KERNEL, "event", "fill", "event"]
    launch(device, module, "fill")
    assert api.queued[4:] == ["event", "fill", "event"]
    with device.timed_exactly(), pytest.raises(KernelFault):
        launch(device, module, "illegal")


def test_a_sticky_fault_ends_the_use_of_the_device(api: FakeApi, module: CudaModule, device: CudaDevice) -> None:
    with pytest.raises(KernelFault) as caught:
        launch(device, module, "illegal")
    assert caught.value.kind == "illegal-access"
    assert caught.value.sticky
    assert device.info.card.sticky
    device.free_all()
    assert api.freed == []  # a dead context is left alone
    with pytest.raises(DeviceError, match="cannot be used by this process any more"):
        device.allocate("x", 4)


def test_a_dead_context_is_popped_without_a_word(
    api: FakeApi, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with CudaDevice(0) as opened:
        api.pending = "unspecified launch failure"
        with pytest.raises(DeviceError):
            opened.allocate("x", 4)
    assert api.contexts == ["made", "pushed", "popped"]
    assert capfd.readouterr().err == ""


def test_an_assert_tells_its_file_and_line(device: CudaDevice, module: CudaModule) -> None:
    with pytest.raises(KernelFault, match=r"^k\.cu:7: void k.*Assertion `x` failed\.$") as caught:
        launch(device, module, "asserts")
    assert caught.value.kind == "assert"
    assert caught.value.details[0] == "more"


def test_a_refusal_is_not_sticky(device: CudaDevice, module: CudaModule) -> None:
    with pytest.raises(KernelFault, match="too many resources") as caught:
        launch(device, module, "refused")
    assert caught.value.kind == "launch"
    assert not caught.value.sticky
    launch(device, module, "fill")


def test_what_a_kernel_prints_is_kept(
    device: CudaDevice, module: CudaModule, capfd: pytest.CaptureFixture[str]
) -> None:
    assert launch(device, module, "speak") == "spoken\n"
    assert capfd.readouterr().out == ""


def test_shared_memory_over_48_kib_is_opted_into(
    api: FakeApi, device: CudaDevice, module: CudaModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(device, module, "fill", shared=48 * 1024)
    assert api.attributes_set == []
    monkeypatch.setitem(device._info.limits, "max_shared_optin", 100_000)
    launch(device, module, "fill", shared=60_000)
    assert api.attributes_set == [("dynamic shared", 60_000)]


def test_memory_is_checked_before_it_is_asked_for(api: FakeApi, device: CudaDevice) -> None:
    with pytest.raises(DeviceError, match=r"buffer big needs 200\.0 MiB; cuda:0 has 256\.0 MiB of 512\.0 MiB free"):
        device.allocate("big", 200 << 20)
    assert api.next_address == 1 << 20


def test_buffers_are_freed_at_the_end_of_a_case(api: FakeApi, device: CudaDevice, module: CudaModule) -> None:
    launch(device, module, "fill")
    device.free_all()
    assert len(api.freed) == 1


def test_a_large_read_comes_in_pieces(device: CudaDevice) -> None:
    data = np.arange(20 << 20, dtype=np.uint32).view(np.uint8)[: (33 << 20) + 5]
    memory = device.allocate("x", data.size)
    memory.write(data)
    assert np.array_equal(memory.read(), data)
    assert [piece.size for piece in memory.read_pieces(5)] == [16 << 20, 16 << 20, 1 << 20]


def test_the_wrong_number_of_arguments(device: CudaDevice, module: CudaModule) -> None:
    with pytest.raises(DeviceError, match="takes 1 arguments; 0 were given"):
        device.launch(module, "fill", LaunchShape((1, 1, 1), (32, 1, 1)), ())


@pytest.mark.parametrize("arch", ["sm_80", "sm_100", "sm_100f", "sm_91a", "sm_90a", "sm_90"])
def test_the_architecture_must_fit(device: CudaDevice, tmp_path: Path, arch: str) -> None:
    program = Program("key", "", str(tmp_path / "k.cubin"), {}, {}, "none", (), arch)
    with pytest.raises(DeviceError, match="k.cubin" if arch in ("sm_90a", "sm_90") else f"built for {arch}"):
        device.load(program)


def test_the_canary_checks_what_it_wrote(api: FakeApi, device: CudaDevice) -> None:
    device.canary()

    def wrong(fake: FakeApi, packed: bytes) -> None:
        fake.memcpy_htod(pointer(packed), probe_output() ^ np.uint8(1))

    api.kernels[PROBE_KERNEL] = wrong
    with pytest.raises(DeviceError, match="computes wrong results"):
        device.canary()


def test_there_is_no_second_card(api: FakeApi) -> None:
    with pytest.raises(DeviceError, match="there is no cuda:1; this machine has cuda:0"):
        CudaDevice(1)


def test_zones_are_as_long_as_a_block(device: CudaDevice) -> None:
    assert memory.ZONE_SIZE == 4096
    assert device.allocate("x", 4).address % 256 == 0


class _WaitingFunction(cooperative.CooperativeFunction):
    """A kernel of a program without PTX: says how it was launched; four blocks fit on a multiprocessor."""

    num_regs = shared_size_bytes = local_size_bytes = const_size_bytes = 0
    max_threads_per_block = 1024

    def __init__(self, text: list[str]) -> None:
        self._said = text

    def resident_blocks(self, threads: int, shared: int) -> int:
        return 4

    def launch(self, *_arguments: object) -> None:
        self._said.append("its whole grid at once")

    def launch_plain(self, *_arguments: object) -> None:
        self._said.append("block by block")


@pytest.mark.parametrize(("too_many", "how"), [(0, "its whole grid at once"), (1, "block by block")])
def test_a_cubin_may_wait_for_its_grid_wherever_the_grid_fits(
    device: CudaDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, too_many: int, how: str
) -> None:
    text: list[str] = []
    monkeypatch.setattr(cooperative.CooperativeProgram, "__init__", lambda *_arguments: None)
    monkeypatch.setattr(cooperative.CooperativeProgram, "get_function", lambda *_arguments: _WaitingFunction(text))
    monkeypatch.setattr(cooperative.CooperativeProgram, "unload", lambda _self: None)
    module = device.load(program_in(tmp_path, ""))
    memory = device.allocate("y", 400)
    grid = (4 * device.info.limits["multiprocessors"] + too_many, 1, 1)
    kernel = next(iter(KERNELS))
    device.launch(module, kernel, LaunchShape(grid, (32, 1, 1)), (memory.address.to_bytes(8, "little"),))
    assert text == [how]
