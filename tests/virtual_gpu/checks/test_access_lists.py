"""Concurrent accesses of a cell: every race of a history is found, and no history without one is reported.

A kernel runs a program of steps: a warp reads, writes or adds to a word, or some warps, or some lanes of a warp, meet
at a barrier. Kernels with plain accesses alone, in which waits order all threads of a block, keep pairs of accesses,
the others lists. What is ordered is computed here by vector clocks, one for each thread that takes part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.virtual_gpu.runtime.checks import shadow_memory
from gpuregress.virtual_gpu.runtime.memory import Region
from tests.devices.bench import as_bytes
from tests.virtual_gpu.running import Running, ints

WARPS, LANES = 4, 4
_MOST = 14
READ, WRITE, ADD, LOOK, MEET_WARPS, MEET_LANES, ADD_IN_BLOCK, LOOK_IN_BLOCK = range(8)
IN_BLOCK = {ADD_IN_BLOCK, LOOK_IN_BLOCK}
STRONG = {ADD, LOOK} | IN_BLOCK
_STEPS = """
    for (int k = 0; k < count; ++k) {
        int kind = steps[3 * k], who = steps[3 * k + 1], mask = steps[3 * k + 2];
        bool own = warp == who && (mask >> lane & 1);
        if (kind == 0 && own) asm volatile("ld.b32 %0, [%1];" : "=r"(looked) : "l"(&MEMORY[0]) : "memory");
        if (kind == 1 && own) asm volatile("st.b32 [%1], %0;" :: "r"(100 * k + t), "l"(&MEMORY[0]) : "memory");
        STRONG
        WAITS
        seen += looked;
    }
    if (seen == 12345) out[t] = seen;
"""
_STRONG = """
        if (kind == 2 && own) atomicAdd(&MEMORY[0], k);
        if (kind == 3 && own)
            asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(looked) : "l"(&MEMORY[0]) : "memory");
        if (kind == 6 && own) atomicAdd_block(&MEMORY[0], k);
        if (kind == 7 && own)
            asm volatile("ld.relaxed.cta.b32 %0, [%1];" : "=r"(looked) : "l"(&MEMORY[0]) : "memory");"""
_IN_PART = """
        if (kind == 4 && (mask >> warp & 1))
            asm volatile("bar.sync %0, %1;" :: "r"(who), "r"(32 * __popc(mask)) : "memory");
        if (kind == 5 && own) __syncwarp(mask);"""
_WHOLE = """
        if (kind == 4 && (mask >> (WARPS * blockIdx.x) & 1)) __syncthreads();
        if (kind == 5 && warp == who) __syncwarp();"""
KERNELS = {
    "some_in_shared": ("s", _IN_PART, WARPS, True),
    "some_in_global": ("all", _IN_PART, WARPS, True),
    "all_in_shared": ("s", _WHOLE, WARPS, True),
    "all_in_global": ("all", _WHOLE, WARPS, True),
    "all_of_a_block": ("all", _WHOLE, WARPS // 2, True),
    "pairs_in_shared": ("s", _WHOLE, WARPS, False),
    "pairs_in_global": ("all", _WHOLE, WARPS, False),
    "pairs_of_blocks": ("all", _WHOLE, WARPS // 2, False),
}
"""Name of a kernel → its memory, its waits, the warps of a block, whether it has strong accesses."""


def text(name: str) -> str:
    """The source of a kernel."""
    memory, waits, warps, has_strong = KERNELS[name]
    body = _STEPS.replace("STRONG", _STRONG if has_strong else "")
    body = body.replace("WAITS", waits).replace("MEMORY", memory).replace("WARPS", str(warps))
    return f"""extern "C" __global__ void {name}(const int* steps, int count, int* out, int* all)
{{
    __shared__ int s[1];
    int t = threadIdx.x, warp = t / 32 + {warps} * blockIdx.x, lane = t % 32, seen = 0, looked = 0;
    if (t == 0) s[0] = 0;
    __syncthreads();
    {body}
}}"""


Watched = tuple[str, Running, Region, Region, Region]
"""The name of the kernel, the program, its steps, its output, and its word of global memory."""


@dataclass(frozen=True)
class Step:
    """One step: its kind; the warp, or the number of the barrier; the lanes, or the warps that meet."""

    kind: int
    who: int
    mask: int


def histories(name: str) -> st.SearchStrategy[list[Step]]:
    """Programs of up to fourteen steps; each barrier of some warps has a number of its own."""
    _, waits, warps, has_strong = KERNELS[name]
    masks, everyone = st.integers(1, (1 << LANES) - 1), (1 << LANES) - 1
    kinds = st.sampled_from([READ, READ, WRITE, *[*STRONG] * has_strong])
    access = st.builds(Step, kinds, st.integers(0, WARPS - 1), st.just(1) | masks)
    groups = st.sets(st.integers(0, WARPS - 1), min_size=2).map(lambda found: sum(1 << warp for warp in found))
    if waits == _WHOLE:
        groups = st.sampled_from([(1 << warps) - 1 << first for first in range(0, WARPS, warps)])
        masks = st.just(everyone)
    meeting = st.builds(Step, st.just(MEET_WARPS), st.just(0), groups)
    lanes = st.builds(Step, st.just(MEET_LANES), st.integers(0, WARPS - 1), masks)
    return st.lists(access | meeting | lanes, min_size=2, max_size=_MOST).map(_numbered)


def _numbered(history: list[Step]) -> list[Step]:
    return [Step(one.kind, k + 1, one.mask) if one.kind == MEET_WARPS else one for k, one in enumerate(history)]


def has_race(history: list[Step], warps: int = WARPS) -> bool:
    """Whether two accesses of a history race, by the rules of `conflict_rules`: plain writes of one value do not occur.

    Args:
        history: the steps.
        warps: of a block.
    """
    threads = [(warp, lane) for warp in range(WARPS) for lane in range(LANES)]
    clocks = {thread: dict.fromkeys(threads, 0) for thread in threads}
    accesses: list[tuple[int, tuple[int, int], dict[tuple[int, int], int]]] = []
    for step in history:
        if step.kind == MEET_WARPS:
            group = [thread for thread in threads if step.mask >> thread[0] & 1]
        else:
            group = [(step.who, lane) for lane in range(LANES) if step.mask >> lane & 1]
        if step.kind in (MEET_WARPS, MEET_LANES):
            joined = {thread: max(clocks[one][thread] for one in group) for thread in threads}
            for thread in group:
                clocks[thread] = dict(joined)
            continue
        for thread in group:
            clocks[thread][thread] += 1
            accesses.append((step.kind, thread, dict(clocks[thread])))
    for (kind, thread, clock), (later, other, known) in combinations(accesses, 2):
        is_near = thread[0] // warps == other[0] // warps or not {kind, later} & IN_BLOCK
        conflicts = {kind, later} - {READ, LOOK, LOOK_IN_BLOCK} and not ({kind, later} <= STRONG and is_near)
        if thread != other and conflicts and clock[thread] > known[thread]:
            return True
    return False


@pytest.fixture(scope="module", params=KERNELS)
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    name = str(request.param)
    running = Running(tmp_path_factory.mktemp(name), text(name), is_small=True, checks=("races",))
    steps = running.put("steps", np.zeros((_MOST, 3), np.int32))
    return name, running, steps, running.put("out", np.zeros(128, np.int32)), running.put("all", np.zeros(1, np.int32))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_race_is_found_wherever_there_is_one(watched: Watched, data: st.DataObject) -> None:
    name, program, steps, out, memory = watched
    history = data.draw(histories(name))
    rows = np.zeros((_MOST, 3), np.int32)
    rows[: len(history)] = [(step.kind, step.who, step.mask) for step in history]
    steps.write(as_bytes(rows))
    warps = KERNELS[name][2]
    report = program.launch(name, WARPS // warps, 32 * warps, steps, np.int32(len(history)), out, memory)
    messages = [finding.message for finding in report.findings]
    assert bool(messages) == has_race(history, warps), messages
    assert not report.unwatched


def test_the_oracle_knows_a_third_reader() -> None:
    history = [Step(READ, 0, 1), Step(READ, 1, 1), Step(READ, 2, 1), Step(MEET_WARPS, 4, 0b1011), Step(WRITE, 3, 1)]
    assert has_race(history)
    assert not has_race([*history[:3], Step(MEET_WARPS, 4, 0b1111), history[4]])
    assert not has_race([Step(ADD, 0, 1), Step(LOOK, 1, 1)])
    assert [has_race([Step(ADD_IN_BLOCK, 0, 1), Step(LOOK, 1, 1)], warps) for warps in (1, 2)] == [True, False]


def test_accesses_that_find_no_room_are_told(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow_memory, "NODES", 1)
    running = Running(tmp_path_factory.mktemp("full"), text("some_in_shared"), is_small=True, checks=("races",))
    steps = [(WRITE, 0, 1), (MEET_WARPS, 1, 3), (ADD, 1, 1), (MEET_WARPS, 2, 6), (ADD, 2, 1), (READ, 0, 1)]
    rows = running.put("steps", np.array(steps, np.int32))
    out, memory = running.put("out", np.zeros(128, np.int32)), running.put("all", np.zeros(1, np.int32))
    report = running.launch("some_in_shared", 1, 128, rows, np.int32(len(steps)), out, memory)
    assert "concurrent accesses are not watched" in report.unwatched
    assert [finding.count for finding in report.findings] == [1]


@pytest.mark.parametrize(("count", "is_racy"), [(64, True), (128, False)])
def test_all_threads_of_a_row_are_readers(
    tmp_path_factory: pytest.TempPathFactory, count: int, *, is_racy: bool
) -> None:
    """Threads that read one word in a row of the optimised code are all kept, not the first and the last alone."""
    text = f"""extern "C" __global__ void row(int* z, const int* y)
    {{
        __shared__ int s[2];
        int t = threadIdx.x;
        if (t < 2) s[t] = y[t];
        __syncthreads();
        int v = s[0] + y[t];
        if (t == 0 || t == 127) v = 0;
        z[t] = v;
        if (t < {count}) asm volatile("bar.sync 1, {count};" ::: "memory");
        if (t == 0) s[0] = 1;
    }}"""
    running = Running(tmp_path_factory.mktemp("row"), text, is_small=False, checks=("races",))
    z, y = (running.put(name, np.zeros(128, np.int32)) for name in "zy")
    found = running.launch("row", 1, 128, z, y).findings
    assert [finding.kind for finding in found] == ["race"] * is_racy
    assert sum(finding.count for finding in found) == 64 * is_racy


def test_nodes_are_used_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = """extern "C" __global__ void turns(int* z)
    {
        __shared__ int s[8];
        int t = threadIdx.x, v = 0;
        if (t < 8) s[t] = t;
        __syncthreads();
        for (int k = 0; k < 40; ++k) {
            for (int j = 0; j < 8; ++j) v += s[j];
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (t == 0) s[k % 8] = k;
            asm volatile("bar.sync 2, 128;" ::: "memory");
        }
        z[t] = v;
    }"""
    running = Running(tmp_path_factory.mktemp("turns"), text, is_small=True, checks=("races",))
    z = running.put("z", np.zeros(128, np.int32))
    assert not running.launch("turns", 1, 128, z).findings
    assert len(set(ints(z))) == 1


def test_an_earlier_turn_of_a_block_is_no_other_block(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two readers of one block, before and after it was suspended, do not stand for one of another block."""
    text = """extern "C" __global__ void spins(int* z, volatile int* flag)
    {
        int v = 0, w = 0;
        if (blockIdx.x < 2) {
            if (blockIdx.x) asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(w) : "l"(z) : "memory");
            asm volatile("ld.b32 %0, [%1];" : "=r"(v) : "l"(z) : "memory");
        }
        if (blockIdx.x == 2) *flag = 1;
        if (blockIdx.x == 1) {
            while (!*flag) {}
            asm volatile("ld.b32 %0, [%1];" : "=r"(v) : "l"(z) : "memory");
            asm volatile("st.b32 [%0], %1;" :: "l"(z), "r"(v + w + 1) : "memory");
        }
        z[1 + blockIdx.x] = v;
    }"""
    running = Running(tmp_path_factory.mktemp("spins"), text, is_small=True, checks=("races",))
    z, flag = running.put("z", np.zeros(4, np.int32)), running.put("flag", np.zeros(1, np.int32))
    (found,) = running.launch("spins", 3, 1, z, flag).findings
    assert "read by thread (0,0,0) of block (0,0,0)" in found.message
