"""Clusters of blocks: special registers, distributed shared memory, cluster barrier.

In the window of shared memory the blocks of a cluster lie side by side, 2^26 bytes apart, so that an address
determines its block. PTX ISA manual, 9.7.9.23 "mapa", 9.7.9.24 "getctarank", 9.7.13.4 "barrier.cluster".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.module_facts import cluster_size, is_explicit
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32
from gpuregress.virtual_gpu.builder.thread_context import CLUSTER
from gpuregress.virtual_gpu.builder.threads import dimension
from gpuregress.virtual_gpu.builder.types import I1, I32
from gpuregress.virtual_gpu.checks.access_notes import note_cluster_arrival, note_cluster_passage
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime import machine_layout

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
    if which == "%nclusterid":
        blocks = dimension(view, f"grid_{axis}")
        return b.udiv(blocks, _side(emitter, axis)) if view.clustered else blocks
    block = thread.coordinate(b, f"ctaid_{axis}")
    if which == "%clusterid":
        return b.udiv(block, _side(emitter, axis)) if view.clustered else block
    return b.urem(block, _side(emitter, axis)) if view.clustered else i32(0)


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
    moved = b.shl(rank if type_ == I32 else b.zext(rank, type_), ir.Constant(type_, machine_layout.CLUSTER_SHIFT))
    return b.or_(b.and_(address, ir.Constant(type_, ~(_RANK_BITS << machine_layout.CLUSTER_SHIFT))), moved)


def _getctarank(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    b = emitter.builder
    rank = rank_of(b, emitter.read(source, instruction.modifiers[-1]))
    emitter.write(target, rank if rank.type == I32 else b.trunc(rank, I32), "u32")


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


TABLE = {"mapa": _mapa, "getctarank": _getctarank}
