"""What only a real GPU can show. Skips where there is none; `tests/devices/gpu` runs all of it on a GPU host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda.device import CudaDevice
from gpuregress.execution.cuda.module import CudaModule
from gpuregress.foundation.errors import DeviceError, HarnessError
from gpuregress.foundation.records import LaunchShape, Source
from gpuregress.toolchain import cubin_linker, programs
from tests.devices.bench import Bench, read
from tests.devices.programs import source

pytestmark = pytest.mark.gpu


@pytest.fixture
def device(gpu: str) -> Iterator[CudaDevice]:
    opened = registry.open_device(gpu)
    assert isinstance(opened, CudaDevice)
    with opened:
        yield opened


def _faulting(gpu: str, kernel: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, "-m", "tests.devices.faulting", gpu, kernel]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        ("far_read", "illegal-access", "illegal memory access"),
        ("far_write", "illegal-access", "illegal memory access"),
        ("through_null", "illegal-access", "illegal memory access"),
        ("misaligned", "misaligned", "misaligned address"),
        ("asserts", "assert", "faults.cu:7"),
        ("traps", "trap", "unspecified launch failure"),
    ],
)
def test_each_fault_is_told_by_its_name_and_without_noise(gpu: str, kernel: str, kind: str, words: str) -> None:
    actual, stderr = _faulting(gpu, kernel)
    assert actual["kind"] == kind
    assert words in actual["message"]
    assert actual["sticky"]
    assert actual["marked"]
    assert "cannot be used by this process any more" in actual["again"]
    assert "PyCUDA" not in stderr
    assert stderr == ""


def test_after_a_fault_a_new_process_works(gpu: str, tmp_path: Path) -> None:
    _faulting(gpu, "far_write")
    with registry.open_device(gpu) as device:
        assert isinstance(device, CudaDevice)
        device.canary()
        bench = Bench(device, tmp_path, "saxpy")
        y = bench.put("y", np.zeros(4, np.float32))
        bench.launch("saxpy", 1, 32, np.int32(4), np.float32(1), bench.put("x", np.ones(4, np.float32)), y)
        assert read(y, np.float32).tolist() == [1, 1, 1, 1]


@pytest.mark.card("the virtual GPU ends such a kernel itself")
def test_a_kernel_that_never_ends_is_killed_and_the_card_is_free_again(gpu: str) -> None:
    command = [sys.executable, "-m", "tests.devices.faulting", gpu, "forever"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "launching\n"
        time.sleep(1)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait(timeout=30) == -signal.SIGKILL
    with registry.open_device(gpu) as device:
        assert isinstance(device, CudaDevice)
        device.canary()


def test_the_canary_sings(device: CudaDevice) -> None:
    device.canary()
    device.canary()


@pytest.mark.card("its name, clocks and temperature")
def test_facts_for_the_log(device: CudaDevice) -> None:
    info = device.info
    assert "NVIDIA" in info.model
    assert info.driver.startswith("driver ")
    assert info.card.uuid.startswith("GPU-")
    assert device.clocks()["temperature"].endswith(" C")
    assert info.limits["max_shared_optin"] > info.limits["max_shared"] >= 48 * 1024
    assert not info.card.sticky


def test_registers_and_spills_are_told(device: CudaDevice, tmp_path: Path) -> None:
    bench = Bench(device, tmp_path, "functions")
    kernel = bench.module.kernel(bench.program.entries["evaluate"].mangled)
    assert 16 <= kernel.registers <= 255
    assert kernel.spill == 0


def test_a_program_for_another_architecture_is_refused(device: CudaDevice, tmp_path: Path) -> None:
    program = programs.compile(source("saxpy", tmp_path))
    other = type(program)(**{**{f: getattr(program, f) for f in program.__struct_fields__}, "arch": "sm_80"})
    with pytest.raises(DeviceError, match=r"built for sm_80; cuda:0 is sm_\d+: build it with --arch"):
        device.load(other)


@pytest.mark.card("machine code")
def test_a_cubin_as_source(device: CudaDevice, tmp_path: Path) -> None:
    built = cubin_linker.build_cubin(programs.compile(source("templates", tmp_path)))
    path = tmp_path / "given.cubin"
    path.write_bytes(Path(built.cubin).read_bytes())
    program = programs.compile(Source(str(path), kernels=("ops::times<float, 2>",)))
    module = device.load(program)
    x = device.allocate("x", 16, itemsize=4)
    x.write(np.arange(4, dtype=np.float32).view(np.uint8))
    pointer = x.address.to_bytes(8, "little")
    mangled = program.entries["ops::times<float, 2>"].mangled
    device.launch(module, mangled, LaunchShape((1, 1, 1), (4, 1, 1)), (pointer, pointer))
    assert read(x, np.float32).tolist() == [0, 2, 4, 6]


def test_ptx_by_the_drivers_own_compiler(device: CudaDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.ptx"
    path.write_text(
        ".version 7.8\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p];"
        " mov.u32 %r1, 77; st.global.u32 [%rd1], %r1; ret; }\n",
    )

    def missing(_program: object) -> None:
        raise HarnessError("no assembler")

    monkeypatch.setattr(cubin_linker, "build_cubin", missing)
    module = device.load(programs.compile(Source(str(path), kernels=("k",))))
    out = device.allocate("out", 4, itemsize=4)
    device.launch(module, "k", LaunchShape((1, 1, 1), (1, 1, 1)), (out.address.to_bytes(8, "little"),))
    assert read(out, np.uint32).tolist() == [77]


def test_more_memory_than_is_free_is_said_in_numbers(device: CudaDevice) -> None:
    with pytest.raises(DeviceError, match=r"buffer x needs 1024\.0 GiB; cuda:0 has .* GiB of .* GiB free"):
        device.allocate("x", 1 << 40)
    device.allocate("x", 1 << 20)


def test_a_buffer_is_read_in_pieces_while_the_next_is_on_its_way(device: CudaDevice) -> None:
    data = np.random.default_rng(5).integers(0, 256, (50 << 20) + 3).astype(np.uint8)
    memory = device.allocate("x", data.size)
    memory.write(data)
    pieces = [piece.copy() for piece in memory.read_pieces(7)]
    assert len(pieces) > 2
    assert np.array_equal(np.concatenate(pieces), data[7:])


def test_time_on_the_device_is_measured(device: CudaDevice, tmp_path: Path) -> None:
    bench = Bench(device, tmp_path, "slow")
    out = bench.put("out", np.zeros(64, np.uint32))
    short, long = (bench.launch("spin", 1, 64, out, np.int64(rounds)).elapsed_ms for rounds in (10, 10_000_000))
    assert 0 <= short < long


def test_the_same_bits_as_the_cpu_device(device: CudaDevice, tmp_path: Path) -> None:
    pytest.importorskip("gpuregress.virtual_gpu.device")
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 1 << 32, 4096, dtype=np.uint64).astype(np.uint32)
    floats = np.concatenate((bits.view(np.float32), rng.normal(0, 3, 4096).astype(np.float32)))
    doubles = np.concatenate((rng.normal(0, 30, 1024), rng.integers(0, 1 << 63, 1024).view(np.float64)))
    with registry.open_device("cpu") as cpu:
        for kernel, x, per in (("evaluate", floats, 16), ("doubles", doubles, 4)):
            results = []
            for each in (device, cpu):
                bench = Bench(each, tmp_path, "functions")
                out = bench.put("out", np.zeros(per * x.size, x.dtype))
                bench.launch(kernel, -(-x.size // 128), 128, out, bench.put("x", x), np.int32(x.size))
                results.append(out.read().view(f"u{x.itemsize}").reshape(-1, per))
            differing = (results[0] != results[1]).sum(axis=0)
            assert differing.tolist() == [0] * per


def test_a_grid_that_waits_for_itself(device: CudaDevice, tmp_path: Path) -> None:
    bench = Bench(device, tmp_path, "grids")
    blocks, threads = device.info.limits["multiprocessors"], 128
    count = blocks * threads
    a, b = bench.put("a", np.zeros(count, np.int32)), bench.put("b", np.zeros(count, np.int32))
    bench.launch("turn", blocks, threads, a, b)
    assert read(b, np.int32).tolist() == [2 * (count - 1 - i) for i in range(count)]
    with pytest.raises(
        DeviceError, match=r"turn cannot be launched.*all \d+ blocks must run at once; this device takes"
    ):
        bench.launch("turn", 64 * blocks, 1024, a, b)
    bench.launch("plain", 4096, 32, a)
    assert read(a, np.int32)[0] == 4096 * 32


def test_occupancy_is_the_drivers_own(device: CudaDevice, tmp_path: Path) -> None:
    """The formula against cuOccupancyMaxActiveBlocksPerMultiprocessor."""
    bench = Bench(device, tmp_path, "grids")
    assert isinstance(bench.module, CudaModule)
    for kernel in ("turn", "plain", "heavy"):
        mangled = bench.program.entries[kernel].mangled
        function, info = bench.module.function(mangled)
        for threads in (32, 96, 128, 256, 512, 1024):
            for shared in (0, 1000, 8192, 40000):
                if threads <= info.max_threads:
                    actual = bench.module.occupancy(mangled, (threads, 1, 1), shared)
                    assert actual["blocks"] == function.resident_blocks(threads, shared), (kernel, threads, shared)


def test_a_bare_buffer_has_no_zones(gpu: str) -> None:
    with registry.open_device(gpu, bare=True) as device:
        first, second = device.allocate("x", 100), device.allocate("y", 100)
        assert second.address - first.address < 4096
