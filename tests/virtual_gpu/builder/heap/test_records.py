"""The look-up of an address in the heap, compiled alone and compared with Python's."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.heap import held_memory
from gpuregress.virtual_gpu.builder.structured import I64, POINTER
from gpuregress.virtual_gpu.runtime import device_heap, llvm_backend
from gpuregress.virtual_gpu.runtime.device_heap import CELL, CLASS, CLASS_SHIFT, FREED, HEADER_BYTES, DeviceHeap
from gpuregress.virtual_gpu.runtime.machine_layout import MAX_REGIONS


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
