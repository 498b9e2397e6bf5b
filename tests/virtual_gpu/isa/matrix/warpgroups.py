"""Kernels of one wgmma.mma_async."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.virtual_gpu.running import Running

Array = npt.NDArray[Any]

ONE_GROUP = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"


def wgmma_kernel(name: str, results: int, *, signs: str = "", registers: int = 4, ending: str = ONE_GROUP) -> str:
    """PTX of a block for each group of 128 threads, which loads A and C, and stores D.

    Its buffers are A and C as [group][thread][register], the groups' shared memory of 8,192 words, D, and three u64 for
    each group: scale-d and the descriptors of A and of B, which are relative to the shared memory.

    Args:
        name: the instruction, to its types.
        results: registers of D.
        signs: the immediates behind scale-d.
        registers: of A; 0: A is in shared memory.
        ending: the instructions between the wgmma and the stores.
    """
    d = ", ".join(f"%d{number}" for number in range(results))
    a = f"{{{', '.join(f'%a{number}' for number in range(registers))}}}" if registers else "%rd10"
    loads = [f"ld.global.b32 %a{number}, [%rd0+{4 * number}];" for number in range(registers)]
    loads += [f"ld.global.b32 %d{number}, [%rd1+{4 * number}];" for number in range(results)]
    stores = [f"st.global.b32 [%rd3+{4 * number}], %d{number};" for number in range(results)]
    pointers = [f"ld.param.u64 %rd{at}, [p{at}];\ncvta.to.global.u64 %rd{at}, %rd{at};" for at in range(5)]
    lines = [
        ".reg .b32 %a<8>; .reg .b32 %d<128>; .reg .b64 %rd<16>; .reg .b32 %r<8>; .reg .pred %p<2>;",
        *pointers,
        "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 128, %r0;",
        f"mad.wide.u32 %rd0, %r2, {4 * max(1, registers)}, %rd0;",
        f"mad.wide.u32 %rd1, %r2, {4 * results}, %rd1;",
        f"mad.wide.u32 %rd3, %r2, {4 * results}, %rd3;",
        "mad.wide.u32 %rd2, %r1, 32768, %rd2; mad.wide.u32 %rd2, %r0, 4, %rd2;",
        "mad.wide.u32 %rd4, %r1, 24, %rd4; ld.global.u64 %rd12, [%rd4]; setp.ne.u64 %p0, %rd12, 0;",
        *loads,
        "mov.u32 %r4, tile; cvt.u64.u32 %rd8, %r4; shr.u64 %rd9, %rd8, 4;",
        "ld.global.u64 %rd10, [%rd4+8]; add.u64 %rd10, %rd10, %rd9;",
        "ld.global.u64 %rd11, [%rd4+16]; add.u64 %rd11, %rd11, %rd9;",
        "mov.u32 %r5, 0; mad.lo.u32 %r4, %r0, 4, %r4;",
        "$copy: ld.global.u32 %r6, [%rd2]; st.shared.u32 [%r4], %r6;",
        "add.u64 %rd2, %rd2, 512; add.u32 %r4, %r4, 512; add.u32 %r5, %r5, 1;",
        "setp.lt.u32 %p1, %r5, 64; @%p1 bra $copy;",
        "fence.proxy.async; bar.sync 0;",
        "wgmma.fence.sync.aligned;",
        f"{name} {{{d}}}, {a}, %rd11, %p0{signs};",
        ending,
        *stores,
    ]
    body = "\n".join(lines)
    parameters = ", ".join(f".param .u64 p{place}" for place in range(5))
    return (
        ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[32768];\n"
        f".visible .entry k({parameters})\n{{\n{body}\nret;\n}}\n"
    )


def run(
    folder: Path, text: str, arrays: tuple[Array, Array, Array], settings: list[tuple[int, int, int]], results: int
) -> Array:
    """D as [group][thread][register] of uint32.

    Args:
        folder: for the source.
        text: of `wgmma_kernel`.
        arrays: A, C and the shared memory.
        settings: scale-d and the two descriptors of each group.
        results: registers of D.
    """
    running = Running(folder, text, "k")
    a, c, shared = (running.put(name, array) for name, array in zip("acs", arrays, strict=True))
    out = running.put("d", np.zeros((len(settings), 128, results), np.uint32))
    running.launch("k", len(settings), 128, a, c, shared, out, running.put("p", np.array(settings, np.uint64)))
    return out.read().view(np.uint32).reshape(len(settings), 128, results)


def sums(d: Array) -> Array:
    """D's f32 or s32 words as [group][row][column] from `run`'s."""
    groups, _, registers = d.shape
    parts = d.reshape(groups, 4, 8, 4, registers // 4, 2, 2)
    return parts.transpose(0, 1, 5, 2, 4, 3, 6).reshape(groups, 64, 2 * registers)


def descriptor(start: int, leading: int, stride: int, swizzle: int = 0, base: int = 0) -> int:
    """A matrix descriptor; all but the last two in bytes."""
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | base << 49 | swizzle << 62
