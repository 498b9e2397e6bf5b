"""Barriers of a block, a warp and a cluster: bar and barrier.

PTX ISA manual, 9.7.13.1.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.virtual_gpu.builder.lane_mailbox import post, received
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32, i64
from gpuregress.virtual_gpu.builder.thread_context import ARRIVE, BARRIER, PLAIN_BARRIER, STEP, WARP
from gpuregress.virtual_gpu.builder.types import I64
from gpuregress.virtual_gpu.isa.warp import clusters
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand
from gpuregress.virtual_gpu.runtime.machine_layout import BARRIERS, FAULT_BARRIER

WARP_BARRIER = 1
"""The operation's number in a warp operation's key: see `lane_mailbox`."""


def _barrier(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if "implied" in words:
        return
    if "step" in words:
        emitter.wait(STEP)
    elif "warp" in words:
        mask = emitter.read(instruction.operands[0], "u32")
        post(emitter, WARP_BARRIER, mask, i64(0))
        emitter.wait(WARP)
    elif "cluster" in words:
        _cluster(emitter, instruction)
    elif "red" in words:
        _reduction(emitter, instruction)
    elif "arrive" in words:
        _arrive(emitter, instruction, instruction.operands[0], instruction.operands[1], i64(0))
        emitter.wait(ARRIVE)
    elif "sync" in words:
        _sync(emitter, instruction)
    else:
        raise unsupported(instruction)


def _sync(emitter: Services, instruction: Instruction) -> None:
    number = instruction.operands[0] if instruction.operands else Integer(0)
    count = instruction.operands[1] if len(instruction.operands) > 1 else None
    if count is None and isinstance(number, Integer):
        emitter.wait(PLAIN_BARRIER + number.value)
        return
    _arrive(emitter, instruction, number, count, i64(0))
    emitter.wait(BARRIER)


def _cluster(emitter: Services, instruction: Instruction) -> None:
    if emitter.view.clustered:
        (clusters.wait if "wait" in instruction.modifiers else clusters.arrive)(emitter, instruction)
    elif "wait" in instruction.modifiers:
        # A cluster of one block: arriving is nothing, waiting is waiting for the block.
        emitter.wait(PLAIN_BARRIER + BARRIERS - 1)


def _arrive(
    emitter: Services, instruction: Instruction, number: Operand, count: Operand | None, vote: ir.Value
) -> None:
    b = emitter.builder
    which = b.zext(emitter.read(number, "u32"), I64)
    many = i64(0) if count is None else b.zext(emitter.read(count, "u32"), I64)
    beyond = b.icmp_unsigned(">=", which, i64(SM_90.barriers))
    part_of_warp = b.icmp_unsigned("!=", b.and_(many, i64(SM_90.warp_size - 1)), i64(0))
    wrong, right = b.append_basic_block("no_barrier"), b.append_basic_block("known_barrier")
    b.cbranch(b.or_(beyond, part_of_warp), wrong, right)
    emitter.builder = ir.IRBuilder(wrong)
    emitter.fail(FAULT_BARRIER, instruction)
    b = emitter.builder = ir.IRBuilder(right)
    emitter.exits.store(emitter, "key", b.or_(which, b.shl(many, i64(32))))
    emitter.exits.store(emitter, "post", vote)


def _reduction(emitter: Services, instruction: Instruction) -> None:
    b = emitter.builder
    target, number, *rest = instruction.operands
    count = rest[0] if len(rest) == 2 else None
    _arrive(emitter, instruction, number, count, b.zext(emitter.read(rest[-1], "pred"), I64))
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
