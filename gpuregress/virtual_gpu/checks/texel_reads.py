"""Checks of the texels that a texture fetch reads, as a subroutine of the module.

The subroutines that sample a texture are shared by all of its fetches. So the thread that reads is told to them in
memory, behind the place where they leave the texel's channels.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, counted, i64, open_function
from gpuregress.virtual_gpu.builder.types import I64, POINTER
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, epoch_of, rules
from gpuregress.virtual_gpu.checks.cells.cell_access import READ, CellAccess
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime.checks import texels

READER = ir.LiteralStructType([POINTER, I64])
"""The thread that reads: the launch's machine, and the epoch of the access."""
_EPOCH = 8


def tell_reader(emitter: Services, instruction: Instruction, reader: ir.Value) -> None:
    """Store the running thread, where accesses are checked.

    Args:
        emitter: the function's.
        instruction: that fetches.
        reader: a pointer to a `READER`.
    """
    if emitter.epoch is None:
        return
    b = emitter.builder
    site = emitter.unit.site(instruction, texels.FETCH, "texture")
    b.store(emitter.view.machine, reader)
    b.store(epoch_of(emitter, AccessNote(instruction, "read", "global", 0, site)), at(b, reader, _EPOCH))


def pass_reader(emitter: Services, b: ir.IRBuilder, reader: ir.Value, other: ir.Value) -> None:
    """Copy a `READER` to another place, where accesses are checked."""
    if emitter.unit.granules is not None:
        b.store(b.load(reader, typ=READER), other)


def note_texel(emitter: Services, b: ir.IRBuilder, address: ir.Value, count: ir.Value, reader: ir.Value) -> None:
    """Build the check of a texel that is read, where accesses are checked.

    Args:
        emitter: for the subroutine.
        b: where the texel is read.
        address: its first byte in device memory, i64.
        count: its bytes, i64, a power of two; 0 for none.
        reader: a pointer to a `READER`.
    """
    if emitter.unit.granules is None:
        return
    made, shift = rules(emitter), emitter.unit.granules["global"]
    function, is_new = made.function("check.texel", ir.VoidType(), (POINTER, I64, I64))
    if is_new:
        function.attributes.add("noinline")
        who, start, size = function.args
        inner = open_function(function)
        machine, epoch = inner.load(who, typ=POINTER), inner.load(at(inner, who, _EPOCH), typ=I64)
        cell = CellAccess(READ, is_strong=False, reads=False, count=1 << shift, is_incoherent=True)
        cells = inner.lshr(inner.add(size, i64((1 << shift) - 1)), i64(shift))
        with counted(inner, cells) as index:
            place = inner.add(start, inner.shl(index, i64(shift)))
            inner.call(made.access(cell, "global"), (machine, place, epoch))
        inner.ret_void()
    b.call(function, (reader, address, count))
