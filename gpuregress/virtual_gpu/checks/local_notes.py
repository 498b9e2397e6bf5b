"""Reads of local memory that its thread has not written.

Each byte of local memory has a note, `local_notes` bytes after it, which is 1 once the byte was written. A thread
begins with none, and so does each call of a function for its frame. A read is reported if it has a word of 4 bytes, or
is one of fewer, of which no byte was written: copies of structures read the padding, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I64, at, fill_memory, i64
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, epoch_of
from gpuregress.virtual_gpu.checks.cell_rules import report
from gpuregress.virtual_gpu.checks.shadow_cells import subroutine
from gpuregress.virtual_gpu.ptx.tree import Function
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_WINDOW, REGION_SHIFT

_WRITTEN = 0x01
_WORD = 4


def are_needed(functions: Iterable[Function]) -> bool:
    """Whether a program has local memory."""
    return any(item.space == "local" for function in functions for item in function.variables)


def clear(b: ir.IRBuilder, emitter: Services) -> None:
    """Clear the notes of the frame of a thread, or of a call, that begins."""
    size = emitter.frame.local_bytes
    if emitter.unit.watches_local and size:
        start = b.add(emitter.thread.stack, emitter.view.field("local_notes"))
        fill_memory(b, at(b, emitter.thread.local, start), 0, i64(size))


def note_generic(emitter: Services, access: AccessNote, address: ir.Value, pointer: ir.Value) -> None:
    """Do as `note`, where a generic address (i64) is in local memory."""
    b = emitter.builder
    slot = b.lshr(address, i64(REGION_SHIFT))
    with b.if_then(b.icmp_unsigned("==", slot, i64(LOCAL_WINDOW >> REGION_SHIFT))):
        note(emitter, access, pointer)


def note(emitter: Services, access: AccessNote, pointer: ir.Value) -> None:
    """Note a write, or report a read of bytes that were not written.

    Args:
        emitter: the function's.
        access: to local memory.
        pointer: the host address.
    """
    b = emitter.builder
    notes = at(b, pointer, emitter.view.field("local_notes"))
    if access.action == "write":
        count = bytes([_WRITTEN]) * access.count
        b.store(ir.Constant(ir.IntType(8 * access.count), int.from_bytes(count, "little")), notes, align=access.count)
        return
    word = ir.IntType(8 * min(access.count, _WORD))
    is_unwritten = ir.Constant(I1, 0)
    for first in range(0, access.count, _WORD):
        written = b.load(at(b, notes, first), typ=word, align=min(access.count, _WORD))
        is_unwritten = b.or_(is_unwritten, b.icmp_unsigned("==", written, ir.Constant(word, 0)))
    with b.if_then(is_unwritten, likely=False):
        offset = b.sub(b.ptrtoint(pointer, I64), b.ptrtoint(emitter.thread.local, I64))
        _report(b, emitter.view.machine, offset, epoch_of(emitter, access))


@subroutine("check.local_read", attributes=())
def _report(b: ir.IRBuilder, machine: ir.Value, offset: ir.Value, epoch: ir.Value) -> None:
    """`(machine, offset in local memory, epoch)`: report a read."""
    report(b, machine, i64(layout.UNINITIALIZED), b.add(offset, i64(LOCAL_WINDOW)), epoch, i64(0))
