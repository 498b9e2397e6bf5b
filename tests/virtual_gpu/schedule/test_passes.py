"""Passes over the threads of a block, in both orders: the same results, and the same fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import LaunchShape
from gpuregress.virtual_gpu.compilation.translate import translate
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.program import Schedule
from tests.virtual_gpu.running import Running, ints

SOURCE = """
extern "C" __global__ void apart(int* y, int n)
{
    __shared__ int box[64];
    int t = threadIdx.x;
    box[t] = t;
    if (t < 32) { asm volatile("bar.sync 1, 32;"); box[t] += 1; }
    else { asm volatile("bar.sync 2, 32;"); box[t] += 2; }
    __syncthreads();
    y[t] = box[n - 1 - t];
}
"""


def test_threads_wait_at_different_barriers(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    results = []
    for run in range(3):
        program.device.vary(run)
        module = program.device.load(program.program)
        y = program.put("y", np.zeros(64, np.int32))
        mangled = program.program.entries["apart"].mangled
        arguments = (y.address.to_bytes(8, "little"), (64).to_bytes(4, "little"))
        program.device.launch(module, mangled, LaunchShape((1, 1, 1), (64, 1, 1)), arguments)
        results.append(ints(y))
    assert results == [[63 - t + (2 if t < 32 else 1) for t in range(64)]] * 3


def test_each_wait_has_its_site(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    text = Path(program.program.ptx).read_text()
    unit, facts = translate(parse(text), ["apart"], Schedule(last_first=True))
    sites = tuple(unit.sites)
    assert sorted(sites[number].mnemonic for number in facts["apart"].wait_sites) == ["bar.sync"] * 3


def test_a_fault_behind_a_wait_names_its_thread(tmp_path: Path) -> None:
    program = Running(tmp_path, SOURCE)
    y = program.put("y", np.zeros(40, np.int32))
    with pytest.raises(KernelFault, match=r"write of 4 bytes at y\[40\].*thread \(40,0,0\) of block \(0,0,0\)"):
        program.launch("apart", 1, 64, y, np.int32(64))
