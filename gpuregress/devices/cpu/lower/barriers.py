"""Barriers of the block. PTX ISA manual, 9.7.13.1 "bar, barrier"."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.lower import clusters
from gpuregress.devices.cpu.lower.context import ARRIVE, BARRIER, PLAIN_BARRIER, WARP
from gpuregress.devices.cpu.lower.emit import unsupported
from gpuregress.devices.cpu.lower.exchange import post, received
from gpuregress.devices.cpu.lower.services import Services
from gpuregress.devices.cpu.lower.structured import i32, i64
from gpuregress.devices.cpu.lower.types import I64
from gpuregress.devices.cpu.machine.layout import BARRIERS
from gpuregress.devices.cpu.ptx.tree import Instruction, Integer, Operand

WARP_BARRIER = 1
"""The operation's number in a warp operation's key: see `exchange`."""


def _barrier(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if "warp" in words:
        mask = emitter.read(instruction.operands[0], "u32")
        post(emitter, WARP_BARRIER, mask, i64(0))
        emitter.wait(WARP)
    elif "cluster" in words:
        _cluster(emitter, instruction)
    elif "red" in words:
        _reduction(emitter, instruction)
    elif "arrive" in words:
        _say(emitter, instruction.operands[0], instruction.operands[1], i64(0))
        emitter.wait(ARRIVE)
    elif "sync" in words:
        _sync(emitter, instruction)
    else:
        raise unsupported(instruction)


def _sync(emitter: Services, instruction: Instruction) -> None:
    number = instruction.operands[0] if instruction.operands else Integer(0)
    count = instruction.operands[1] if len(instruction.operands) > 1 else None
    if count is None and isinstance(number, Integer):
        if not 0 <= number.value < BARRIERS - 1:
            raise unsupported(instruction, "barriers are numbered from 0 to 15")
        emitter.wait(PLAIN_BARRIER + number.value)
        return
    _say(emitter, number, count, i64(0))
    emitter.wait(BARRIER)


def _cluster(emitter: Services, instruction: Instruction) -> None:
    if emitter.view.clustered:
        (clusters.wait if "wait" in instruction.modifiers else clusters.arrive)(emitter, instruction)
    elif "wait" in instruction.modifiers:
        # A cluster of one block: arriving is nothing, waiting is waiting for the block.
        emitter.wait(PLAIN_BARRIER + BARRIERS - 1)


def _say(emitter: Services, number: Operand, count: Operand | None, vote: ir.Value) -> None:
    b = emitter.builder
    which = b.and_(b.zext(emitter.read(number, "u32"), I64), i64(15))
    many = i64(0) if count is None else b.zext(emitter.read(count, "u32"), I64)
    emitter.exits.store(emitter, "key", b.or_(which, b.shl(many, i64(32))))
    emitter.exits.store(emitter, "post", vote)


def _reduction(emitter: Services, instruction: Instruction) -> None:
    b = emitter.builder
    target, number, *rest = instruction.operands
    count = rest[0] if len(rest) == 2 else None
    _say(emitter, number, count, b.zext(emitter.read(rest[-1], "pred"), I64))
    emitter.wait(BARRIER)
    b = emitter.builder
    votes, all_ = received(emitter, "ballot"), received(emitter, "group")
    if "popc" in instruction.modifiers:
        emitter.write(target, votes, "u32")
    elif "and" in instruction.modifiers:
        emitter.write(target, b.icmp_unsigned("==", votes, all_), "pred")
    else:
        emitter.write(target, b.icmp_unsigned("!=", votes, i32(0)), "pred")


TABLE = {"bar": _barrier, "barrier": _barrier}
