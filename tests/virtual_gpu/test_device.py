"""The virtual GPU as a device: programs, memory and textures that are not its own are refused."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import LaunchShape, Texture
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu import launches
from gpuregress.virtual_gpu.device import CpuDevice
from gpuregress.virtual_gpu.parallel import partition
from gpuregress.virtual_gpu.runtime import syscalls
from gpuregress.virtual_gpu.runtime.syscalls import render
from tests.virtual_gpu.running import Running, ints

SOURCE = """
__device__ int box[4] = {1, 2, 3, 4};
extern "C" __global__ void k(int* y) { y[threadIdx.x] = box[threadIdx.x]; }
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, SOURCE)
    yield running
    running.device.free_all()


def test_it_describes_itself(program: Running) -> None:
    info = program.device.info
    assert (info.name, info.arch) == ("cpu", "sm_90")
    assert info is program.device.info
    assert info.memory > 0


def test_a_module_has_kernels_and_variables(program: Running) -> None:
    assert program.module.kernel("k").max_threads == 1024
    assert program.module.symbol("box").read().view(np.int32).tolist() == [1, 2, 3, 4]
    with pytest.raises(DeviceError, match="no kernel other in this program; there are: k"):
        program.module.kernel("other")
    with pytest.raises(DeviceError, match="no variable nothing in this program; there are: box"):
        program.module.symbol("nothing")


def test_what_is_another_devices_is_refused(program: Running) -> None:
    with CpuDevice(cache) as other:
        with pytest.raises(DeviceError, match="was not loaded onto the cpu device"):
            other.launch(program.module, "k", LaunchShape((1, 1, 1), (1, 1, 1)), ())
        memory = other.allocate("x", 64)
        with pytest.raises(DeviceError, match="x is not a buffer of the cpu device"):
            program.device.texture(memory, TextureDescription("float32", 1, (16, 0, 0), Texture()))
        with pytest.raises(DeviceError, match="x has 64 bytes; its texture has 68"):
            other.texture(memory, TextureDescription("float32", 1, (17, 0, 0), Texture()))


def test_a_program_without_ptx_is_refused(program: Running) -> None:
    with pytest.raises(DeviceError, match="this program has none"):
        program.device.load(replace(program.program, ptx=""))
    with pytest.raises(DeviceError, match="cannot read the compiled program"):
        program.device.load(replace(program.program, ptx="/nowhere/k.ptx"))


def test_each_run_has_an_order_and_gives_the_same_bytes(program: Running) -> None:
    orders = []
    for run in range(3):
        orders.append(program.device.vary(run))
        program.module = program.device.load(program.program)
        y = program.put("y", np.zeros(4, np.int32))
        program.launch("k", 1, 4, y)
        assert ints(y) == [1, 2, 3, 4]
    assert orders == ["usual", "blocks and threads reversed", "blocks random:1"]


def test_the_program_of_few_threads_is_optimised_from_the_first_slow_launch_on(
    program: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))

    def is_optimised_after_a_launch(threads: int | None) -> bool:
        program.module = program.device.load(program.program, threads)
        out = program.put("y", np.zeros(4, np.int32))
        program.launch("k", 1, 4, out)
        assert ints(out) == [1, 2, 3, 4]
        return program.module.is_optimised

    assert is_optimised_after_a_launch(None)
    assert [is_optimised_after_a_launch(4) for _ in range(2)] == [False, False]
    monkeypatch.setattr(launches, "SLOW_S", 0.0)
    assert [is_optimised_after_a_launch(4) for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("own_s", "wait_s", "call_s", "is_slow"),
    [(0.3, 0.0, 0.0, True), (0.3, 0.1, 0.1, True), (0.1, 9.0, 0.0, False), (0.1, 0.0, 0.1, False)],
)
def test_only_the_compiled_codes_own_processor_time_makes_a_program_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, own_s: float, wait_s: float, call_s: float, is_slow: bool
) -> None:
    """It waits for a core, and makes two calls; neither is shorter in optimised code."""
    text = '#include <stdio.h>\nextern "C" __global__ void k() { printf("%d", threadIdx.x); }'
    running = Running(tmp_path, text, is_small=True)
    clock = types.SimpleNamespace(busy=0.0, now=0.0)
    given = types.SimpleNamespace(perf_counter_ns=lambda: int(1e9 * clock.now), thread_time=lambda: clock.busy)

    def after(called: Callable[..., object], seconds: float, waited: float = 0.0) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            clock.busy, clock.now = clock.busy + seconds, clock.now + seconds + waited
            return called(*arguments)

        return call

    monkeypatch.setattr(launches, "time", given)
    monkeypatch.setattr(syscalls, "time", given)
    monkeypatch.setattr(partition, "run_parallel", after(partition.run_parallel, own_s, wait_s))
    monkeypatch.setattr(syscalls, "render", after(render, call_s))
    noted: list[str] = []
    monkeypatch.setattr(cache, "note_slow", noted.append)
    assert running.launch("k", 1, 2).output == "01"
    assert noted == [running.program.key] * is_slow
