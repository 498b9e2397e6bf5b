"""Lane mailbox: the values and masks that lanes of a warp exchange through the scheduler."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import Services, raw_call
from gpuregress.virtual_gpu.builder.structured import I64, i32, i64, stack_words
from gpuregress.virtual_gpu.builder.threads import COORDINATES, lane
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_LEFT_OUT, FAULT_MASK


def post(emitter: Services, operation: int, mask: ir.Value, value: ir.Value) -> None:
    """Post an operation, the mask of its lanes, and this lane's value (i64).

    Lanes meet when their keys are equal: the operation's number in the high half, the mask in the low one.
    """
    mask = _checked_mask(emitter, mask)
    b = emitter.builder
    key = b.or_(b.zext(mask, I64), i64(operation << 32))
    emitter.exits.store(emitter, "key", key)
    emitter.exits.store(emitter, "post", value)


def _checked_mask(emitter: Services, mask: ir.Value) -> ir.Value:
    """Return the lanes of an operation, i32; it is a fault that a lane executes it whose mask leaves it out.

    As on an H200: where the whole warp executes it, the operation is that of the whole warp, and a note tells of it.
    """
    if isinstance(mask, ir.Constant) and mask.constant & 0xFFFF_FFFF == 0xFFFF_FFFF:
        return mask
    b = emitter.builder
    is_whole = emitter.index in emitter.whole_warp
    is_named = b.and_(b.lshr(mask, lane(b, emitter.view, emitter.thread)), i32(1))
    wrong, right = b.append_basic_block("left_out"), b.append_basic_block("named")
    b.cbranch(b.icmp_unsigned("==", is_named, i32(0)), wrong, right)
    emitter.builder = ir.IRBuilder(wrong)
    if is_whole:
        _note_left_out(emitter, mask)
        emitter.builder.branch(right)
    else:
        set_field(emitter.builder, emitter.view.machine, "fault_address", emitter.builder.zext(mask, I64))
        emitter.fail(FAULT_MASK, emitter.current())
    emitter.builder = ir.IRBuilder(right)
    return i32(-1) if is_whole else mask


def _note_left_out(emitter: Services, mask: ir.Value) -> None:
    """Note the first lane of a launch that its mask leaves out; tell the check of barriers of each one."""
    b, machine = emitter.builder, emitter.view.machine
    site = emitter.unit.site(emitter.current())
    if "barriers" in emitter.unit.schedule.instruments.checks:
        for name in COORDINATES:
            set_field(b, machine, f"fault_{name}", b.zext(emitter.thread.coordinate(b, name), I64))
        words = stack_words(b, (i64(site), b.zext(mask, I64)))
        raw_call(b, machine, CHECK_LEFT_OUT, words, machine)
        return
    with b.if_then(b.icmp_unsigned("==", field(b, machine, "left_out"), i64(0)), likely=False):
        set_field(b, machine, "left_out", b.or_(i64(site + 1 << 32), b.zext(mask, I64)))
        set_field(b, machine, "left_out_lane", b.zext(lane(b, emitter.view, emitter.thread), I64))


def received(emitter: Services, name: str) -> ir.Value:
    """Return the scheduler's answer, i32: `group`, the lanes that met, or `ballot`, those that posted nonzero."""
    return emitter.exits.fetch(emitter, name)


def from_lane(emitter: Services, number: ir.Value) -> ir.Value:
    """Return the value (i64) that lane `number` (i32) of this warp posted."""
    return emitter.exits.fetch_lane(emitter, number)
