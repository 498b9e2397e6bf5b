"""Lane mailbox: the values and masks that lanes of a warp exchange through the scheduler."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.address_resolution import set_field
from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import i32, i64
from gpuregress.devices.cpu.builder.threads import lane
from gpuregress.devices.cpu.builder.types import I64
from gpuregress.devices.cpu.runtime.machine_layout import FAULT_MASK


def post(emitter: Services, operation: int, mask: ir.Value, value: ir.Value) -> None:
    """Post an operation, the mask of its lanes, and this lane's value (i64).

    Lanes meet when their keys are equal: the operation's number in the high half, the mask in the low one.
    """
    _require_own_lane(emitter, mask)
    b = emitter.builder
    key = b.or_(b.zext(mask, I64), i64(operation << 32))
    emitter.exits.store(emitter, "key", key)
    emitter.exits.store(emitter, "post", value)


def _require_own_lane(emitter: Services, mask: ir.Value) -> None:
    """Make it a fault that a lane takes part in an operation whose mask leaves it out, as on an H200."""
    if isinstance(mask, ir.Constant) and mask.constant & 0xFFFF_FFFF == 0xFFFF_FFFF:
        return
    b = emitter.builder
    own = b.and_(b.lshr(mask, lane(b, emitter.view, emitter.thread)), i32(1))
    wrong, right = b.append_basic_block("left_out"), b.append_basic_block("named")
    b.cbranch(b.icmp_unsigned("==", own, i32(0)), wrong, right)
    emitter.builder = ir.IRBuilder(wrong)
    set_field(emitter.builder, emitter.view.machine, "fault_address", emitter.builder.zext(mask, I64))
    emitter.fail(FAULT_MASK, emitter.current())
    emitter.builder = ir.IRBuilder(right)


def received(emitter: Services, name: str) -> ir.Value:
    """Return the scheduler's answer, i32: `group`, the lanes that met, or `ballot`, those that posted nonzero."""
    return emitter.exits.fetch(emitter, name)


def from_lane(emitter: Services, number: ir.Value) -> ir.Value:
    """Return the value (i64) that lane `number` (i32) of this warp posted."""
    return emitter.exits.fetch_lane(emitter, number)
