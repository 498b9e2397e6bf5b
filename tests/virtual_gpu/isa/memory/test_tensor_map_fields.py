from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress import toolchain
from gpuregress.foundation.errors import UnsupportedError
from gpuregress.foundation.records import Source
from gpuregress.virtual_gpu import buffer_accesses
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
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
    return "".join(f"#define {name} {value}\n" for name, value in defines.items()) + SOURCE


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
    program = toolchain.compile(Source(str(path), arch="sm_90a", kernels=("made",)))
    accesses = buffer_accesses.of_kernel(Path(program.ptx).read_text(), "made")
    assert accesses.reads_anywhere
    assert accesses.writes_anywhere
