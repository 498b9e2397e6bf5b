"""Detection of blocks in which nothing can change before another block has run."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import Cell, i32, i64
from gpuregress.virtual_gpu.builder.types import I32, I64, width

UNCHANGED_PASSES = 8
"""Passes without a change after which a block is stalled; an asynchronous copy may take a few to arrive."""
SPINNING_PASSES = 4096
"""Passes in which threads do nothing but spin, with counters that change, after which the next block has its turn."""
ENDLESS_PASSES = 1 << 20
"""The same where no other block can end the loop: it counts as endless. A loop with a bound ends long before."""

_GOLDEN_RATIO = 0x9E37_79B9_7F4A_7C15
"""An odd factor that spreads the bits of an address; see Knuth, TAOCP 3, 6.4."""


class StallDetector:
    """The counters of one block's passes.

    A pass changes something if a thread comes to a wait outside the loops that spin, or ends; if it has changed memory
    in such a loop; or if a register that it keeps has changed since it was last there. A pass in which a thread waits
    inside such a loop, at a barrier or for its warp, is a part of an iteration: that it changes nothing says nothing.
    What atomic operations change counts for the pass as a whole: a thread that takes a lock, looks, and gives the lock
    back leaves memory as it was.
    A register on which neither the end of the loop nor what it writes depends, as a counter of iterations, keeps the
    block running for a while, but it does not bring it further.

    Args:
        b: where the block begins or goes on.
    """

    def __init__(self, b: ir.IRBuilder) -> None:
        self._arrived, self._changed, self._stepped, self._counted = (Cell(b, i32(0)) for _ in range(4))
        self._unchanged, self._spinning, self._advanced = (Cell(b, i32(0)) for _ in range(3))
        self._difference = Cell(b, i64(0))

    def begin_pass(self, b: ir.IRBuilder) -> None:
        """Begin a pass: nothing has changed in it."""
        self._arrived.set(i32(0), b)
        self._changed.set(i32(0), b)
        self._stepped.set(i32(0), b)
        self._counted.set(i32(0), b)
        self._difference.set(i64(0), b)

    def note_step(self, b: ir.IRBuilder) -> None:
        """Note that a thread waits for others inside a loop that spins."""
        self._stepped.set(i32(1), b)

    def note_arrival(self, b: ir.IRBuilder) -> None:
        """Note that a thread waits for others outside the loops that spin, or has exited."""
        self._arrived.set(i32(1), b)

    def note_change(self, b: ir.IRBuilder) -> None:
        """Note that a thread that spins has changed memory."""
        self._changed.set(i32(1), b)

    def note_update(self, b: ir.IRBuilder, pointer: ir.Value, old: ir.Value, new: ir.Value) -> None:
        """Add what an atomic operation has changed to the pass's difference: a sum, weighted by a hash of the place."""
        factor = b.mul(b.ptrtoint(pointer, I64), i64(_GOLDEN_RATIO))
        weight = b.or_(b.xor(factor, b.lshr(factor, i64(32))), i64(1))
        change = b.sub(new, old)
        change = b.trunc(change, I64) if width(change.type) > 64 else b.zext(change, I64)
        self._difference.set(b.add(self._difference.get(b), b.mul(change, weight)), b)

    def compare(self, b: ir.IRBuilder, value: ir.Value, before: ir.Value, *, matters: bool) -> None:
        """Note whether a register of a thread that spins has changed, and whether its loop depends on it."""
        if not isinstance(value.type, ir.IntType):
            value, before = (b.bitcast(item, ir.IntType(width(item.type))) for item in (value, before))
        differs = b.zext(b.icmp_unsigned("!=", value, before), I32)
        cell = self._changed if matters else self._counted
        cell.set(b.or_(cell.get(b), differs), b)

    def end_pass(self, b: ir.IRBuilder, suspend: ir.Block, pass_head: ir.Block, most: int = SPINNING_PASSES) -> None:
        """Go to `suspend` where the block is stalled or has spun for long; else to the next pass.

        Args:
            b: where the pass ends.
            suspend: where the block is left.
            pass_head: where a pass begins.
            most: passes in which threads do nothing but spin.
        """
        differs = b.zext(b.icmp_unsigned("!=", self._difference.get(b), i64(0)), I32)
        moved = b.or_(b.or_(self._arrived.get(b), self._changed.get(b)), differs)
        self._advanced.set(b.or_(self._advanced.get(b), moved), b)
        whole = b.xor(self._stepped.get(b), i32(1))
        runs = b.or_(moved, self._counted.get(b))
        for cell, ends, one in ((self._unchanged, runs, whole), (self._spinning, self._arrived.get(b), i32(1))):
            cell.set(b.select(b.icmp_unsigned("!=", ends, i32(0)), i32(0), b.add(cell.get(b), one)), b)
        is_stalled = b.icmp_unsigned(">=", self._unchanged.get(b), i32(UNCHANGED_PASSES))
        is_long = b.icmp_unsigned(">=", self._spinning.get(b), i32(most))
        b.cbranch(b.or_(is_stalled, is_long), suspend, pass_head)

    def has_advanced(self, b: ir.IRBuilder) -> ir.Value:
        """Return whether anything has changed since the block began or went on, i64."""
        return b.zext(self._advanced.get(b), I64)
