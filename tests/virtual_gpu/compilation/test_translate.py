"""A kernel that needs what is not there says which instruction and line, before it runs; the others run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import CompileError, DeviceError, UnsupportedError
from gpuregress.virtual_gpu.compilation.translate import check_ptx
from tests.virtual_gpu.isa.test_branches import BY_HAND
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void fine(int* y) { y[threadIdx.x] = 7; }
extern "C" __global__ void multicast(int* y)
{
    int v;
    y[0] = 1;
    asm("multimem.ld_reduce.weak.global.add.s32 %0, [%1];" : "=r"(v) : "l"(y));
    y[0] = v;
}
extern "C" __global__ void reduced(float* y)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.mul.f32 [%0], [%1], 16;" :: "l"(y), "r"(0));
}
extern "C" __global__ void watched(int* y)
{
    int v;
    asm volatile("mov.u32 %0, %%pm9;" : "=r"(v));
    y[0] = v;
}
"""
KERNELS = ("fine", "multicast", "reduced", "watched")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("multicast", r"multimem\.ld_reduce\.\S+ at k\.cu:7 is not supported by the cpu device"),
        ("watched", r"mov\.u32 at k\.cu:17 .*: there is no special register %pm9"),
        ("reduced", r"cp\.reduce\.async\.bulk\.\S+ at k\.cu:12 is not supported"),
    ],
)
def test_a_kernel_is_refused_by_instruction_and_line_and_nothing_runs(
    kernel: str, message: str, tmp_path: Path
) -> None:
    running = Running(tmp_path, SOURCE, *KERNELS)
    out = running.put("y", np.zeros(4, np.int32))
    with pytest.raises(UnsupportedError, match=message):
        running.launch(kernel, 2, 2, out)
    assert ints(out) == [0, 0, 0, 0]
    running.launch("fine", 1, 4, out)
    assert ints(out) == [7, 7, 7, 7]


_WORDS = re.findall(r"\s+|[\w$%.]+(?:::\w+)*|.", BY_HAND)
_TOKENS = [number for number, word in enumerate(_WORDS) if not word.isspace()]


_CHANGES = st.tuples(
    st.sampled_from(_TOKENS), st.sampled_from(_TOKENS), st.sampled_from(["drop", "twice", "swap", "copy"])
)


@given(st.lists(_CHANGES, min_size=1, max_size=3))
def test_ptx_with_wrong_tokens_is_refused_with_a_line(changes: list[tuple[int, int, str]]) -> None:
    words = [*_WORDS]
    for first, second, change in changes:
        if change == "swap":
            words[first], words[second] = words[second], words[first]
        else:
            words[first] = {"drop": "", "twice": f"{words[first]} {words[first]}", "copy": words[second]}[change]
    told = "PTX line 1"
    try:
        check_ptx("".join(words), ("by_hand",))
    except (CompileError, UnsupportedError, DeviceError) as error:
        told = str(error)
    assert re.search(r"PTX line \d|no kernel by_hand|is an sm_90", told)
