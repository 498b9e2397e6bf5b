"""Lowering of barriers, and of what a cluster's blocks share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis.module_facts import cluster_size, is_explicit
from gpuregress.virtual_gpu.builder.lane_mailbox import post, received
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, convert, i32, i64
from gpuregress.virtual_gpu.builder.threads import ARRIVE, BARRIER, CLUSTER, PLAIN_BARRIER, STEP, WARP, dimension
from gpuregress.virtual_gpu.checks.access_notes import note_cluster_arrival, note_cluster_passage
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Integer, Module, Operand, Statement
from gpuregress.virtual_gpu.runtime import machine_layout
from gpuregress.virtual_gpu.runtime.machine_layout import BARRIERS, FAULT_BARRIER

# --- clusters ---------------------------------------------------------------------------------------------------------


_RANK_BITS = machine_layout.MOST_RANKS - 1
REGISTERS = frozenset((
    "%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank",
    *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyzw"),
))  # fmt: skip


def special_register(emitter: Services, name: str) -> ir.Value:
    """The value of one of `REGISTERS`, i32. PTX ISA manual, 10.12 to 10.18.

    A cluster of one block has rank 0 and is where its block is in the grid.
    """
    b, view, thread = emitter.builder, emitter.view, emitter.thread
    which, _, axis = name.partition(".")
    if name == "%is_explicit_cluster":
        return i32(_is_explicit(emitter))
    if axis == "w":
        return i32(which.startswith(("%nclusterid", "%cluster_n")))
    if name == "%cluster_ctarank":
        return own_rank(emitter)
    if name == "%cluster_nctarank":
        return b.mul(_side(emitter, "x"), b.mul(_side(emitter, "y"), _side(emitter, "z")))
    if which == "%cluster_nctaid":
        return _side(emitter, axis)
    if which == "%cluster_ctaid":
        block = thread.coordinate(b, f"ctaid_{axis}")
        return b.urem(block, _side(emitter, axis)) if view.clustered else i32(0)
    blocks = dimension(view, f"grid_{axis}") if which == "%nclusterid" else thread.coordinate(b, f"ctaid_{axis}")
    if view.clustered:
        blocks = b.udiv(blocks, _side(emitter, axis))
    return blocks


def _is_explicit(emitter: Services) -> bool:
    if emitter.function.is_entry:
        return is_explicit(emitter.function)
    # A called function serves all kernels of its program.
    kernels = [item for item in emitter.unit.functions.values() if item.is_entry]
    return all(is_explicit(item) for item in kernels)


def _side(emitter: Services, axis: str) -> ir.Value:
    """Blocks of a cluster along an axis; a called function, which may serve several kernels, loads it at run time."""
    if emitter.function.is_entry or not emitter.view.clustered:
        return i32(cluster_size(emitter.function)["xyz".index(axis)])
    return dimension(emitter.view, f"cluster_{axis}")


def own_rank(emitter: Services) -> ir.Value:
    """The block's number in its cluster, i32."""
    if not emitter.view.clustered:
        return i32(0)
    return emitter.builder.trunc(emitter.view.field("cluster_rank"), I32)


# --- shared memory ----------------------------------------------------------------------------------------------------


def rank_of(b: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """The rank of the block whose shared memory holds an address, in the address's type."""
    number = b.lshr(address, ir.Constant(address.type, machine_layout.CLUSTER_SHIFT))
    return b.and_(number, ir.Constant(address.type, _RANK_BITS))


def _mapa(emitter: Services, instruction: Instruction) -> None:
    """Map an address to another block's shared memory; an access faults if there is no such block."""
    target, source, rank = instruction.operands
    type_name = instruction.modifiers[-1]
    address = emitter.read(source, type_name)
    emitter.write(target, moved_to(emitter.builder, address, emitter.read(rank, "u32")), type_name)


def moved_to(b: ir.IRBuilder, address: ir.Value, rank: ir.Value) -> ir.Value:
    """An address mapped to the shared memory of the block with a rank (i32), in the address's type."""
    type_, most = address.type, i32(_RANK_BITS)
    rank = b.select(b.icmp_unsigned("<", rank, most), rank, most)
    moved = b.shl(convert(b, rank, type_), ir.Constant(type_, machine_layout.CLUSTER_SHIFT))
    return b.or_(b.and_(address, ir.Constant(type_, ~(_RANK_BITS << machine_layout.CLUSTER_SHIFT))), moved)


def _getctarank(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    b = emitter.builder
    rank = rank_of(b, emitter.read(source, instruction.modifiers[-1]))
    emitter.write(target, convert(b, rank, I32), "u32")


# --- the barrier ------------------------------------------------------------------------------------------------------


def arrive(emitter: Services, instruction: Instruction) -> None:
    """Lower an arrival at the cluster barrier; a second one before a wait is a fault."""
    steps = emitter.exits.fetch(emitter, "cluster")
    _check(emitter, instruction, steps, expected=0)
    note_cluster_arrival(emitter, steps, releases="relaxed" not in instruction.modifiers)
    _step(emitter)


def wait(emitter: Services, instruction: Instruction) -> None:
    """Lower a wait for all threads of the cluster; a wait without an arrival is a fault."""
    _check(emitter, instruction, emitter.exits.fetch(emitter, "cluster"), expected=1)
    emitter.wait(CLUSTER)
    note_cluster_passage(emitter, emitter.exits.fetch(emitter, "cluster"))
    _step(emitter)


def _step(emitter: Services) -> None:
    count = emitter.exits.fetch(emitter, "cluster")
    emitter.exits.store(emitter, "cluster", emitter.builder.add(count, i32(1)))


def _check(emitter: Services, instruction: Instruction, count: ir.Value, expected: int) -> None:
    b = emitter.builder
    turn = b.icmp_unsigned("==", b.trunc(count, I1), ir.Constant(I1, expected))
    right, wrong = b.append_basic_block("in_turn"), b.append_basic_block("out_of_turn")
    b.cbranch(turn, right, wrong)
    b.position_at_end(wrong)
    emitter.fail(machine_layout.FAULT_CLUSTER, instruction)
    emitter.builder.position_at_end(right)


# --- barriers ---------------------------------------------------------------------------------------------------------
# Barriers of a block, a warp and a cluster: bar and barrier.
#
# PTX ISA manual, 9.7.13.1.


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
    waits = "wait" in instruction.modifiers
    if emitter.view.clustered and waits:
        wait(emitter, instruction)
    elif emitter.view.clustered:
        arrive(emitter, instruction)
    elif waits:
        # A cluster of one block: arriving is nothing, waiting is waiting for the block.
        emitter.wait(PLAIN_BARRIER + BARRIERS - 1)


def _arrive(
    emitter: Services, instruction: Instruction, number: Operand, count: Operand | None, vote: ir.Value
) -> None:
    b = emitter.builder
    which = b.zext(emitter.read(number, "u32"), I64)
    many = i64(0)
    if count is not None:
        many = b.zext(emitter.read(count, "u32"), I64)
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


# --- barriers of a warp -----------------------------------------------------------------------------------------------
# Warp barriers after `.aligned` instructions, which a whole warp executes as one.
#
# Here the lanes of a warp execute them one after the other. On a GPU no lane continues before all have read their
# operands; without a barrier a lane could overwrite the operands of the next. No lane can where the next instruction
# with an effect is one at which the whole warp waits: there the barrier is only counted.


_ALL_LANES = Integer(0xFFFF_FFFF)


def with_warp_barriers(tree: Module) -> Module:
    """The module with a `bar.warp.sync` after each `.aligned` matrix instruction that its lanes execute in turn."""
    return replace(tree, functions=tuple(map(_function, tree.functions)))


def _function(function: Function) -> Function:
    statements = function.statements
    if not any(_needs_barrier(item) for item in statements):
        return function
    body: list[Statement] = []
    for index, statement in enumerate(statements):
        body.append(statement)
        if isinstance(statement, Instruction) and _needs_barrier(statement):
            is_implied = info(statement).results_in_context and _meets_again(statements, index + 1)
            words = ("warp", "implied" if is_implied else "sync")
            body.append(replace(statement, opcode="bar", modifiers=words, operands=(_ALL_LANES,)))
    return replace(function, body=tuple(body))


def _needs_barrier(statement: Statement) -> bool:
    """Whether the lanes execute a statement one after the other, and a GPU all together."""
    return isinstance(statement, Instruction) and info(statement).is_aligned and not info(statement).operands_in_context


def _meets_again(statements: Sequence[Statement], start: int) -> bool:
    """Whether the lanes wait for their whole warp before they do anything but compute and read."""
    for statement in islice(statements, start, None):
        if not isinstance(statement, Instruction):
            return False
        facts = info(statement)
        if statement.guard is None and facts.is_aligned and facts.wait is Wait.WARP:
            return True
        is_quiet = facts.memory in (MemoryEffect.NONE, MemoryEffect.READ) and not facts.crosses_blocks
        if not is_quiet or facts.control is not Control.NEXT or facts.wait is not Wait.NONE:
            return False
    return False


TABLE = {"mapa": _mapa, "getctarank": _getctarank, "bar": _barrier, "barrier": _barrier}
