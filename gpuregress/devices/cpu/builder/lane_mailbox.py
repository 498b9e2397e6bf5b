"""Lane mailbox: the values and masks that lanes of a warp exchange through the scheduler."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import i64
from gpuregress.devices.cpu.builder.types import I64


def post(emitter: Services, operation: int, mask: ir.Value, value: ir.Value) -> None:
    """Post an operation, the mask of its lanes, and this lane's value (i64).

    Lanes meet when their keys are equal: the operation's number in the high half, the mask in the low one.
    """
    b = emitter.builder
    key = b.or_(b.zext(mask, I64), i64(operation << 32))
    emitter.exits.store(emitter, "key", key)
    emitter.exits.store(emitter, "post", value)


def received(emitter: Services, name: str) -> ir.Value:
    """Return the scheduler's answer, i32: `group`, the lanes that met, or `ballot`, those that posted nonzero."""
    return emitter.exits.fetch(emitter, name)


def from_lane(emitter: Services, lane: ir.Value) -> ir.Value:
    """Return the value (i64) that lane `lane` (i32) of this warp posted."""
    return emitter.exits.fetch_lane(emitter, lane)
