"""The harness's own kernels, in PTX: one keeps a GPU busy, and one proves it healthy.

A GPU is kept busy while a launch is queued between its two events. The events of a launch onto an idle GPU hold the
host's part of it, too: from the first event's record to the kernel's start, some 10 to 30 µs. After a kernel that is
still busy all three wait in the GPU's own queue, and follow each other without the host.
"""

from __future__ import annotations

import numpy as np

from gpuregress.gpu.base import Bytes

BUSY_KERNEL = "gpuregress_hold"
BUSY_CYCLES = 400_000
"""Duration in cycles of the SM's clock: 0.2 ms at 2 GHz, ten times the duration of queueing."""

BUSY_PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {BUSY_KERNEL}(.param .u64 cycles)
{{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [cycles];
    mov.u64 %rd2, %clock64;
again:
    mov.u64 %rd3, %clock64;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra again;
    ret;
}}
"""
BUSY_ARGUMENTS = BUSY_CYCLES.to_bytes(8, "little")


PROBE_KERNEL = "gpuregress_canary"
PROBE_THREADS = 256
PROBE_PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {PROBE_KERNEL}(.param .u64 out)
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


def probe_output() -> Bytes:
    """Return the canary's output: 2654435761 · thread + 97, modulo 2³², one uint32 for each thread."""
    threads = np.arange(PROBE_THREADS, dtype=np.uint64)
    return (threads * np.uint64(2654435761) + np.uint64(97)).astype(np.uint32).view(np.uint8)
