"""Copies and stores that Python executes: cp.async.bulk, cp.reduce.async.bulk, st.async, red.async.

`runtime.bulk_copies` says when they arrive. PTX ISA manual, 9.7.9.25.5 and 9.7.9.27.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.python_calls import call_python, raw_call
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, entry_alloca, i64
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.builder.types import I64, width
from gpuregress.virtual_gpu.checks.access_notes import begin_epoch
from gpuregress.virtual_gpu.isa.memory.load_store import generic_address
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Instruction,
    Integer,
    Operand,
    Register,
    TextureAddress,
    Vector,
    elements,
)
from gpuregress.virtual_gpu.runtime.bulk_forms import BulkForm, form_of
from gpuregress.virtual_gpu.runtime.machine_layout import BULK_ARRIVE, BULK_ISSUE, BULK_SEND


def is_bulk(instruction: Instruction) -> bool:
    """Whether a `cp` is one of the bulk copies or of their groups."""
    return "bulk" in instruction.modifiers[:3]


def bulk_copy(emitter: Services, instruction: Instruction) -> None:
    """Lower one instruction of a bulk copy: pass its operands to Python."""
    form = form_of(instruction.modifiers)
    if form is None:
        raise unsupported(instruction)
    if form.action == "prefetch":
        return
    _check_operands(instruction, form)
    values = _operands(emitter, instruction, form)
    b, view = emitter.builder, emitter.view
    thread = b.zext(linear_thread(b, view, emitter.thread), I64)
    site = i64(emitter.unit.site(instruction))
    slots = entry_alloca(b.function, ir.ArrayType(I64, 3 + len(values)), align=8)
    for index, value in enumerate((site, thread, i64(len(values)), *values)):
        b.store(value, at(b, slots, 8 * index))
    set_field(b, view.machine, "fault_site", site)
    call_python(emitter, BULK_ISSUE, slots)
    begin_epoch(emitter.builder, emitter)


def send(
    emitter: Services, instruction: Instruction, target: ir.Value, barrier: ir.Value, values: list[ir.Value]
) -> None:
    """Pass an asynchronous store to Python.

    Args:
        emitter: the function's.
        instruction: st.async or red.async.
        target: checked host pointer.
        barrier: checked host pointer to the mbarrier.
        values: the elements, integers of 32 or 64 bits.
    """
    b = emitter.builder
    site = i64(emitter.unit.site(instruction))
    thread = b.zext(linear_thread(b, emitter.view, emitter.thread), I64)
    addresses = (b.ptrtoint(target, I64), b.ptrtoint(barrier, I64))
    wide = [value if value.type == I64 else b.zext(value, I64) for value in values]
    slots = entry_alloca(b.function, ir.ArrayType(I64, 5 + len(wide)), align=8)
    for index, value in enumerate((site, thread, *addresses, i64(len(wide)), *wide)):
        b.store(value, at(b, slots, 8 * index))
    set_field(b, emitter.view.machine, "fault_site", site)
    call_python(emitter, BULK_SEND, slots)
    begin_epoch(emitter.builder, emitter)


def arrive(emitter: Services, pointer: ir.Value) -> None:
    """Complete the copies that signal an mbarrier, if any are pending.

    Args:
        emitter: the function's.
        pointer: host pointer to the mbarrier.
    """
    if not emitter.unit.has_bulk_copies:
        return
    b, view = emitter.builder, emitter.view
    slot = entry_alloca(b.function, ir.ArrayType(I64, 2), align=8)
    with b.if_then(b.icmp_unsigned("!=", field(b, view.machine, "pending_loads"), i64(0)), likely=False):
        b.store(b.ptrtoint(pointer, I64), slot)
        b.store(b.zext(linear_thread(b, view, emitter.thread), I64), at(b, slot, 8))
        raw_call(b, view.machine, BULK_ARRIVE, slot, emitter.thread.local)


def _check_operands(instruction: Instruction, form: BulkForm) -> None:
    """Check the operands' number, and that of coordinates and offsets."""
    operands = instruction.operands
    sizes = [len(elements(item.coordinates)) for item in operands if isinstance(item, TextureAddress)]
    sizes += [len(elements(item)) for item in operands if isinstance(item, Vector)]
    loads = form.target == "shared"
    wanted = [form.axes, form.axes - 2] if form.im2col and loads else [form.axes] if form.axes else []
    count = {"commit": 0, "wait": 1}.get(form.action)
    if count is None:
        count = (2 if form.axes else 3) + loads * (1 + form.multicast + (form.im2col and form.axes > 0))
        count += "L2::cache_hint" in instruction.modifiers
    if sizes != wanted or len(operands) != count or (form.action == "wait" and not isinstance(operands[0], Integer)):
        raise unsupported(instruction, "operands")


def _operands(emitter: Services, instruction: Instruction, form: BulkForm) -> list[ir.Value]:
    """The operands, i64 each: addresses are generic ones."""
    spaces = [form.target, form.source, "shared"]
    if form.axes:
        spaces = ["shared", "shared"]  # the tensor's address is that of its map
    values = []
    for operand in instruction.operands:
        if isinstance(operand, TextureAddress):
            values.append(generic_address(emitter, Address(operand.base), ""))
            values += [_value(emitter, item) for item in elements(operand.coordinates)]
        elif isinstance(operand, Address):
            values.append(generic_address(emitter, operand, spaces.pop(0)))
        else:
            values += [_value(emitter, item) for item in elements(operand)]
    return values


def _value(emitter: Services, operand: Operand) -> ir.Value:
    if isinstance(operand, Integer):
        return i64(operand.value)
    if not isinstance(operand, Register):
        raise unsupported(emitter.current(), "operands")
    bits = width(emitter.declared(operand.name))
    value = emitter.read(operand, f"b{bits}")
    return value if bits == width(I64) else emitter.builder.zext(value, I64)
