"""Scopes of strong accesses to global memory: which threads of other blocks they are strong for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

_MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def _red(scope: str) -> str:
    return f'asm volatile("red.relaxed.{scope}.global.add.u32 [%0], 1;" :: "l"(z) : "memory");'


def _load(scope: str) -> str:
    return f'asm volatile("ld.relaxed.{scope}.b32 %0, [%1];" : "=r"(v) : "l"(z) : "memory");'


def _each(action: str) -> str:
    return f"if (t == 0) {{ {action} }}"


def _by_block(first: str, other: str) -> str:
    return f"if (t == 0 && blockIdx.x == 0) {{ {first} }} if (t == 0 && blockIdx.x > 0) {{ {other} }}"


_TURNS = """if (blockIdx.x == 0) {{
    {} while (!*flag) {{}}
    if (t == 1) atomicAdd_block(z, 1);
}}
if (blockIdx.x == 1 && t == 0) *flag = 1;"""
_LATE = """__shared__ volatile int go;
if (t == 0) go = 0;
__syncthreads();
asm volatile("barrier.cluster.arrive;" ::: "memory");
if (blockIdx.x == 1 && t == 32) {
    while (!go) {}
    atomicAdd_block(z, 1); // late
}
asm volatile("barrier.cluster.wait;" ::: "memory");
if (blockIdx.x == 1 && t == 0) {
    atomicAdd_block(z, 1);
    go = 1;
}"""
CLUSTERS = {
    "cluster_cluster": (_each(_red("cluster")), False, True),
    "gpu_cluster": (_by_block(_red("cluster"), _red("gpu")), False, True),
    "gpu_gpu": (_each(_red("gpu")), False, False),
    "cta_cta": (_each(_red("cta")), True, True),
    "cta_read": (_by_block(_load("cta"), _red("cluster")), True, True),
    "cluster_read": (_by_block(_load("cluster"), _red("cluster")), False, True),
    "gpu_read": (_by_block(_load("gpu"), _red("gpu")), False, False),
}
"""Name → a kernel's body; whether it has a race in one cluster of two blocks, and in two such clusters."""
BLOCKS = {
    "alone_cluster": (_each(_red("cluster")), True),
    "alone_cluster_read": (_by_block(_load("cluster"), _red("gpu")), True),
    "alone_gpu_read": (_by_block(_load("gpu"), _red("gpu")), False),
    "turns": (_TURNS.format("if (t == 0) atomicAdd_block(z, 1);"), False),
    "turns_of_another": (_TURNS.format("") + _by_block("", "atomicAdd_block(z, 1);"), True),
}
"""Name → a kernel's body; whether it has a race in two blocks that are no cluster."""


def _text(bodies: dict[str, str], attributes: str) -> str:
    head = f'extern "C" __global__ void {attributes} {{}}(int* z, int* o, volatile int* flag)'
    start = f'int t = threadIdx.x, v = 0; if (o[999]) asm volatile("{_MEET}" ::: "memory");' if attributes else ""
    start = start or "int t = threadIdx.x, v = 0;"
    end = "o[t + blockDim.x * blockIdx.x] = v;"
    return "\n".join(f"{head.format(name)}\n{{ {start}\n{body}\n{end} }}" for name, body in bodies.items())


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Running:
    bodies = {name: body for name, (body, *_) in CLUSTERS.items()}
    bodies["late"] = "if (blockIdx.x == 0 && t == 0) atomicAdd_block(z, 1); // first\n" + _LATE
    text = _text(bodies, "__cluster_dims__(2, 1, 1)")
    return Running(tmp_path_factory.mktemp("clusters"), text, is_small=True, checks=("races",))


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Running:
    text = _text({name: body for name, (body, _) in BLOCKS.items()}, "")
    return Running(tmp_path_factory.mktemp("blocks"), text, is_small=True, checks=("races",))


def _messages(program: Running, kernel: str, grid: int, threads: int = 32) -> list[str]:
    z, o, flag = (program.put(name, np.zeros(1024, np.int32)) for name in ("z", "o", "flag"))
    report = program.launch(kernel, grid, threads, z, o, flag)
    assert not report.unwatched
    return [finding.message for finding in report.findings]


@pytest.mark.parametrize("kernel", CLUSTERS)
@pytest.mark.parametrize("count", [1, 2])
def test_scopes_of_clusters(clusters: Running, kernel: str, count: int) -> None:
    messages = _messages(clusters, kernel, 2 * count)
    assert bool(messages) == CLUSTERS[kernel][count], messages


@pytest.mark.parametrize("kernel", BLOCKS)
def test_scopes_of_blocks(blocks: Running, kernel: str) -> None:
    messages = _messages(blocks, kernel, 2)
    assert bool(messages) == BLOCKS[kernel][1], messages


def test_one_access_does_not_stand_for_another_blocks(clusters: Running) -> None:
    """A third thread is near the second access and far from the first, which the second is ordered behind."""
    (message,) = _messages(clusters, "late", 2, 64)
    assert "thread (0,0,0) of block (0,0,0)" in message
    assert "thread (32,0,0) of block (1,0,0)" in message
