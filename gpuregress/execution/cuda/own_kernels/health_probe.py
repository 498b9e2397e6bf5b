"""Canary kernel: the smallest kernel that proves a card healthy, in PTX for CUDA 10 and later."""

from __future__ import annotations

import numpy as np

from gpuregress.gpu.base import Bytes

KERNEL = "gpuregress_canary"
THREADS = 256
PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {KERNEL}(.param .u64 out)
{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 2654435761, 97;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
    ret;
}}
"""


def expected() -> Bytes:
    """Return the canary's output: 2654435761 · thread + 97, modulo 2³², one uint32 for each thread."""
    threads = np.arange(THREADS, dtype=np.uint64)
    return (threads * np.uint64(2654435761) + np.uint64(97)).astype(np.uint32).view(np.uint8)
