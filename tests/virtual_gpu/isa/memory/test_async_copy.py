"""Asynchronous copies, and changes of tensor maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault, UnsupportedError
from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu import buffer_accesses
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
__device__ unsigned where(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void copies(int* y, const int4* x, int n) {
  __shared__ int4 box[32];
  int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(where(box + t)), "l"(x + t), "r"(n));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[t] = box[31 - t].x + box[31 - t].y + box[31 - t].z + box[31 - t].w;
}
extern "C" __global__ void unclustered() {
  __shared__ int box; __shared__ unsigned long long gate;
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], 1, [%1];"
               :: "r"(where(&box)), "r"(where(&gate)) : "memory");
}
// Each thread stores a pair of words and adds one to a sum.
extern "C" __global__ void __cluster_dims__(1, 1, 1) sent(int* y, int words, int waits) {
  __shared__ int2 box[32]; __shared__ int sum; __shared__ unsigned long long gate;
  int t = threadIdx.x;
  box[t] = make_int2(-1, -2);
  if (t == 0) {
    sum = 1000;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(&gate)));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 384;" :: "r"(where(&gate)));
  }
  __syncthreads();
  if (t < words) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0], {%1, %2}, [%3];"
                 :: "r"(where(box + t)), "r"(t), "r"(-t), "r"(where(&gate)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];"
                 :: "r"(where(&sum)), "r"(-t), "r"(where(&gate)) : "memory");
  }
  if (waits)
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
                 :: "r"(where(&gate)) : "memory");
  __syncthreads();
  y[3 * t] = box[t].x; y[3 * t + 1] = box[t].y; y[3 * t + 2] = sum;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("async"), SOURCE)


@pytest.mark.parametrize("count", [16, 8, 4, 0])
def test_asynchronous_copies_with_zeros_for_the_rest(program: Running, count: int) -> None:
    x = np.arange(128, dtype=np.int32)
    y = program.put("y", np.zeros(32, np.int32))
    program.launch("copies", 1, 32, y, program.put("x", x), np.int32(count))
    rows = x.reshape(32, 4)[::-1, : count // 4]
    assert ints(y) == rows.sum(axis=1).tolist()


def test_asynchronous_copies_are_checked(program: Running) -> None:
    y, x = program.put("y", np.zeros(32, np.int32)), program.put("x", np.zeros(124, np.int32))
    with pytest.raises(KernelFault, match=r"read of 16 bytes at x\[124\] \(x has 124\), thread \(31,0,0\)"):
        program.launch("copies", 1, 32, y, x, np.int32(16))


def test_asynchronous_stores_arrive_when_they_are_waited_for(program: Running) -> None:
    y = program.put("y", np.zeros(96, np.int32))
    program.launch("sent", 1, 32, y, np.int32(32), np.int32(1))
    assert ints(y) == [item for t in range(32) for item in (t, -t, 1000 - 496)]
    report = program.launch("sent", 1, 32, y, np.int32(32), np.int32(0))
    assert ints(y) == [-1, -2, 1000] * 32
    assert report.counters == {"asynchronous stores that no thread waited for": 64}


def test_a_wait_for_more_stores_than_there_are_is_a_deadlock(program: Running) -> None:
    with pytest.raises(KernelFault) as caught:
        program.launch("sent", 1, 32, program.put("y", np.zeros(96, np.int32)), np.int32(31), np.int32(1))
    assert caught.value.kind == "deadlock"


def test_asynchronous_stores_need_a_launch_in_clusters(program: Running) -> None:
    message = r"^st\.async\.\S+: the launch has no clusters; __cluster_dims__\(1, 1, 1\).*k\.cu:\d+"
    with pytest.raises(KernelFault, match=message):
        program.launch("unclustered", 1, 1)


TENSOR_MAP_FIELDS_SOURCE = r"""
typedef unsigned long long u64;
#define SET32(field, ord, value) asm volatile( \
    "tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " ord ", %1;" \
    :: "r"(where(map)), "r"(value) : "memory")
#define MODE(field, value) asm volatile( \
    "tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], " value ";" :: "r"(where(map)) : "memory")
__device__ unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void made(int* y, const TYPE* x, u64* map_out, int width, int height) {
  __shared__ __align__(128) u64 map[16]; __shared__ __align__(1024) TYPE box[8 * 4]; __shared__ u64 gate;
  map[threadIdx.x % 16] = 0;
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(&gate)));
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
                 :: "r"(where(map)), "l"(x) : "memory");
    MODE("rank", "1"); MODE("elemtype", ELEMENT); MODE("interleave_layout", "0"); MODE("swizzle_mode", SWIZZLE);
    MODE("fill_mode", "0");
    SET32("box_dim", "0", 8); SET32("box_dim", "1", 4);
    SET32("global_dim", "0", width); SET32("global_dim", "1", height);
    SET32("element_stride", "0", 1); SET32("element_stride", "1", 1);
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;"
                 :: "r"(where(map)), "l"((u64)width * sizeof(TYPE)) : "memory");
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
               :: "l"(map_out), "r"(where(map)) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(map_out) : "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 :: "r"(where(&gate)), "r"((int)sizeof box) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(where(box)), "l"(map_out), "r"(4), "r"(1), "r"(where(&gate)) : "memory");
  }
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
               :: "r"(where(&gate)) : "memory");
  y[threadIdx.x] = (int)box[threadIdx.x];
}
"""


def text(type_: str = "int", element: str = "3", swizzle: str = "0") -> str:
    defines = {"TYPE": type_, "ELEMENT": f'"{element}"', "SWIZZLE": f'"{swizzle}"'}
    return "".join(f"#define {name} {value}\n" for name, value in defines.items()) + TENSOR_MAP_FIELDS_SOURCE


def tile(width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """The box of 8 x 4 at (4, 1), with zeros outside."""
    wanted = np.zeros((4, 8), np.int32)
    part = np.arange(width * height, dtype=np.int32).reshape(height, width)[1:5, 4:12]
    wanted[: part.shape[0], : part.shape[1]] = part
    return wanted


@pytest.mark.parametrize(("width", "height"), [(12, 6), (8, 4)])
def test_a_map_made_by_the_kernel(tmp_path: Path, width: int, height: int) -> None:
    program = Running(tmp_path, text(), arch="sm_90a")
    x = program.put("x", np.arange(width * height, dtype=np.int32))
    y, out = program.put("y", np.full(32, -1, np.int32)), program.put("map", np.zeros(16, np.uint64))
    program.launch("made", 1, 32, y, x, out, np.int32(width), np.int32(height))
    assert ints(y) == tile(width, height).ravel().tolist()


def test_types_and_swizzles_have_the_numbers_of_ptx(tmp_path: Path) -> None:
    program = Running(tmp_path, text("double", "9", "2"), arch="sm_90a")
    x = program.put("x", np.arange(72, dtype=np.float64))
    y, out = program.put("y", np.full(32, -1, np.int32)), program.put("map", np.zeros(16, np.uint64))
    program.launch("made", 1, 32, y, x, out, np.int32(12), np.int32(6))
    chunks = tile(12, 6).reshape(16, 2)  # of 16 bytes; the pattern of 64 bytes has rows of 128
    places = [chunk ^ (chunk >> 3 & 3) for chunk in range(16)]
    assert ints(y) == chunks[places].ravel().tolist()


def test_what_ptx_has_and_the_device_does_not(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"tensormap.replace.*k.cu"):
        Running(tmp_path, text(swizzle="4"), arch="sm_90a")


def test_a_map_may_lead_to_any_buffer(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(text())
    program = programs.compile(Source(str(path), arch="sm_90a", kernels=("made",)))
    accesses = buffer_accesses.of_kernel(Path(program.ptx).read_text(), "made")
    assert accesses.reads_anywhere
    assert accesses.writes_anywhere
