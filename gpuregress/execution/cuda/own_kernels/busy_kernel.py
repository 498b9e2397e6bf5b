"""A kernel that keeps the card busy while a launch is queued between its two events.

The events of a launch onto an idle card hold the host's part of it, too: from the first event's record to the kernel's
start, some 10 to 30 µs. Behind a kernel that is still busy all three wait in the card's own queue, and follow each
other without the host.
"""

from __future__ import annotations

KERNEL = "gpuregress_hold"
CYCLES = 400_000
"""Duration in cycles of the SM's clock: 0.2 ms at 2 GHz, ten times the duration of queueing."""

PTX = f"""\
.version 6.3
.target sm_75
.address_size 64
.visible .entry {KERNEL}(.param .u64 cycles)
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
ARGUMENTS = CYCLES.to_bytes(8, "little")
