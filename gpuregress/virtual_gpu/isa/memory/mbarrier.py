"""Lowering of mbarriers, and of the bulk copies that arrive at them."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import Services, call_python, raw_call
from gpuregress.virtual_gpu.builder.structured import I1, I64, convert, i64, stack_words, width
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.checks.access_notes import begin_epoch, note_initialization, note_order, note_wait
from gpuregress.virtual_gpu.isa.memory import copy_queue
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, generic_address, host_pointer, watch_access
from gpuregress.virtual_gpu.ptx.modifiers import space_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Instruction,
    Integer,
    Operand,
    Register,
    Sink,
    TextureAddress,
    Vector,
    elements,
)
from gpuregress.virtual_gpu.runtime.bulk_forms import (
    BYTES,
    BYTES_SHIFT,
    COUNT,
    EXPECTED_SHIFT,
    PARITY_SHIFT,
    BulkForm,
    form_of,
)
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import BULK_ARRIVE, BULK_ISSUE, BULK_SEND

# --- bulk copies ------------------------------------------------------------------------------------------------------


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
    _pass(emitter, instruction, BULK_ISSUE, (), values)


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
    addresses = (b.ptrtoint(target, I64), b.ptrtoint(barrier, I64))
    _pass(emitter, instruction, BULK_SEND, addresses, [convert(b, value, I64) for value in values])


def _pass(
    emitter: Services,
    instruction: Instruction,
    number: int,
    addresses: tuple[ir.Value, ...],
    values: list[ir.Value],
) -> None:
    """Pass the site, the thread, addresses, and values with their count to Python; i64 each."""
    b, view = emitter.builder, emitter.view
    site, thread = i64(emitter.unit.site(instruction)), b.zext(linear_thread(b, view, emitter.thread), I64)
    words = stack_words(b, (site, thread, *addresses, i64(len(values)), *values))
    set_field(b, view.machine, "fault_site", site)
    call_python(emitter, number, words)
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
    with b.if_then(b.icmp_unsigned("!=", field(b, view.machine, "pending_loads"), i64(0)), likely=False):
        thread = b.zext(linear_thread(b, view, emitter.thread), I64)
        words = stack_words(b, (b.ptrtoint(pointer, I64), thread))
        raw_call(b, view.machine, BULK_ARRIVE, words, emitter.thread.local)


def _check_operands(instruction: Instruction, form: BulkForm) -> None:
    """Check the operands' number, and that of coordinates and offsets."""
    operands = instruction.operands
    sizes = [len(elements(item.coordinates)) for item in operands if isinstance(item, TextureAddress)]
    sizes += [len(elements(item)) for item in operands if isinstance(item, Vector)]
    loads = form.target == "shared"
    wanted = [form.axes] if form.axes else []
    if form.im2col and loads:
        wanted.append(form.axes - 2)
    count = {"commit": 0, "wait": 1}.get(form.action)
    if count is None:
        count = 2 if form.axes else 3
        if loads:
            # The mbarrier, the mask of blocks and the offsets of pixels.
            count += 1 + form.multicast + (form.im2col and form.axes > 0)
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
    value = emitter.read(operand, f"b{width(emitter.declared(operand.name))}")
    return convert(emitter.builder, value, I64)


# --- mbarriers --------------------------------------------------------------------------------------------------------
# mbarrier objects in shared memory.
#
# `runtime.bulk_forms` defines an object's 64 bits. A state token is the object's bits.
#
# PTX ISA manual, 9.7.13.15 "mbarrier".


def mbarrier_pointer(emitter: Services, instruction: Instruction, operand: Operand) -> ir.Value:
    """A checked host pointer to an mbarrier."""
    if not isinstance(operand, Address):
        raise unsupported(instruction, "not an address")
    action = "write" if instruction.modifiers[:1] == ("init",) else "atomic access"
    access = MemoryAccess(instruction, operand, space_of(instruction), 8, action)
    pointer = host_pointer(emitter, access, is_watched=False)
    if instruction.opcode == "mbarrier" and "inval" not in instruction.modifiers:
        watch_access(emitter, access, orders=False)
    return pointer


def _bits(b: ir.IRBuilder, value: ir.Value, low: int, mask: int) -> ir.Value:
    return b.and_(b.lshr(value, i64(low)), i64(mask))


def _put(b: ir.IRBuilder, value: ir.Value, low: int, mask: int, field: ir.Value) -> ir.Value:
    kept = b.and_(value, i64(~(mask << low)))
    return b.or_(kept, b.shl(b.and_(field, i64(mask)), i64(low)))


def _init(emitter: Services, instruction: Instruction) -> None:
    b = emitter.builder
    pointer = mbarrier_pointer(emitter, instruction, instruction.operands[0])
    b = emitter.builder
    count = b.and_(b.zext(emitter.read(instruction.operands[1], "u32"), I64), i64(COUNT))
    b.store(b.or_(count, b.shl(count, i64(EXPECTED_SHIFT))), pointer, align=8)
    note_initialization(emitter, instruction, pointer)


def _complete(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The object's bits; those of the next phase if this one is complete."""
    done = b.and_(
        b.icmp_unsigned("==", _bits(b, value, 0, COUNT), i64(0)),
        b.icmp_unsigned("==", _bits(b, value, BYTES_SHIFT, BYTES), i64(0)),
    )
    turned = b.xor(value, i64(1 << PARITY_SHIFT))
    return b.select(done, _put(b, turned, 0, COUNT, _bits(b, value, EXPECTED_SHIFT, COUNT)), value)


def note_arrival(emitter: Services, address: ir.Value, object_bits: ir.Value) -> None:
    """Tell the dynamic checks of an arrival, which releases what its thread did.

    Args:
        emitter: the function's.
        address: the mbarrier's, a generic one, i64.
        object_bits: those of the mbarrier before the arrival, i64.
    """
    bits = layout.READS | layout.WRITES | layout.RELEASES
    parity = _bits(emitter.builder, object_bits, PARITY_SHIFT, 1)
    note_order(emitter, bits, address, layout.SCOPES["cluster"], parity=parity)


def _arrive(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if "noComplete" in words and "expect_tx" in words:
        raise unsupported(instruction)
    target, address, *rest = instruction.operands
    if "shared::cluster" in words and not isinstance(target, Sink):
        raise unsupported(instruction, "an mbarrier of another block returns no state")
    pointer = mbarrier_pointer(emitter, instruction, address)
    b = emitter.builder
    old = b.load(pointer, typ=I64, align=8)
    expects = "expect_tx" in words
    count = i64(1)
    if rest and not expects:
        count = b.zext(emitter.read(rest[0], "u32"), I64)
    value = old
    if expects:
        more = b.zext(emitter.read(rest[0], "u32"), I64)
        value = _put(b, value, BYTES_SHIFT, BYTES, b.add(_bits(b, value, BYTES_SHIFT, BYTES), more))
    value = _put(b, value, 0, COUNT, b.sub(_bits(b, value, 0, COUNT), count))
    if words[0] == "arrive_drop":
        value = _put(b, value, EXPECTED_SHIFT, COUNT, b.sub(_bits(b, value, EXPECTED_SHIFT, COUNT), count))
    b.store(_complete(b, value), pointer, align=8)
    if "relaxed" not in words:
        assert isinstance(address, Address)
        place = generic_address(emitter, address, space_of(instruction))
        note_arrival(emitter, place, old)
    emitter.write(target, old, "b64")


def _transaction(emitter: Services, instruction: Instruction) -> None:
    """Add pending bytes (`expect_tx`) or subtract them (`complete_tx`)."""
    pointer = mbarrier_pointer(emitter, instruction, instruction.operands[0])
    b = emitter.builder
    old = b.load(pointer, typ=I64, align=8)
    count = b.zext(emitter.read(instruction.operands[1], "u32"), I64)
    pending = _bits(b, old, BYTES_SHIFT, BYTES)
    pending = b.add(pending, count) if instruction.modifiers[0] == "expect_tx" else b.sub(pending, count)
    value = _put(b, old, BYTES_SHIFT, BYTES, pending)
    b.store(_complete(b, value), pointer, align=8)


def _wait(emitter: Services, instruction: Instruction) -> None:
    """Test whether a phase is complete; the loop around it yields to other threads."""
    target, address, phase = instruction.operands[:3]
    if "shared::cluster" in instruction.modifiers:
        raise unsupported(instruction, "only a block's own mbarrier can be tested")
    pointer = mbarrier_pointer(emitter, instruction, address)
    b = emitter.builder
    before = b.load(pointer, typ=I64, align=8)
    arrive(emitter, pointer)
    copy_queue.arrive(emitter, pointer)
    with b.if_then(b.icmp_unsigned("!=", before, b.load(pointer, typ=I64, align=8)), likely=False):
        emitter.exits.note_effect(emitter)
    parity = _bits(b, b.load(pointer, typ=I64, align=8), PARITY_SHIFT, 1)
    now = b.trunc(parity, I1)
    if "parity" in instruction.modifiers:
        then = b.trunc(emitter.read(phase, "u32"), I1)
    else:
        then = b.trunc(_bits(b, emitter.read(phase, "b64"), PARITY_SHIFT, 1), I1)
    passed = b.xor(now, then)
    if emitter.unit.granules is not None and "relaxed" not in instruction.modifiers:
        assert isinstance(address, Address)
        place = generic_address(emitter, address, space_of(instruction))
        with b.if_then(passed):
            note_wait(emitter)
            acquires = layout.READS | layout.ACQUIRES | layout.WAITS
            note_order(emitter, acquires, place, layout.SCOPES["cluster"], parity=parity)
    emitter.write(target, passed, "pred")


def _pending(emitter: Services, instruction: Instruction) -> None:
    b = emitter.builder
    token = emitter.read(instruction.operands[1], "b64")
    emitter.write(instruction.operands[0], b.trunc(_bits(b, token, 0, COUNT), ir.IntType(32)), "b32")


def _invalidate(emitter: Services, instruction: Instruction) -> None:
    mbarrier_pointer(emitter, instruction, instruction.operands[0])


_FORMS = {
    "init": _init,
    "inval": _invalidate,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _transaction,
    "complete_tx": _transaction,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending,
}


def _mbarrier(emitter: Services, instruction: Instruction) -> None:
    form = "".join(instruction.modifiers[:1])
    if form not in _FORMS:
        raise unsupported(instruction)
    _FORMS[form](emitter, instruction)


TABLE = {"mbarrier": _mbarrier}
