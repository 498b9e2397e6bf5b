"""Races between two accesses: each kind with a twin that is right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

HEAD = "__shared__ int s[256]; int t = threadIdx.x, b = blockIdx.x; int i = b * blockDim.x + t;"
_REGISTERS = ", ".join(f'"=r"(r[{number}])' for number in range(8))
_MATRIX = f"""unsigned r[8]; asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16"
    " {{%0, %1, %2, %3, %4, %5, %6, %7}}, [%8], 16;" : {_REGISTERS} : "r"((unsigned)__cvta_generic_to_shared(s)));
    z[i] = r[0] + r[7];"""
READ_AGAIN = """s[t] = 1; __syncthreads(); int v = s[5]; __syncthreads(); if (t == 9) v += s[5];
    if (t == 50) s[5] = v + t; __syncthreads(); z[i] = v + s[t];"""
_STORE = 'asm volatile("st.shared.b32 [%0], 0;" :: "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");'
SAME_AGAIN = f"""if (!t) s[0] = 0; __syncthreads(); if (!t) {{ {_STORE} }}
    if (t == 1) {{ {_STORE} __syncwarp(6); }} if (t == 2) {{ __syncwarp(6); {_STORE} __syncwarp(12); }}
    if (t == 3) {{ __syncwarp(12); z[b] = s[0]; }}"""
_NARROW = 'int v; asm volatile("ld.relaxed.cta.b32 %0, [%1];" : "=r"(v) : "l"(z + {}) : "memory"); z[8 + b] = v;'
BODIES: dict[str, tuple[str, str]] = {
    "reversed": ("s[t] = y[i]; __syncthreads(); z[i] = s[63 - t];", ""),
    "reversed_racy": ("s[t] = y[i]; z[i] = s[63 - t];", "(shared): "),
    "overwritten": ("s[t] = 1; __syncthreads(); int v = s[t ^ 32]; __syncthreads(); s[t] = v; z[i] = s[t];", ""),
    "overwritten_racy": ("s[t] = 1; __syncthreads(); int v = s[t ^ 32]; s[t] = v; z[i] = s[t];", "read by"),
    "broadcast": ("s[t] = y[i]; __syncthreads(); z[i] = s[0] + s[63];", ""),
    "all_readers": ("s[t] = y[i]; __syncthreads(); z[i] = s[5]; __syncthreads(); if (!t) s[5] = 1;", ""),
    "last_reader_racy": ("s[t] = y[i]; __syncthreads(); z[i] = s[5]; if (t == 40) s[5] = 1;", "`s[5]` (shared)"),
    "counted": ("atomicAdd(&z[y[i] & 3], 1);", ""),
    "counted_racy": ("z[y[i] & 3] += 1;", "write by"),
    "cleared": ("if (!t) s[0] = 0; __syncthreads(); atomicAdd(&s[0], 1); __syncthreads(); z[i] = s[0];", ""),
    "cleared_racy": ("if (!t) s[0] = 0; atomicAdd(&s[0], 1); __syncthreads(); z[i] = s[0];", "atomic access by"),
    "read_early_racy": ("if (!t) s[0] = 0; __syncthreads(); atomicAdd(&s[0], 1); z[i] = s[0];", "atomic access by"),
    "one_value": ("if (y[i] >= 0) z[0] = 1;", ""),
    "two_values_racy": ("z[0] = t;", "write by thread"),
    "of_two_blocks_racy": ("if (!t) z[0] = b + 1; ", "in two blocks that nothing orders"),
    "flags": ("((volatile int*)z)[0] = t;", ""),
    "block_scope_racy": ("atomicAdd_block(&z[0], 1);", "in two blocks"),
    "block_scope": ("atomicAdd_block(&z[b], 1);", ""),
    "narrow_then_wide_racy": ("if (b) atomicAdd(&z[0], 1); else atomicAdd_block(&z[0], 1);", "in two blocks"),
    "wide_then_narrow_racy": ("if (b) atomicAdd_block(&z[0], 1); else atomicAdd(&z[0], 1);", "in two blocks"),
    "narrow_read_racy": (f"if (t) return; if (b) atomicAdd(z, 1); else {{ {_NARROW.format(0)} }}", "read by"),
    "narrow_read": (f"if (t) return; {_NARROW.format('b')} atomicAdd(z + b, 1);", ""),
    "one_value_again_racy": (SAME_AGAIN, "write by thread (0,0,0) of block (0,0,0)"),
    "matrix": (f"s[t] = s[t + 64] = t; __syncthreads(); {_MATRIX}", ""),
    "matrix_racy": (f"s[t] = s[t + 64] = t; {_MATRIX}", "(shared): "),
    "read_again_racy": (READ_AGAIN, "`s[5]` (shared): "),
    "read_only_load": ("z[i + 512] = __ldg(&y[i ^ 1]);", ""),
    "read_only_load_racy": ("z[i] = t; __syncthreads(); z[i + 512] = __ldg(&z[i ^ 1]);", "by ld.global.nc"),
    "vectors": ("((int4*)z)[i] = ((int4*)y)[i & 15];", ""),
    "vector_over_words_racy": (
        "if (b == 0 && t < 16) { z[4 * t + 7] = 99; ((int4*)z)[t] = make_int4(t, t, t, t); }",
        "`z[",
    ),
    "vector_read_racy": ("if (t == 3) z[8 * b + 2] = y[b]; int4 v = ((int4*)z)[2 * b]; z[512 + i] = v.x + v.z;", "`z["),
    "vectors_racy": ("if (b == 0 && t < 16) { ((int4*)z)[t] = make_int4(t, t, t, t); z[4 * t + 7] = 99; }", "`z["),
}


def source(bodies: dict[str, str]) -> str:
    head = 'extern "C" __global__ void {}(int* z, const int* __restrict__ y) {{ ' + HEAD
    return "\n".join(f"{head.format(name)} {body} }}" for name, body in bodies.items())


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["small", "optimised"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Running:
    text = source({name: body for name, (body, _) in BODIES.items()})
    return Running(tmp_path_factory.mktemp("races"), text, is_small=request.param, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_a_race_is_found_and_its_twin_is_not(program: Running, kernel: str) -> None:
    z = program.put("z", np.zeros(4096, np.int32))
    y = program.put("y", np.arange(1024, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 2, 64, z, y).findings]
    assert bool(messages) == kernel.endswith("racy"), messages
    assert all(BODIES[kernel][1] in message for message in messages[:1])


def test_two_writes_of_one_value_are_a_note(program: Running) -> None:
    z, y = program.put("z", np.zeros(64, np.int32)), program.put("y", np.arange(128, dtype=np.int32))
    report = program.launch("one_value", 2, 64, z, y)
    assert report.exchange.startswith("data race on `z[0]`: write by thread (0,0,0) of block (0,0,0) at ")
    assert report.exchange.endswith("both write the same value")
    assert program.launch("counted", 1, 64, z, y).exchange == ""


def test_the_next_launch_is_ordered_behind_the_one_before(program: Running) -> None:
    z, y = program.put("z", np.zeros(64, np.int32)), program.put("y", np.zeros(128, np.int32))
    for _ in range(2):
        assert not program.launch("counted", 1, 64, z, y).findings


def test_a_finding_counts_those_at_the_same_lines(program: Running) -> None:
    z, y = program.put("z", np.zeros(64, np.int32)), program.put("y", np.zeros(64, np.int32))
    assert max(finding.count for finding in program.launch("reversed_racy", 1, 64, z, y).findings) == 32


CONFLICTING = {
    "commute": ("atomicAdd(z, 1);", 0),
    "seen_by_the_last": ("atomicAdd(z, 1); if (b) z[1] = ((volatile int*)z)[0];", 1),
    "set_to_the_sum": ("if (b) *z = 1; else atomicAdd(z, 1);", 1),
    "set_to_the_sum_strongly": ("if (b) *(volatile int*)z = 1; else atomicAdd(z, 1);", 1),
    "one_value": ("*z = 1;", 0),
    "plain_before_its_own": ("if (!b) *z = 5; atomicAdd(z, 1);", 1),
    "another_behind": ("*z = 1; if (b) *z = 2;", 1),
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Running:
    text = source({name: f"if (!t) {{ {body} }}" for name, (body, _) in CONFLICTING.items()})
    return Running(tmp_path_factory.mktemp("conflicts"), text, is_small=True, checks=("races",), conflicts=True)


@pytest.mark.parametrize("kernel", CONFLICTING)
def test_accesses_that_may_change_places_do_not_hide_others(watched: Running, kernel: str) -> None:
    z, y = (watched.put(name, np.zeros(16, np.int32)) for name in "zy")
    found = [conflict.text for conflict in watched.launch(kernel, 2, 64, z, y).conflicts]
    assert len(found) == CONFLICTING[kernel][1], found
