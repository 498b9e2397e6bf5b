from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault, UnsupportedError
from tests.virtual_gpu.running import Running, ints

SOURCE = """
struct Inner { short a; double b; };
struct Args { float f; int table[3]; Inner inner; float* out; };
__constant__ int taps[4] = {1, 2, 3, 4};
__device__ int counts[3] = {7, 8, 9};
__device__ int* middle = &counts[1];
__device__ const char* words[2] = {"zero", "one"};
__device__ double plain;
extern "C" __global__ void by_value(Args args, int k) {
  args.out[0] = args.f; args.out[1] = args.table[k % 3]; args.out[2] = args.inner.a; args.out[3] = args.inner.b;
}
extern "C" __global__ void symbols(int* y, int k) {
  y[0] = taps[k]; y[1] = counts[k]; y[2] = middle[-1] + middle[1]; y[3] = words[k & 1][1]; y[4] = plain;
  counts[k] = 70; plain += 0.5;
}
extern "C" __global__ void narrow(int* y, const signed char* a, const unsigned char* b, const short* c, long long* d) {
  y[0] = a[1]; y[1] = b[1]; y[2] = c[1]; d[1] = (long long)y[2] << 32;
}
extern "C" __global__ void vectors(float4* y, const float4* x, short2* s) {
  float4 v = x[1]; y[0] = make_float4(v.w, v.z, v.y, v.x); s[1] = make_short2(s[0].y, s[0].x);
}
extern "C" __global__ void generic(int* y, int k) {
  __shared__ int box[4]; int own[4];
  int* any[3] = {box, own, y + 8};
  for (int i = 0; i < 4; ++i) { box[i] = i; own[i] = 10 + i; y[8 + i] = 20 + i; }
  int* p = any[k];
  y[0] = p[2]; p[1] = -1; y[1] = box[1] + own[1] + y[9];
  y[2] = __isShared(p) + 2 * __isLocal(p) + 4 * __isGlobal(p);
  y[3] = (int)__cvta_generic_to_shared(box + 3) - (int)__cvta_generic_to_shared(box);
}
extern "C" __global__ void unknown(int* y, int wrong) {
  __shared__ int first[4]; __shared__ int second[4]; __shared__ unsigned where;
  first[threadIdx.x] = 10 + threadIdx.x; second[threadIdx.x] = 20 + threadIdx.x;
  where = (unsigned)__cvta_generic_to_shared(y[0] ? first : second) + wrong;
  __syncthreads();
  asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(y[1]) : "r"(*(volatile unsigned*)&where));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("memory"), SOURCE)


def test_structures_by_value(program: Running) -> None:
    out = program.put("out", np.zeros(4, np.float32))
    args = struct.pack("<f3i h6x d Q", 1.5, 10, 20, 30, -4, 2.25, out.address)
    program.launch("by_value", 1, 1, args, np.int32(5))
    assert out.read().view(np.float32).tolist() == [1.5, 30, -4, 2.25]


def test_variables_of_the_module(program: Running) -> None:
    y = program.put("y", np.zeros(5, np.int32))
    program.launch("symbols", 1, 1, y, np.int32(1))
    program.launch("symbols", 1, 1, y, np.int32(1))
    assert ints(y) == [2, 70, 16, ord("n"), 0]
    counts = program.module.symbol(program.program.symbols["counts"])
    assert ints(counts) == [7, 70, 9]
    assert program.module.symbol("plain").read().view(np.float64)[0] == 1.0
    program.module.symbol("taps").write(np.array([5, 6, 7, 8], np.int32).view(np.uint8))
    program.launch("symbols", 1, 1, y, np.int32(3 - 1))
    assert ints(y)[0] == 7


@pytest.mark.parametrize("which", [0, 1])
def test_a_shared_address_of_which_nothing_is_known(program: Running, which: int) -> None:
    y = program.put("y", np.array([which, 0], np.int32))
    program.launch("unknown", 1, 4, y, np.int32(0))
    assert ints(y)[1] == (11 if which else 21)
    with pytest.raises(KernelFault, match=r"out-of-bounds read of 4 bytes at (first|second)\[-2\]"):
        program.launch("unknown", 1, 4, y, np.int32(-12))


def test_narrow_loads_extend(program: Running) -> None:
    y, d = program.put("y", np.zeros(3, np.int32)), program.put("d", np.zeros(2, np.int64))
    a, b = program.put("a", np.array([0, -5], np.int8)), program.put("b", np.array([0, 251], np.uint8))
    c = program.put("c", np.array([0, -300], np.int16))
    program.launch("narrow", 1, 1, y, a, b, c, d)
    assert ints(y) == [-5, 251, -300]
    assert d.read().view(np.int64).tolist() == [0, -300 << 32]


def test_vectors(program: Running) -> None:
    x, y = program.put("x", np.arange(8, dtype=np.float32)), program.put("y", np.zeros(4, np.float32))
    s = program.put("s", np.array([1, -2, 0, 0], np.int16))
    program.launch("vectors", 1, 1, y, x, s)
    assert y.read().view(np.float32).tolist() == [7, 6, 5, 4]
    assert s.read().view(np.int16).tolist() == [1, -2, -2, 1]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_generic_addresses(program: Running, which: int) -> None:
    y = program.put("y", np.zeros(12, np.int32))
    program.launch("generic", 1, 1, y, np.int32(which))
    sums = [-1 + 11 + 21, 1 - 1 + 21, 1 + 11 - 1]
    assert ints(y)[:4] == [which * 10 + 2, sums[which], 1 << which, 12]


def test_freed_buffers_are_gone(program: Running) -> None:
    space = program.device._space
    region = space.allocate("x", 16)
    assert space.find(region.address) is region
    assert space.free(region.address)
    assert space.find(region.address) is None
    assert not space.free(region.address)


def test_an_instruction_that_is_not_there_is_named_with_its_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = """extern "C" __global__ void odd(int* y) {
      unsigned r;
      asm("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(r) : "l"(y));
      *y = r;
    }"""
    with pytest.raises(UnsupportedError, match=r"multimem\.ld_reduce\.\S+ at k\.cu:3"):
        Running(tmp_path_factory.mktemp("odd"), text)


def test_a_variable_of_another_file_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = 'extern __constant__ int table[];\nextern "C" __global__ void k(int* y) { *y = table[*y]; }'
    with pytest.raises(UnsupportedError, match=r"k\.cu:2 is not supported by .*: table is defined in no file that is"):
        Running(tmp_path_factory.mktemp("extern"), text)


def test_only_what_is_launched_must_be_supported(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = """
    template <int N> __global__ void odd(int* y) { asm("multimem.red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(y)); }
    template <int N> __global__ void fine(int* y) { *y = N; }
    """
    program = Running(tmp_path_factory.mktemp("fine"), text, "fine<4>", "odd<3>")
    y = program.put("y", np.zeros(1, np.int32))
    program.launch("fine<4>", 1, 1, y)
    assert ints(y) == [4]
    with pytest.raises(UnsupportedError, match=r"multimem\.red\.\S+ at k\.cu:2 is not supported"):
        program.module.kernel(program.program.entries["odd<3>"].mangled)


NARROW = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 elsewhere[16];
.visible .entry k(.param .u64 y)
{
  .shared .align 4 .b8 first[64];
  .shared .align 4 .b8 second[64];
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r2, second;
  ADDRESS
  st.shared.u32 [%r3+OFFSET], 5;
  ld.shared.u32 %r4, [second+60];
  st.global.u32 [%rd1], %r4;
  ret;
}
"""
GUESSES = {
    "none": "st.global.u32 [%rd1], %r2; ld.global.u32 %r3, [%rd1];",
    "wrong": "mov.u64 %rd2, elsewhere; cvt.u32.u64 %r1, %rd2; sub.u32 %r1, %r1, %r1; add.u32 %r3, %r1, %r2;",
}


@pytest.mark.parametrize("guess", GUESSES.values(), ids=GUESSES)
def test_a_32_bit_shared_address_whose_variable_cannot_be_guessed(guess: str, tmp_path: Path) -> None:
    text = NARROW.replace("ADDRESS", guess)
    inside, outside = (Running(tmp_path, text.replace("OFFSET", offset), "k") for offset in ("60", "64"))
    y = inside.put("y", np.zeros(1, np.int32))
    inside.launch("k", 1, 1, y)
    assert ints(y) == [5]
    y = outside.put("y", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match="out-of-bounds write of 4 bytes"):
        outside.launch("k", 1, 1, y)


def test_shared_memory_starts_each_block_anew(tmp_path: Path) -> None:
    text = """extern "C" __global__ void left(int* out, int i) {
      __shared__ int s[64]; volatile int* p = s; out[blockIdx.x] = p[i]; p[i] = 7; }"""
    running = Running(tmp_path, text)
    out = running.put("out", np.zeros(4, np.int32))
    running.launch("left", 4, 1, out, np.int32(5))
    assert ints(out) == [-1] * 4


EDGES = """
__device__ int four[4] = {1, 2, 3, 4};
extern "C" __global__ void edges(int* y, const int* x, int k) {
  __shared__ int box[4];
  if (k == 0) asm volatile("ld.global.u32 %0, [four+12];" : "=r"(y[0]));
  if (k == 1) asm volatile("ld.global.u32 %0, [four+16];" : "=r"(y[0]));
  if (k == 2) asm volatile("ld.global.u32 %0, [four+2];" : "=r"(y[0]));
  if (k == 3) asm volatile("ld.global.v2.u32 {%0, %1}, [four+12];" : "=r"(y[0]), "=r"(y[1]));
  if (k == 4) asm volatile("ld.global.u32 %0, [four+-4];" : "=r"(y[0]));
  if (k == 5) { box[3] = 9; y[0] = box[3]; }
  if (k == 6) y[0] = *(volatile int*)(box + y[0]);
  if (k == 7) y[0] = x[1] + x[2 + y[0]];
  if (k == 8) y[0] = *(const volatile short*)((const char*)x + y[0] - 3);
}
"""


@pytest.fixture(scope="module", params=[None, 1], ids=["optimised", "not optimised"])
def edges(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Running:
    running = Running(tmp_path_factory.mktemp("edges"), EDGES)
    running.module = running.device.load(running.program, request.param)
    return running


@pytest.mark.parametrize(("k", "value"), [(0, 4), (5, 9), (7, 30)])
def test_accesses_at_the_edge_of_a_region_are_valid(edges: Running, k: int, value: int) -> None:
    y, x = edges.put("y", np.zeros(2, np.int32)), edges.put("x", np.array([0, 10, 20], np.int32))
    edges.launch("edges", 1, 1, y, x, np.int32(k))
    assert ints(y)[0] == value


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (1, "out-of-bounds read of 4 bytes at four[16] (four has 16)"),
        (2, "misaligned read of 4 bytes at four[2] (four has 16)"),
        (3, "misaligned read of 8 bytes at four[12] (four has 16)"),
        (4, "out-of-bounds read of 4 bytes at four[-4] (four has 16)"),
        (6, "out-of-bounds read of 4 bytes at box[4] (box has 4)"),
        (7, "out-of-bounds read of 4 bytes at x[6] (x has 3)"),
        (8, "misaligned read of 2 bytes at x[0] + 1 byte (x has 3)"),
    ],
)
def test_accesses_behind_the_edge_or_between_elements_are_faults(edges: Running, k: int, message: str) -> None:
    y, x = edges.put("y", np.array([4, 0], np.int32)), edges.put("x", np.array([0, 10, 20], np.int32))
    with pytest.raises(KernelFault) as fault:
        edges.launch("edges", 1, 1, y, x, np.int32(k))
    assert str(fault.value) == f"{message}, thread (0,0,0) of block (0,0,0), k.cu:{5 + k}"


USED = """.version 8.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 y, .param .u32 offset) {
  .reg .b32 %r<12>; .reg .pred %p; .reg .b64 %y;
  ld.param.u64 %y, [y];
  ld.param.u32 %r7, [offset];
  mov.u32 %r8, dyn;
  add.u32 %r7, %r8, %r7;
  mov.u32 %r6, %tid.x;
  setp.eq.u32 %p, %r6, 1;
  mov.u32 %r9, 0x07060504;
  @!%p st.shared.v2.u32 [%r7], {%r9, %r9};
  @!%p st.shared.u32 [%r7+8], %r9;
  @%p st.shared.u32 [dyn+12], %r9;
  .pragma "used_bytes_mask MASK";
  @!%p ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r7];
  @!%p st.global.v2.u32 [%y], {%r1, %r3};
  ret;
}
"""


@pytest.mark.parametrize("is_small", [True, False])
def test_the_used_bytes_of_a_load_are_checked_and_watched_alone(tmp_path: Path, *, is_small: bool) -> None:
    def run(mask: str, offset: int, size: int, *checks: str) -> tuple[list[int], int]:
        program = Running(tmp_path, USED.replace("MASK", mask), is_small=is_small, checks=checks)
        y = program.put("y", np.zeros(2, np.int32))
        findings = program.launch("k", 1, 2, y, np.int32(offset), shared=size).findings
        return ints(y), len(findings)

    assert run("4095", 16, 28) == ([0x07060504] * 2, 0)
    assert run("0x5ff", 16, 28) == ([0x07060504, 0x00060004], 0)  # bytes 9 and 11 are unused
    with pytest.raises(KernelFault, match=r"^out-of-bounds read of 16 bytes at dyn\[4\] \(dyn has 7\)"):
        run("0xffff", 16, 28)
    with pytest.raises(KernelFault, match=r"^misaligned read of 16 bytes at dyn\[2\] \(dyn has 7\)"):
        run("0xfff", 8, 28)
    with pytest.raises(KernelFault, match=r"^out-of-bounds write of 4 bytes at dyn\[6\] \(dyn has 6\)"):
        run("0xfff", 16, 24)
    assert [run(mask, 0, 32, "races")[1] for mask in ("0xfff", "0xffff")] == [0, 1]
