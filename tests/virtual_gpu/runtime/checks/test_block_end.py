"""The end of a block of a cluster: accesses of other blocks that come before it, or may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.checks.planted import detection
from tests.virtual_gpu.running import Running

NAMES = ("clusters_end_without_wait", "clusters_end_before_arrival")
END = "and the end of block (1,0,0), which frees its shared memory, with nothing that orders the access before the end"


@pytest.mark.parametrize("planted", [True, False])
def test_what_another_block_accesses_comes_before_the_end(planted: bool) -> None:  # noqa: FBT001
    for pair, said in detection.run("clusters", planted=planted, names=NAMES, checks=("races",)):
        assert bool(said) == planted, pair.name
        assert all(END in item.text for item in said)


def test_a_block_that_has_ended_first_may_still_be_asked_what_it_arrived_at(tmp_path: Path) -> None:
    """Rank 1 arrives behind its write and ends; rank 0 waits for that, and ends last."""
    text = """extern "C" __global__ void __cluster_dims__(3, 1, 1) k(int* z) {
        __shared__ int s[32]; int t = threadIdx.x, rank = blockIdx.x % 3; unsigned first;
        s[t] = t;
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"((unsigned)__cvta_generic_to_shared(&s[t])));
        if (rank == 1) asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(first), "r"(rank) : "memory");
        asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
        if (rank == 0) asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        z[32 * blockIdx.x + t] = s[t]; }"""
    program = Running(tmp_path, text, is_small=True, checks=("races",))
    z = program.put("z", np.zeros(192, np.int32))
    assert program.launch("k", 6, 32, z).findings == ()
