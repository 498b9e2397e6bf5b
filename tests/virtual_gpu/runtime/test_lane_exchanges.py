"""The note on values that lanes exchanged with no wait between: only where one did."""

from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

SOURCE = """extern "C" __global__ void through_shared(volatile int* y)
{
    __shared__ volatile int box[64];
    box[threadIdx.x] = y[threadIdx.x];
    y[threadIdx.x] = box[threadIdx.x ^ 1];
}
extern "C" __global__ void through_global(volatile int* y)
{
    y[threadIdx.x] += 1;
    y[threadIdx.x + 64] = y[threadIdx.x ^ 2];
}
extern "C" __global__ void by_data(volatile int* y)
{
    __shared__ volatile int box[64];
    box[threadIdx.x] = 5;
    y[threadIdx.x + 64] = box[y[threadIdx.x]];
}
extern "C" __global__ void with_a_wait(volatile int* y)
{
    __shared__ volatile int box[64];
    box[threadIdx.x] = y[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = box[threadIdx.x ^ 1];
}
extern "C" __global__ void of_another_warp(volatile int* y)
{
    __shared__ volatile int box[64];
    box[threadIdx.x] = y[threadIdx.x];
    y[threadIdx.x + 64] = box[threadIdx.x ^ y[0]];
}
extern "C" __global__ void inserted(int* y)
{
    unsigned slot = threadIdx.x / 2;
    while (atomicCAS(&y[slot], 0, (int)threadIdx.x + 1) != 0) slot = (slot + 1) % 128;
}
extern "C" __global__ void atomic_then_plain(int* y)
{
    atomicAdd(&y[threadIdx.x], 1);
    y[threadIdx.x + 64] = y[threadIdx.x ^ 1];
}
__device__ int lock;
extern "C" __global__ void behind_a_lock(volatile int* y)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            y[0] = y[0] + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void lock_and_exchange(volatile int* y)
{
    __shared__ volatile int box[64];
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            y[0] = y[0] + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    box[threadIdx.x] = y[threadIdx.x];
    y[threadIdx.x] = box[threadIdx.x ^ 1];
}
#define HEAD(type) __shared__ int box[64]; __shared__ type state; \\
    unsigned at = (unsigned)__cvta_generic_to_shared(&state), seen; unsigned long long token; \\
    if (threadIdx.x == 0) { state = 0; BEGIN } \\
    __syncthreads(); \\
    box[threadIdx.x] = y[threadIdx.x];
#define TAIL y[threadIdx.x + 64] = box[threadIdx.x ^ 1];
#define ARRIVE(how) \\
    asm volatile("mbarrier." how ".shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory"); \\
    do asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \\
        : "=r"(seen) : "r"(at), "l"(token) : "memory"); while (!seen);
#define COUNT(how) \\
    asm volatile(how ".shared.add.u32 [%0], 1;" :: "r"(at) : "memory"); \\
    do asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory"); while (seen < 64);
#define BEGIN asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
extern "C" __global__ void arriving(int* y) { HEAD(unsigned long long) ARRIVE("arrive") TAIL }
extern "C" __global__ void dropping(int* y) { HEAD(unsigned long long) ARRIVE("arrive_drop") TAIL }
#define ARRIVE_ALONE asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at) : "memory");
extern "C" __global__ void arriving_alone(int* y) { HEAD(unsigned long long) ARRIVE_ALONE TAIL }
#undef BEGIN
#define BEGIN
#define TELL asm volatile("red.release.cta.shared.add.u32 [%0], 1;" :: "r"(at) : "memory");
#define FIRST asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0; @p st.release.cta.shared.u32 [%0], 64; }" \\
    :: "r"(at), "r"(threadIdx.x) : "memory");
#define ASK asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
extern "C" __global__ void telling(int* y) { HEAD(unsigned) TELL TAIL }
extern "C" __global__ void one_lane_releasing(int* y) { HEAD(unsigned) FIRST ASK TAIL }
extern "C" __global__ void fencing_and_asking(int* y)
    { HEAD(unsigned) __threadfence(); if (atomicAdd(&state, 1) < 64) TAIL }
extern "C" __global__ void releasing(int* y) { HEAD(unsigned) COUNT("red.release.cta") TAIL }
extern "C" __global__ void relaxing(int* y) { HEAD(unsigned) COUNT("red.relaxed.cta") TAIL }
#define GUARDED(body) "{ .reg .pred p; setp.eq.u32 p, %0, 0; " body " }"
#define WAIT do ASK while (!seen); y[threadIdx.x + 64] = one;
#define WRITE "@p st.shared.u32 [%1], 7; "
#define RELEASE "@p st.release.cta.shared.u32 [%2], 1;"
#define ONE (unsigned)__cvta_generic_to_shared(&one)
extern "C" __global__ void guarded(int* y)
    { HEAD(unsigned) __shared__ int one;
      asm volatile(GUARDED(WRITE RELEASE) :: "r"(threadIdx.x), "r"(ONE), "r"(at) : "memory"); WAIT }
extern "C" __global__ void guarded_by_data(int* y)
    { HEAD(unsigned) __shared__ int one;
      asm volatile(GUARDED(WRITE RELEASE) :: "r"(y[threadIdx.x]), "r"(ONE), "r"(at) : "memory"); WAIT }
extern "C" __global__ void guarded_in_all(int* y)
    { HEAD(unsigned) asm volatile(GUARDED("@p red.release.cta.shared.add.u32 [%1], 1;") :: "r"(0), "r"(at) : "memory");
      do ASK while (seen < 64); TAIL }
extern "C" __global__ void sleeping(int* y)
    { HEAD(unsigned) __threadfence(); atomicAdd(&state, 1);
      while (*(volatile unsigned*)&state < 64) __nanosleep(20); __threadfence(); TAIL }
__device__ int flag;
extern "C" __global__ void past_the_first_cache(int* y)
    { if (threadIdx.x == 0) { y[64] = 7; __threadfence(); atomicExch(&flag, 1); }
      while (__ldcg(&flag) == 0); __threadfence(); y[threadIdx.x] = __ldcg(y + 64); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("exchanges"), SOURCE)


def _note(program: Running, kernel: str, data: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    y = program.put("y", np.concatenate([data, np.zeros(64)]).astype(np.int32))
    return program.launch(kernel, 2, 64, y).exchange


@pytest.mark.parametrize(
    ("kernel", "variable", "lines"),
    [
        ("through_shared", "shared box", (4, 5)),
        ("through_global", "global y", (9, 10)),
        ("by_data", "shared box", (15, 16)),
        ("atomic_then_plain", "global y", (38, 39)),
        ("lock_and_exchange", "shared box", (68, 69)),
    ],
)
def test_an_exchange_is_told_with_lines_and_variable(
    program: Running, kernel: str, variable: str, lines: tuple[int, int]
) -> None:
    note = _note(program, kernel, (np.arange(64) + 1) % 64)
    assert note.startswith(
        f"lanes of a warp exchange values through {variable} without __syncwarp (k.cu:{lines[0]} → k.cu:{lines[1]}); "
    )
    assert "--check races shows whether other warps are affected, too: __syncthreads() " in note


def test_no_note_where_each_lane_reads_its_own(program: Running) -> None:
    assert not _note(program, "by_data", np.arange(64))


def test_no_note_where_lanes_wait(program: Running) -> None:
    assert not _note(program, "with_a_wait", np.arange(64))


def test_no_note_for_another_warp(program: Running) -> None:
    assert not _note(program, "of_another_warp", np.full(64, 32))
    assert _note(program, "of_another_warp", np.full(64, 1))


@pytest.mark.parametrize("kernel", ["arriving", "dropping", "releasing", "relaxing"])
def test_no_note_where_a_lane_waits_for_what_another_one_releases(program: Running, kernel: str) -> None:
    assert bool(_note(program, kernel, np.arange(64))) == (kernel == "relaxing")


@pytest.mark.parametrize("kernel", ["guarded", "guarded_by_data", "guarded_in_all", "sleeping", "past_the_first_cache"])
def test_no_note_where_all_lanes_that_write_release_and_all_poll(program: Running, kernel: str) -> None:
    assert not _note(program, kernel, np.arange(64))


@pytest.mark.parametrize("kernel", ["arriving_alone", "telling", "one_lane_releasing"])
def test_a_release_alone_orders_no_reader(program: Running, kernel: str) -> None:
    """Nobody waits for it, or not all lanes make it."""
    assert "through shared box" in _note(program, kernel, np.arange(64))


def test_no_note_where_a_fence_and_an_atomic_operation_ask_for_the_others(program: Running) -> None:
    assert not _note(program, "fencing_and_asking", np.arange(64))


@pytest.mark.parametrize("kernel", ["inserted", "behind_a_lock"])
def test_no_note_where_the_order_of_the_lanes_does_not_matter(program: Running, kernel: str) -> None:
    """Both accesses are atomic, as at insertions into a hash table, or a lock orders them."""
    assert not _note(program, kernel, np.zeros(64, np.int64))
