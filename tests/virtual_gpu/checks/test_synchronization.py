"""Barriers of a block, of some of its warps, of a warp, and of some of its lanes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.checks.test_access_check import source
from tests.virtual_gpu.running import Running

NAMED = 'asm volatile("bar.sync %0, %1;" :: "r"({0}), "r"({1}) : "memory");'
ARRIVE = 'asm volatile("bar.arrive %0, %1;" :: "r"({0}), "r"({1}) : "memory");'
BODIES = {
    "warp": "s[t] = y[i]; __syncwarp(); z[i] = s[t ^ 1];",
    "warp_racy": "s[t] = y[i]; __syncwarp(); z[i] = s[t ^ 32];",
    "shuffle_racy": "s[t] = y[i]; int v = __shfl_xor_sync(~0u, t, 1); z[i] = s[v];",
    "lanes": "s[t] = y[i]; __syncwarp(0xffu << (t & 24)); z[i] = s[t ^ 7];",
    "lanes_racy": "s[t] = y[i]; __syncwarp(0xffu << (t & 24)); z[i] = s[t ^ 8];",
    "pairs": f"s[t] = y[i]; {NAMED.format('1 + t / 64', 64)} z[i] = s[t ^ 32];",
    "pairs_racy": f"s[t] = y[i]; {NAMED.format('1 + t / 64', 64)} z[i] = s[t ^ 64];",
    "handed_on": f"s[t] = y[i]; if (t < 64) {{ {NAMED.format(1, 64)} }}"
    f" if (t >= 32 && t < 96) {{ {NAMED.format(2, 64)} }}"
    " if (t >= 64 && t < 96) z[i] = s[t - 64];",
    "arrives": f"if (t < 64) {{ s[t] = y[i]; {ARRIVE.format(1, 128)} }}"
    f" else {{ {NAMED.format(1, 128)} z[i] = s[t - 64]; }}",
    "arrives_late_racy": f"if (t < 64) {{ {ARRIVE.format(1, 128)} s[t] = y[i]; }}"
    f" else {{ {NAMED.format(1, 128)} z[i] = s[t - 64]; }}",
    "exits_before_racy": f"s[t] = y[i]; __syncthreads(); if (t >= 64) {{ s[t] = 1; return; }}"
    f" {NAMED.format(1, 64)} z[i] = s[t + 64]; {NAMED.format(1, 64)}",
    "too_many_come_racy": f"s[t] = y[i]; {NAMED.format(1, 64)} z[i] = s[t ^ 64];",
    "leaves": "if (t >= 64) return; s[t] = y[i]; __syncthreads(); z[i] = s[63 - t];",
    "counts": "s[t] = y[i]; int n = __syncthreads_count(t & 1); z[i] = s[n - t & 63];",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("waits"), source(BODIES), is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_who_has_met_is_in_order(program: Running, kernel: str) -> None:
    z, y = program.put("z", np.zeros(128, np.int32)), program.put("y", np.arange(128, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 1, 128, z, y).findings]
    assert bool(messages) == kernel.endswith("racy"), messages


COPY = (
    'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"'
    ' :: "r"((unsigned)__cvta_generic_to_shared(s + t)), "l"(y + t));'
)
GROUP = 'asm volatile("cp.async.wait_all;" ::: "memory");'
COPIES = {
    "waited": f"{COPY} {GROUP} __syncthreads(); z[t] = s[t ^ 32];",
    "not_waited_racy": f"{COPY} __syncthreads(); z[t] = s[t ^ 32];",
    "waited_late_racy": f"{COPY} __syncthreads(); {GROUP} z[t] = s[t ^ 32];",
}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("copies"), source(COPIES), is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", COPIES)
def test_a_copy_is_in_flight_until_it_is_waited_for(copies: Running, kernel: str) -> None:
    z, y = copies.put("z", np.zeros(128, np.int32)), copies.put("y", np.arange(128, dtype=np.int32))
    messages = [finding.message for finding in copies.launch(kernel, 1, 64, z, y).findings]
    assert bool(messages) == kernel.endswith("racy"), messages
    assert ("before the copy was waited for" in "".join(messages)) == kernel.endswith("racy")
