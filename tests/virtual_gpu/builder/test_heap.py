"""Heap of kernels: look-up of addresses, malloc and free."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.builder.heap import held_memory
from gpuregress.virtual_gpu.builder.structured import I64, POINTER
from gpuregress.virtual_gpu.runtime import device_heap, llvm_backend
from gpuregress.virtual_gpu.runtime.device_heap import CELL, CLASS, CLASS_SHIFT, FREED, HEADER_BYTES, DeviceHeap
from gpuregress.virtual_gpu.runtime.machine_layout import MAX_REGIONS
from tests.virtual_gpu.running import Running, ints


@pytest.fixture(scope="module")
def code() -> llvm_backend.LoadedCode:
    module = ir.Module("heap")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, I64, POINTER)), "look_up")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    record, address, out = function.args
    offset, size, host = held_memory(builder, record, address)
    for number, value in enumerate((offset, size, builder.ptrtoint(host, I64))):
        builder.store(value, builder.gep(out, [ir.Constant(I64, number)], source_etype=I64))
    builder.ret_void()
    return llvm_backend.LoadedCode(llvm_backend.compile_object(str(module)))


@pytest.mark.parametrize("number", [0, 3, 9])
def test_an_address_finds_its_allocation(code: llvm_backend.LoadedCode, number: int) -> None:
    heap = DeviceHeap(np.zeros((MAX_REGIONS, 4), np.uint64))
    heap.add_class(number)
    record = (HEADER_BYTES + (number << CLASS_SHIFT)) // 8
    heap.control[record + CLASS.index("fresh")] = 2
    cells, arena = heap._memory[number]
    cells[CELL.index("size")], cells[len(CELL)] = 10, 12 | FREED
    shift = device_heap.cell_shift(number)
    start = device_heap.base(number) + (1 << shift) // 4
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    look_up, out = kind(code.address("look_up")), np.zeros(3, np.uint64)
    for address, inner, size in (
        (start, 0, 10),
        (start + 9, 9, 10),
        (start - 4, -4, 10),
        (start + (1 << shift), 0, 0),
        (start + (2 << shift), 0, 0),
    ):
        look_up(heap.control[record:].ctypes.data, address, out.ctypes.data)
        assert (int(out[0].astype(np.int64)), int(out[1])) == (inner, size)
        if size:
            assert int(out[2]) == (arena.ctypes.data + inner) % (1 << 64)


SOURCE = r"""
struct Node { Node* next; int value; };
extern "C" __global__ void list(int* y, int n) {
  Node* head = nullptr;
  for (int i = 0; i < n; ++i) {
    Node* p = new Node;
    if (!p) { y[0] = -i; return; }
    p->next = head; p->value = i; head = p;
  }
  long long sum = 0;
  for (Node* p = head; p; p = p->next) sum += p->value;
  while (head) { Node* p = head->next; delete head; head = p; }
  y[0] = (int)sum;
}
extern "C" __global__ void all(int** kept, int* y) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int* p = new int[1 + t % 9];
  p[t % 9] = t; kept[t] = p; y[t] = *(int*)(p + t % 9);
}
extern "C" __global__ void exhaust(long long* y, unsigned long long size) {
  long long n = 0; while (malloc(size)) ++n;
  y[0] = n;
}
extern "C" __global__ void script(const int* steps, int n, int* y, char** held) {
  int sizes[4];
  for (int i = 0; i < n; ++i) {
    int slot = steps[2 * i], size = steps[2 * i + 1];
    if (size < 0) { free(held[slot]); held[slot] = nullptr; continue; }
    char* p = (char*)malloc(size);
    y[i] = p != nullptr;
    if (p) for (int k = 0; k < size; ++k) p[k] = (char)(slot + k);
    free(held[slot]); held[slot] = p; sizes[slot] = size;
    for (int s = 0; s < 4; ++s) if (held[s] && sizes[s]) y[i] += (held[s][0] != (char)s) * 100;
  }
}
extern "C" __global__ void above(int n) { int* p = new int[16]; int* q = new int[16]; q[0] = 1; p[n] = 2; }
extern "C" __global__ void after(int* y) {
  int* p = new int[4]; p[1] = 3;
  delete[] p;
  y[0] = ((volatile int*)p)[1];
}
extern "C" __global__ void release(char* p, int by) { char* q = (char*)malloc(64); free(p ? p : q + by); if (!by && !p)
  free(q); }
extern "C" __global__ void speaks() {
  char* p = (char*)malloc(3); p[0] = 'h'; p[1] = 'i'; p[2] = 0; printf("%s\n", p);
}
extern "C" __global__ void aligned(long long* y) {
  struct alignas(256) Big { char c[256]; };
  y[0] = (long long)new Big;
}
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("heap"), SOURCE)


@pytest.fixture
def program(loaded: Running) -> Running:
    loaded.device.limit_heap(8 << 20)
    return loaded


def test_many_live_allocations(program: Running) -> None:
    """At 48 the table of regions once moved away under the kernel that read it."""
    y = program.put("y", np.zeros(1, np.int32))
    for count in (1, 48, 5000):
        program.launch("list", 1, 1, y, np.int32(count))
        assert ints(y) == [count * (count - 1) // 2]


def test_a_million_allocations(program: Running) -> None:
    program.device.limit_heap(16 << 20)
    y = program.put("y", np.zeros(1, np.int32))
    program.launch("list", 1, 1, y, np.int32(1_000_000))
    assert ints(y)[0] & 0xFFFFFFFF == 499_999_500_000 & 0xFFFFFFFF
    program.launch("list", 1, 1, y, np.int32(1_048_577))
    assert ints(y) == [-1_048_576]


def test_allocations_of_parallel_blocks_are_apart(program: Running) -> None:
    kept, y = program.put("kept", np.zeros(1024, np.int64)), program.put("y", np.zeros(1024, np.int32))
    program.launch("all", 8, 128, kept, y)
    assert ints(y) == list(range(1024))
    assert len(np.unique(kept.read().view(np.int64))) == 1024


@pytest.mark.parametrize(
    ("limit", "size", "count"), [(1 << 20, 16, 65536), (1 << 20, 0, 65536), (1 << 20, 1 << 18, 4), (100, 33, 2)]
)
def test_beyond_the_limit_malloc_returns_null(program: Running, limit: int, size: int, count: int) -> None:
    program.device.limit_heap(limit)
    y = program.put("y", np.zeros(1, np.int64))
    program.launch("exhaust", 1, 1, y, np.uint64(size))
    assert y.read().view(np.int64).tolist() == [count]


def test_impossible_sizes_give_null(program: Running) -> None:
    y = program.put("y", np.ones(1, np.int64))
    for size in ((1 << 64) - 1, 1 << 63, (8 << 20) + 1):
        program.launch("exhaust", 1, 1, y, np.uint64(size))
        assert y.read().view(np.int64).tolist() == [0]


_STEP = st.tuples(st.integers(0, 3), st.integers(-1, 300))


@settings(max_examples=30, deadline=None)
@given(st.lists(_STEP, max_size=60), st.integers(64, 900))
def test_no_allocation_disturbs_another(loaded: Running, steps: list[tuple[int, int]], limit: int) -> None:
    loaded.device.limit_heap(limit)
    held: dict[int, int] = {}
    expected = []
    for slot, size in steps:
        if size < 0:
            held.pop(slot, None)
            expected.append(0)
            continue
        charge = max(16, math.ceil(size / 16) * 16)
        fits = sum(held.values()) + charge <= limit
        held.pop(slot, None)
        if fits:
            held[slot] = charge
        expected.append(int(fits))
    wanted = loaded.put("steps", np.array([*steps, (0, 0)], np.int32))
    y, places = loaded.put("y", np.zeros(len(steps) + 1, np.int32)), loaded.put("held", np.zeros(4, np.int64))
    loaded.launch("script", 1, 1, wanted, np.int32(len(steps)), y, places)
    assert ints(y)[: len(steps)] == expected


_PAST = r"write of 4 bytes at malloc'ed memory\[16\] \(malloc'ed memory has 16; allocated at k.cu:\d+\)"
_TWICE = r"free of 0x\w+, which is free already \(allocated at k.cu:\d+, freed at k.cu:\d+\)"


@pytest.mark.parametrize(
    ("kernel", "arguments", "kind", "message"),
    [
        ("above", (np.int32(16),), "out-of-bounds", _PAST),
        ("above", (np.int32(-1),), "out-of-bounds", r"at malloc'ed memory\[-1\]"),
        ("release", (np.int64(0), np.int32(8)), "illegal-access", r"free of 0x\w+, byte 8 of malloc'ed memory \(alloc"),
        ("release", (np.int64(0), np.int32(0)), "illegal-access", _TWICE),
        ("release", (np.int64(64), np.int32(0)), "illegal-access", "free of 0x40, which malloc did not give"),
    ],
)
def test_faults(program: Running, kernel: str, arguments: tuple[np.generic, ...], kind: str, message: str) -> None:
    with pytest.raises(KernelFault, match=message) as caught:
        program.launch(kernel, 1, 1, *arguments)
    assert caught.value.kind == kind


def test_memory_is_not_used_after_it_was_freed(program: Running) -> None:
    y = program.put("y", np.zeros(1, np.int32))
    with pytest.raises(KernelFault, match=r"read of 4 bytes at malloc'ed memory\[1\] of freed memory") as caught:
        program.launch("after", 1, 1, y)
    assert caught.value.kind == "illegal-access"
    line = SOURCE[: SOURCE.index("int* p = new int[4]")].count("\n") + 1
    assert f"(allocated at k.cu:{line}, freed at k.cu:{line + 1})" in str(caught.value)


def test_strings_and_alignment(program: Running) -> None:
    assert program.launch("speaks", 1, 1).output == "hi\n"
    y = program.put("y", np.zeros(1, np.int64))
    program.launch("aligned", 1, 1, y)
    assert y.read().view(np.int64)[0] % 256 == 0
