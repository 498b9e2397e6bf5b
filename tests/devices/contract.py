"""What every device must do: the same tests run on each, in a class that names the device."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError, KernelFault
from gpuregress.foundation.records import FAULT_KINDS
from gpuregress.gpu.base import Device
from gpuregress.toolchain import programs
from tests.devices import special_registers
from tests.devices.bench import Array, Bench, as_bytes, read
from tests.devices.programs import source


class DeviceContract:
    """Subclasses give the fixture `device`, and `near_fault`: what a write right behind a buffer is called there."""

    near_fault = "out-of-bounds"

    @pytest.fixture
    def device(self) -> Device:
        raise NotImplementedError

    # --- launches -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("n", [1, 256, 1000])
    def test_saxpy(self, device: Device, tmp_path: Path, n: int) -> None:
        bench = Bench(device, tmp_path, "saxpy")
        x, y = np.arange(n, dtype=np.float32), np.full(n, 3, np.float32)
        x_there, y_there = bench.put("x", x), bench.put("y", y)
        report = bench.launch("saxpy", -(-n // 256), 256, np.int32(n), np.float32(2), x_there, y_there)
        assert np.array_equal(read(y_there, np.float32), 2 * x + 3)
        assert np.array_equal(read(x_there, np.float32), x)
        assert report.elapsed_ms >= 0

    @pytest.mark.parametrize(
        ("kernel", "dtype", "factor"),
        [
            ("ops::times<float, 2>", np.float32, 2),
            ("ops::times<double, 3>", np.float64, 3),
            ("ops::times<int, -4>", np.int32, -4),
        ],
    )
    def test_template_instances(self, device: Device, tmp_path: Path, kernel: str, dtype: type, factor: int) -> None:
        bench = Bench(device, tmp_path, "templates")
        x: Array = np.arange(32).astype(dtype)
        x_there, y_there = bench.put("x", x), bench.put("y", np.zeros_like(x))
        bench.launch(kernel, 1, 32, y_there, x_there)
        assert np.array_equal(read(y_there, dtype), x * factor)

    def test_arguments_of_every_size_in_their_places(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "arguments")
        out = bench.put("out", np.zeros(10))
        params = struct.pack("<b7xdh6xff", -7, 2.5, -300, 0.25, 0.75)
        scalars = (np.int8(-1), np.float64(1.5), np.int16(-2), np.int64(1 << 40))
        bench.launch("take", 1, 1, out, *scalars, params, None, np.uint8(200))
        assert read(out, np.float64).tolist() == [-1, 1.5, -2, float(1 << 40), -7, 2.5, -300, 0.75, 1, 200]

    def test_blocks_and_threads_in_three_dimensions(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "indices")
        out = bench.put("out", np.zeros(24 * 30, np.int32))
        bench.launch("where", (2, 3, 4), (5, 3, 2), out)
        expected = np.arange(24)[:, None] * 1000 + np.arange(30)
        assert np.array_equal(read(out, np.int32).reshape(24, 30), expected)

    def test_static_shared_memory(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "shared")
        x = np.random.default_rng(1).integers(-1000, 1000, 8 * 128).astype(np.int32)
        x_there, sums = bench.put("x", x), bench.put("sums", np.zeros(8, np.int32))
        bench.launch("block_sum", 8, 128, sums, x_there)
        assert np.array_equal(read(sums, np.int32), x.reshape(8, 128).sum(axis=1))

    @pytest.mark.parametrize("n", [100, 20_000])
    def test_dynamic_shared_memory_with_and_without_opt_in(self, device: Device, tmp_path: Path, n: int) -> None:
        bench = Bench(device, tmp_path, "shared")
        x = np.arange(n, dtype=np.int32)
        x_there, y_there = bench.put("x", x), bench.put("y", np.zeros_like(x))
        bench.launch("reverse", 1, 64, y_there, x_there, np.int32(n), shared=4 * n)
        assert np.array_equal(read(y_there, np.int32), x[::-1])

    def test_atomics(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "atomics")
        n = 3000
        x = np.random.default_rng(2).integers(0, 16, n).astype(np.int32)
        bins, there = bench.put("bins", np.zeros(16, np.int32)), bench.put("x", x)
        total, largest = bench.put("total", np.zeros(1, np.float32)), bench.put("largest", np.zeros(1, np.uint32))
        wide = bench.put("wide", np.zeros(1, np.uint64))
        bench.launch("count", -(-n // 128), 128, bins, there, np.int32(n), total, largest, wide)
        assert np.array_equal(read(bins, np.int32), np.bincount(x, minlength=16))
        assert read(total, np.float32)[0] == n / 2
        assert read(largest, np.uint32)[0] == (np.arange(n) * 7919 % 10007).max()
        assert read(wide, np.uint64)[0] == n << 33

    def test_warps(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "warps")
        x = np.random.default_rng(3).integers(0, 1000, 64).astype(np.int32)
        there, sums = bench.put("x", x), bench.put("sums", np.zeros(2, np.int32))
        votes = bench.put("votes", np.zeros(2, np.uint32))
        bench.launch("warp_sums", 1, 64, sums, votes, there)
        assert np.array_equal(read(sums, np.int32), x.reshape(2, 32).sum(axis=1))
        bits = (x.reshape(2, 32) & 1).astype(np.uint64) << np.arange(32, dtype=np.uint64)
        assert np.array_equal(read(votes, np.uint32), bits.sum(axis=1))

    def test_printf(self, device: Device, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        bench = Bench(device, tmp_path, "printing")
        report = bench.launch("speak", 1, 32, np.int32(2), np.float32(1.5))
        assert sorted(report.output.splitlines()) == ["thread 0 says 1.50 done", "thread 1 says 1.50 done"]
        assert capfd.readouterr().out == ""

    def test_a_counted_barrier_waits_for_its_count(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "meeting")
        out = bench.put("out", np.zeros(64, np.int32))
        bench.launch("counted", 1, 64, out)
        assert read(out, np.int32).tolist() == [132 + thread for thread in range(32)] + list(range(32, 64))

    def test_each_axis_has_its_own_stride(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "meeting")
        x = np.arange(64, dtype=np.int32) ** 3
        out = bench.put("out", np.zeros(32 * 4 * 3, np.int32))
        bench.launch("rows", 1, (32, 4, 3), out, bench.put("x", x))
        along_x, along_y, along_z = np.arange(32), np.arange(4)[:, None], np.arange(3)[:, None, None]
        expected = x[along_x] + 2 * x[along_y] + 3 * x[along_z] + 5 * x[2 * along_x]
        assert np.array_equal(read(out, np.int32).reshape(3, 4, 32), expected)

    @pytest.mark.parametrize("value", [-5, 0, 77])
    def test_what_a_block_is_asked_at_a_barrier(self, device: Device, tmp_path: Path, value: int) -> None:
        bench = Bench(device, tmp_path, "meeting")
        x = np.arange(-4, 92, dtype=np.int32) % 50
        x[70] = value
        out = bench.put("out", np.zeros(96, np.int32))
        bench.launch("asked", 1, 96, out, bench.put("x", x))
        expected = (x > 0).sum() + 1000 * (x > -5).all() + 2000 * (x == 77).any()
        assert read(out, np.int32).tolist() == [expected] * 96

    def test_a_guard_and_its_opposite(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "meeting")
        x = np.arange(32, dtype=np.int32) % 7
        out = bench.put("out", np.zeros(32, np.int32))
        bench.launch("guarded", 1, 32, out, bench.put("x", x))
        assert read(out, np.int32).tolist() == np.where(x > 3, 9, 2).tolist()

    # --- special registers --------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("register", special_registers.VALUES)
    def test_special_registers_in_control_flow(self, device: Device, tmp_path: Path, register: str) -> None:
        bench, values = Bench(device, tmp_path, "special"), special_registers.VALUES[register]
        name, table = special_registers.kernel(register), np.arange(64, dtype=np.uint32) ** 3
        there = bench.put("in", table)
        wanted: dict[str, Array] = {"row": special_registers.row(values, table)}
        if special_registers.varies(register):
            wanted |= {"on": special_registers.meeting(values), "kept": special_registers.kept(values)}
        for kernel, expected in wanted.items():
            out = bench.put("out", np.zeros_like(expected))
            grid, block, shared = special_registers.GRID, special_registers.BLOCK, special_registers.SHARED
            args = (out, there) if kernel == "row" else (out,)
            bench.launch(f"{kernel}_{name}", grid, block, *args, shared=shared)
            assert np.array_equal(read(out, np.uint32), expected.reshape(-1)), kernel

    # --- memory -------------------------------------------------------------------------------------------------------

    def test_symbols_can_be_written_and_read(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "symbols")
        taps = bench.module.symbol(bench.program.symbols["taps"])
        calls = bench.module.symbol(bench.program.symbols["state::calls"])
        assert (taps.size, calls.size) == (16, 4)
        assert read(taps, np.float32).tolist() == [1, 2, 3, 4]
        taps.write(as_bytes(np.array([9, 8], np.float32)), 8)
        y = bench.put("y", np.zeros(4, np.float32))
        bench.launch("weigh", 1, 4, y)
        bench.launch("weigh", 1, 4, y)
        assert read(y, np.float32).tolist() == [1, 2, 9, 8]
        assert read(calls, np.int32).tolist() == [42]

    def test_parts_of_a_buffer(self, device: Device) -> None:
        memory = device.allocate("x", 100)
        memory.write(np.arange(100, dtype=np.uint8))
        memory.write(np.full(5, 255, np.uint8), 10)
        assert memory.read(8, 4).tolist() == [8, 9, 255, 255]
        assert memory.read(95).tolist() == [95, 96, 97, 98, 99]

    def test_a_large_buffer_comes_back_whole(self, device: Device) -> None:
        data = np.random.default_rng(4).integers(0, 256, (40 << 20) + 12345).astype(np.uint8)
        memory = device.allocate("x", data.size)
        memory.write(data)
        assert np.array_equal(memory.read(), data)

    def test_buffers_do_not_overlap_and_are_aligned(self, device: Device) -> None:
        memories = [device.allocate(f"b{size}", size) for size in (1, 3, 1000, 4096)]
        spans = sorted((memory.address, memory.address + memory.size) for memory in memories)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert all(memory.address % 256 == 0 for memory in memories)

    def test_the_heap_has_the_size_that_is_asked_for(self, device: Device, tmp_path: Path) -> None:
        """A card takes some for itself; what an earlier case left must not be missing in the next one."""
        for size in (8 << 20, 32 << 20, 8 << 20, 8 << 20):
            device.limit_heap(size)
            bench = Bench(device, tmp_path, "heap")
            y = bench.put("y", np.zeros(1, np.int64))
            bench.launch("fill_heap", 1, 1, y, np.uint64(1 << 20))
            count = read(y, np.int64)[0] * (1 << 20)
            assert size // 2 <= count <= size
            device.free_all()

    def test_the_heap_outlives_a_launch(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "heap")
        place, y = bench.put("place", np.zeros(1, np.int64)), bench.put("y", np.zeros(1, np.int32))
        bench.launch("keep", 1, 1, place, np.int32(42))
        bench.launch("give_back", 1, 1, place, y)
        assert read(y, np.int32)[0] == 42

    def test_a_new_case_begins_afresh(self, device: Device, tmp_path: Path) -> None:
        for _ in range(2):
            bench = Bench(device, tmp_path, "symbols")
            calls = bench.module.symbol(bench.program.symbols["state::calls"])
            bench.launch("weigh", 1, 4, bench.put("y", np.zeros(4, np.float32)))
            assert read(calls, np.int32).tolist() == [41]
            device.free_all()

    # --- what is refused ----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("grid", "block", "shared", "words"),
        [
            ((0, 1, 1), (32, 1, 1), 0, "grid"),
            ((1, 1, 1), (32, 0, 1), 0, "block"),
            ((1, 1, 1), (2048, 1, 1), 0, "2048 threads.* takes 1024"),
            ((1, 1, 1), (32, 32, 2), 0, "2048 threads.* takes 1024"),
            ((1, 1, 1), (1, 1, 128), 0, "z"),
            ((1, 70000, 1), (1, 1, 1), 0, "70000"),
            ((1, 1, 1), (32, 1, 1), 1 << 20, "shared"),
        ],
    )
    def test_launches_over_the_limits(
        self,
        device: Device,
        tmp_path: Path,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        words: str,
    ) -> None:
        bench = Bench(device, tmp_path, "indices")
        out = bench.put("out", np.zeros(4096, np.int32))
        with pytest.raises(DeviceError, match=words):
            bench.launch("where", grid, block, out, shared=shared)
        bench.launch("where", 1, 32, out)

    def test_blocks_of_a_cluster_read_each_other(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "clusters")
        x = np.arange(4 * 2 * 64, dtype=np.int32).reshape(2, 4, 64)
        out = bench.put("out", np.zeros_like(x))
        bench.launch("turn", (4, 2, 1), 64, out, bench.put("x", x))
        # By rank: (y, x) in the cluster of two by two.
        by_rank = x.reshape(2, 2, 2, 64).transpose(1, 0, 2, 3).reshape(2, 4, 64)
        ranks = 1000 * np.arange(4, dtype=np.int32)[:, None]
        wanted = (np.roll(by_rank, -1, 1) + ranks).reshape(2, 2, 2, 64).transpose(1, 0, 2, 3).reshape(2, 4, 64)
        assert np.array_equal(read(out, np.int32).reshape(x.shape), wanted)

    def test_a_grid_that_its_clusters_do_not_fit(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "clusters")
        out = bench.put("out", np.zeros(6 * 64, np.int32))
        with pytest.raises(DeviceError, match=r"3 blocks along x; its clusters have 2 × 2 × 1"):  # noqa: RUF001
            bench.launch("turn", (3, 2, 1), 64, out, out)
        with pytest.raises(DeviceError, match=r"16 blocks; at most 8"):
            bench.launch("wide", 16, 64, out)
        bench.launch("turn", (2, 2, 1), 64, out, out)

    def test_launch_bounds_are_limits_too(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "indices")
        out = bench.put("out", np.zeros(128, np.int32))
        with pytest.raises(DeviceError, match="128 threads"):
            bench.launch("narrow", 1, 128, out)
        bench.launch("narrow", 1, 64, out)

    def test_names_that_are_not_there(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "saxpy")
        with pytest.raises(DeviceError, match="nothing"):
            bench.module.kernel("nothing")
        with pytest.raises(DeviceError, match="nowhere"):
            bench.module.symbol("nowhere")

    def test_parts_outside_a_buffer(self, device: Device) -> None:
        memory = device.allocate("x", 10)
        for access in (lambda: memory.read(8, 4), lambda: memory.write(np.zeros(4, np.uint8), 8)):
            with pytest.raises(DeviceError, match="x"):
                access()

    def test_more_memory_than_there_is(self, device: Device) -> None:
        with pytest.raises((DeviceError, MemoryError), match=r"huge|memory"):
            device.allocate("huge", 1 << 50)

    # --- faults -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(("kernel", "index"), [("write_one_past", 1000), ("write_one_before", -1)])
    def test_a_write_beside_a_buffer_is_named(self, device: Device, tmp_path: Path, kernel: str, index: int) -> None:
        bench = Bench(device, tmp_path, "saxpy")
        y = bench.put("y", np.zeros(1000, np.float32))
        args = (y, np.int32(1000)) if kernel == "write_one_past" else (y,)
        with pytest.raises(KernelFault) as caught:
            bench.launch(kernel, 1, 32, *args)
        assert caught.value.kind == self.near_fault
        assert caught.value.kind in FAULT_KINDS
        assert f"y[{index}] (y has 1000)" in str(caught.value)
        assert not caught.value.sticky

    def test_after_a_fault_that_is_not_sticky_the_device_goes_on(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "saxpy")
        with pytest.raises(KernelFault):
            bench.launch("write_one_past", 1, 32, bench.put("y", np.zeros(8, np.float32)), np.int32(8))
        device.free_all()
        self.test_saxpy(device, tmp_path, 256)

    # --- facts --------------------------------------------------------------------------------------------------------

    def test_the_device_describes_itself(self, device: Device, tmp_path: Path) -> None:
        info = device.info
        assert info.arch.startswith("sm_")
        assert info.limits["max_threads"] == 1024
        assert info.limits["max_grid_y"] == 65535
        assert info.memory > 0
        module = device.load(programs.compile(source("shared", tmp_path)))
        kernel = module.kernel("_Z9block_sumPiPKi")
        assert kernel.shared == 512
        assert kernel.max_threads == 1024
