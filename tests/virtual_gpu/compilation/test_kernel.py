"""Kernels, and the floating-point environment that they run in."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CompileError, DeviceError
from gpuregress.virtual_gpu.runtime import llvm_backend
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


SETTINGS = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define void @load(ptr %p) { call void @llvm.x86.sse.ldmxcsr(ptr %p) ret void }
define void @store(ptr %p) { call void @llvm.x86.sse.stmxcsr(ptr %p) ret void }
"""
FLUSH_AND_TOWARD_ZERO = 0x1F80 | 0x8040 | 0x6000


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="MXCSR is x86's")
def test_a_launch_brings_its_own_floating_point_settings_and_puts_the_old_ones_back(tmp_path: Path) -> None:
    source = 'extern "C" __global__ void k(float* y, float a, float b) { y[0] = a * 0.5f; y[1] = b + 1.0f; }'
    program = Running(tmp_path, source)
    y = program.put("y", np.zeros(2, np.float32))
    settings = llvm_backend.LoadedCode(llvm_backend.compile_object(SETTINGS))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    load, store = kind(settings.address("load")), kind(settings.address("store"))
    before, odd, after = (ctypes.c_uint32() for _ in range(3))
    store(ctypes.byref(before))
    odd.value = FLUSH_AND_TOWARD_ZERO
    tiny, three_quarters = np.float32(2.0**-130), np.float32(1.5 * 2.0**-24)
    load(ctypes.byref(odd))
    try:
        program.launch("k", 1, 1, y, tiny, three_quarters)
        store(ctypes.byref(after))
    finally:
        load(ctypes.byref(before))
    assert after.value & 0xFFC0 == FLUSH_AND_TOWARD_ZERO & 0xFFC0
    assert y.read().view(np.float32).tolist() == [2.0**-131, 1 + 2.0**-23]
    settings.close()
