"""Order by fences, releases and acquires: each kind with a twin that lacks it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.checks.test_access_check import source
from tests.virtual_gpu.running import Running

WAIT = "while (atomicAdd(&z[0], 0) == 0) {}"
PASS = "if (b == 0 && !t) {{ z[1] = 7; {0} atomicExch(&z[0], 1); }} if (b == 1 && !t) {{ {1} {2} z[2] = z[1]; }}"
LOCK = "if (!t) {{ while (atomicCAS(&z[0], 0, 1)) {{}} {0} z[1] += 1; {1} atomicExch(&z[0], 0); }}"
LAST = (
    "__shared__ bool last; if (!t) {{ z[1 + b] = 5; {0} last = atomicAdd(&z[0], 1) == gridDim.x - 1; }}"
    "__syncthreads(); if (last && t < gridDim.x) z[8 + t] = z[1 + t];"
)
SUM = (
    "z[1 + i] = 1; {0} __syncthreads();"
    "if (!t) {{ {1} if (atomicAdd(&z[0], 1) == gridDim.x - 1) {{ __threadfence(); z[99] = z[1 + (i + 33) % 96]; }} }}"
)
TWICE = (
    "if (b == 0 && !t) {{ z[1] = 7; __threadfence(); }} __syncthreads();"
    "if (b == 0 && !t) {{ z[1] = 8; {0} atomicExch(&z[0], 1); }}"
    "if (b == 1 && !t) {{ {1} __threadfence(); z[2] = z[1]; }}"
)
ADD = 'asm volatile("red.{0}.gpu.global.add.u32 [%0], 1;" :: "l"(&z[0]) : "memory");'
CHAIN = (
    'if (!t) {{ int v; asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(&z[0]) : "memory");'
    "z[1] += v; " + ADD + " }}"
)
BODIES = {
    "all_fenced": SUM.format("__threadfence();", ""),
    "one_fenced_behind": SUM.format("", "__threadfence();"),
    "one_fenced_before_racy": SUM.format("if (!t) __threadfence();", ""),
    "fenced_again": TWICE.format("__threadfence();", WAIT),
    "fenced_once_racy": TWICE.format("", WAIT),
    "flag": PASS.format("__threadfence();", WAIT, "__threadfence();"),
    "flag_unfenced_racy": PASS.format("", WAIT, "__threadfence();"),
    "flag_narrow_racy": PASS.format("__threadfence_block();", WAIT, "__threadfence();"),
    "flag_narrow_behind_racy": PASS.format("__threadfence();", WAIT, "__threadfence_block();"),
    "lock": LOCK.format("__threadfence();", "__threadfence();"),
    "lock_unfenced_racy": LOCK.format("", ""),
    "last_block": LAST.format("__threadfence();"),
    "last_block_unfenced_racy": LAST.format(""),
    "chain": CHAIN.format("release"),
    "chain_unreleased_racy": CHAIN.format("relaxed"),
    "events": "for (int k = 0; k < 4; ++k) " + ADD.format("release"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("causality"), source(BODIES), is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_what_has_been_released_and_acquired_is_in_order(program: Running, kernel: str) -> None:
    z, y = program.put("z", np.zeros(100, np.int32)), program.put("y", np.zeros(64, np.int32))
    messages = [finding.message for finding in program.launch(kernel, 3, 32, z, y).findings]
    assert bool(messages) == kernel.endswith("racy"), messages


def calls(program: Running, kernel: str, blocks: int) -> int:
    """The Python functions that a later launch of a kernel calls; no run is measured in seconds."""
    z, y = program.put("z", np.zeros(100, np.int32)), program.put("y", np.zeros(64, np.int32))
    program.launch(kernel, blocks, 32, z, y)  # the first launch also loads the kernel
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        program.launch(kernel, blocks, 32, z, y)
    finally:
        sys.setprofile(None)
    return count


def test_events_are_followed_in_linear_time_and_only_if_an_order_is_asked_for(program: Running) -> None:
    assert calls(program, "events", 64) < calls(program, "events", 4) + 64
    few, many = (calls(program, "chain", blocks) for blocks in (32, 128))
    assert many < 5 * few


def test_reads_of_unwritten_memory_need_no_order(tmp_path: Path) -> None:
    body = {"chain": BODIES["chain"]}
    program = Running(tmp_path, source(body), is_small=True, checks=("uninitialized",))
    assert calls(program, "chain", 64) < calls(program, "chain", 4) + 64
