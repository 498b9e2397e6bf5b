"""Reads of results in flight: which are found, and which code is no read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.isa.matrix.wgmma_results import with_results
from gpuregress.virtual_gpu.isa.shadow_pass import with_shadows
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction
from tests.virtual_gpu.isa.matrix.warpgroups import descriptor, run, wgmma_kernel

NAME = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
COMMIT, WAIT = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned"
MMA = f"{NAME} {{%d4, %d5, %d6, %d7}}, {{%a0,%a1,%a2,%a3}}, %rd11, %p0, 1, 1, 0;"
LOOP = "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 3; @%p1 bra $again;"
# A store of a result of the second product, before the stores of the first.
STORE = "st.global.b32 [%rd3], %d4;"
OF_A_COPY = "st.global.b32 [%rd3], %d8;"


def _kernel(ending: str) -> str:
    return wgmma_kernel(NAME, 4, signs=", 1, 1, 0", ending=ending)


def _checks(ending: str) -> int:
    (function,) = with_results(parse(_kernel(ending))).functions
    return sum(isinstance(item, Instruction) and item.mnemonic == "wgmma.check" for item in function.body or ())


def _run(ending: str, folder: Path, scale: int = 1) -> None:
    words = np.zeros((1, 128, 4), np.uint32)
    run(folder, _kernel(ending), (words, words, np.zeros((1, 8192), np.uint32)), [(scale, 0, descriptor(0, 0, 0))], 4)


@pytest.mark.parametrize(
    "ending",
    [
        f"{COMMIT} {WAIT} 0;",
        # Copies of accumulators, with the wait behind them.
        f"{COMMIT} mov.b32 %d8, %d0; {WAIT} 0; {OF_A_COPY}",
        # Halves taken apart and put together again.
        f"{COMMIT} .reg .b16 %h<2>; mov.b32 {{%h0, %h1}}, %d0; mov.b32 %d8, {{%h1, %h0}}; {WAIT} 0; {OF_A_COPY}",
        # Another product adds to the same accumulators, or to others.
        f"{MMA.replace('%d4, %d5, %d6, %d7', '%d0, %d1, %d2, %d3')} {COMMIT} {WAIT} 0;",
        f"{COMMIT} {MMA} {COMMIT} {WAIT} 1; st.global.b32 [%rd3], %d0; {WAIT} 0; {STORE}",
        # A register that is set again holds no result.
        f"{COMMIT} mov.b32 %d0, 0; add.u32 %d0, %d0, 1; {WAIT} 0;",
        # A loop that leaves one group in flight, and a wait behind it.
        f"mov.u32 %r7, 0; $again: {COMMIT} {MMA} {COMMIT} {WAIT} 1; {LOOP} {WAIT} 0; {STORE}",
    ],
)
def test_code_that_waits_has_no_checks(ending: str) -> None:
    assert _checks(ending) == 0


@pytest.mark.parametrize(
    ("ending", "count"),
    [
        (f"{WAIT} 0;", 4),
        (f"{COMMIT} mov.b32 %d8, %d0; @%p0 mov.b32 %d8, %d9; add.u32 %d9, %d8, 1; {WAIT} 0;", 1),
        (f"{COMMIT} {WAIT} 1;", 4),
        (f"{COMMIT} {MMA.replace('%a1', '%d1')} {COMMIT} {WAIT} 0;", 1),
    ],
)
def test_each_read_that_may_come_too_early_is_checked(ending: str, count: int) -> None:
    assert _checks(ending) == count


@pytest.mark.parametrize(
    ("ending", "register"),
    [
        ("", "%d0, read by st.global.b32"),
        (f"{COMMIT} {MMA} {COMMIT} {WAIT} 1; {STORE} {WAIT} 0;", "%d4, read by st.global.b32"),
        (f"{COMMIT} mov.b64 %rd5, {{%d9, %d1}}; add.u64 %rd6, %rd5, 1; {WAIT} 0;", "%rd5, read by add.u64"),
    ],
)
def test_a_read_before_the_wait_is_a_fault(ending: str, register: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFault) as caught:
        _run(ending, tmp_path)
    message = str(caught.value)
    assert "result of wgmma.mma_async read before wgmma.wait_group: " in message
    assert register in message
    assert "is in flight since PTX line" in message
    assert "thread (0,0,0)" in message


def test_shadow_values_are_taken_of_results_in_flight() -> None:
    tree = with_shadows(parse(_kernel(f"{COMMIT} {MMA} {COMMIT} {WAIT} 1; {WAIT} 0;")))
    (function,) = with_results(tree).functions
    found = [item.mnemonic for item in function.body or () if isinstance(item, Instruction)]
    assert "%shadow.restart.f32.wgmma.wait_group.sync.aligned" in found
    assert "wgmma.check" not in found


def test_a_wait_on_the_path_that_was_taken_is_enough(tmp_path: Path) -> None:
    ending = f"{COMMIT} @!%p0 bra $over; {WAIT} 0; $over: @!%p0 bra $end; st.global.b32 [%rd3], %d0; $end: {WAIT} 0;"
    assert _checks(ending) == 1
    for scale in (0, 1):
        _run(ending, tmp_path, scale)
    without = ending.replace("@!%p0 bra $end;", "")
    with pytest.raises(KernelFault, match=r"read before wgmma\.wait_group"):
        _run(without, tmp_path, 0)
