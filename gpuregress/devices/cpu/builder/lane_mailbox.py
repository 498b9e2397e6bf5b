"""How a lane says what it wants of the scheduler, and reads what the scheduler answered."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import i64
from gpuregress.devices.cpu.builder.types import I64


def post(emitter: Services, operation: int, mask: ir.Value, value: ir.Value) -> None:
    """Says: this operation, with these lanes, and this value of mine (i64).

    Lanes meet when their keys are equal: the operation's number in the high half, the mask in the low one.
    """
    b = emitter.builder
    key = b.or_(b.zext(mask, I64), i64(operation << 32))
    emitter.exits.store(emitter, "key", key)
    emitter.exits.store(emitter, "post", value)


def received(emitter: Services, name: str) -> ir.Value:
    """What the scheduler left, i32: `group`, the lanes that met, or `ballot`, those that posted nonzero."""
    return emitter.exits.fetch(emitter, name)


def from_lane(emitter: Services, lane: ir.Value) -> ir.Value:
    """What lane `lane` (i32) of this warp posted, i64."""
    return emitter.exits.fetch_lane(emitter, lane)
