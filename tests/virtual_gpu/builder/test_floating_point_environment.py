from __future__ import annotations

import ctypes
import platform
from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu.runtime import llvm_backend
from tests.virtual_gpu.running import Running

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
