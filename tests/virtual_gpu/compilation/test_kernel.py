from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CompileError, DeviceError
from tests.virtual_gpu.running import Running, ints

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y) .reqntid 8, 4 {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [y]; mov.u32 %r, %ntid.y; st.global.u32 [%a], %r; ret;
}
"""


def test_a_required_block(tmp_path: Path) -> None:
    running = Running(tmp_path, PTX)
    y = running.put("y", np.zeros(1, np.int32))
    for block in ((32, 1, 1), (4, 8, 1), (8, 4, 2), (8, 2, 1)):
        with pytest.raises(DeviceError, match=r"k cannot be launched on cpu: block .* takes"):
            running.launch("k", 1, block, y)
    running.launch("k", 1, (8, 4, 1), y)
    assert ints(y) == [4]


def test_static_shared_memory_over_48_kb(tmp_path: Path) -> None:
    text = 'extern "C" __global__ void k(float* y) { __shared__ float s[12289]; s[threadIdx.x] = *y; *y = s[0]; }'
    with pytest.raises(CompileError, match="k has 49156 bytes of static shared memory; a kernel has 49152"):
        Running(tmp_path, text)


def test_static_and_dynamic_shared_memory_together(tmp_path: Path) -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[1024]; extern __shared__ float d[]; s[threadIdx.x] = *y; d[0] = 1; *y = s[0] + d[0]; }"""
    running = Running(tmp_path, text)
    y = running.put("y", np.zeros(1, np.float32))
    running.launch("k", 1, 1, y, shared=227 * 1024 - 4096)
    with pytest.raises(DeviceError, match="228353 bytes of dynamic shared memory beside the kernel's own 4096"):
        running.launch("k", 1, 1, y, shared=227 * 1024 - 4095)
