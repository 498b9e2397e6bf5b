"""Thread context of a block in IR: saved registers, and the fields that the scheduler reads.

A context is a set of rows, one element for each thread of the block: `LAYOUT` first, then one row for each register
that lives across a wait.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import at, element, i32
from gpuregress.virtual_gpu.builder.types import I8, I32, I64, width
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_BYTES, FIXED_BYTES, ROW, ROWS

YIELD, BARRIER, ARRIVE, WARP, CONVERGE, CLUSTER, STEP = range(7)
"""Kind of a wait: none; a barrier; a barrier without waiting; a warp operation; until no lane of the warp can
continue; the cluster's barrier; until the lanes of the warp that can come have come."""

PLAIN_BARRIER = 16
"""Plus a barrier's number: all threads of the block wait there, without a key."""

LAYOUT: dict[str, tuple[int, ir.Type]] = {
    name: (offset, I32 if size == 4 else I64) for name, (offset, size) in ROWS.items()
}


def row(builder: ir.IRBuilder, context: ir.Value, name: str, index: ir.Value) -> ir.Value:
    """A pointer to one thread's (or barrier's) element of a fixed row."""
    offset, type_ = LAYOUT[name]
    return element(builder, at(builder, context, offset), index, type_)


def new_meetings(builder: ir.IRBuilder, context: ir.Value, count: int = 1) -> ir.Value:
    """The first of some new numbers, i32, for waits of the block at which some threads have just met."""
    pointer = row(builder, context, "meetings", i32(0))
    last = builder.load(pointer, typ=I32)
    builder.store(builder.add(last, i32(count)), pointer)
    return builder.add(last, i32(1))


class ThreadElements:
    """The elements of one thread in all rows of the context.

    Args:
        context: pointer to the context.
        index: number of the thread.
        start: where pointers to the thread's first elements are computed, once for all of its code. Without it each
            access computes its pointer from the index. Thousands of uses of the index, a phi node, take LLVM quadratic
            time.
    """

    def __init__(self, context: ir.Value, index: ir.Value, start: ir.IRBuilder | None = None) -> None:
        self._context, self._index = context, index
        kinds = () if start is None else (I8, I32, I64, ir.IntType(128))
        self._starts = {kind.width // 8: element(start, context, index, kind) for kind in kinds}

    def pointer(self, builder: ir.IRBuilder, offset: int, type_: ir.Type) -> ir.Value:
        """A pointer to the thread's element of the row that begins at a byte of the context."""
        start = self._starts.get(width(type_) // 8)
        if start is not None:
            return at(builder, start, offset)
        return element(builder, at(builder, self._context, offset), self._index, type_)

    def fixed(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        """A pointer to the thread's element of a row of `LAYOUT`."""
        offset, type_ = LAYOUT[name]
        return self.pointer(builder, offset, type_)


class Slots:
    """Rows of the thread context, one for each register that lives across a wait.

    Args:
        clustered: for a block of a cluster.
    """

    def __init__(self, *, clustered: bool = False) -> None:
        self._offsets: dict[str, int] = {}
        self.size = CLUSTER_BYTES if clustered else FIXED_BYTES

    def offset(self, name: str, type_: ir.Type) -> int:
        """The first byte of a register's row."""
        if name not in self._offsets:
            step = max(8, width(type_)) // 8
            self.size = -(-self.size // 16) * 16
            self._offsets[name] = self.size
            self.size += ROW * step
        return self._offsets[name]

    def save(self, builder: ir.IRBuilder, thread: ThreadElements, name: str, value: ir.Value) -> None:
        """Store a register's value."""
        stored = builder.zext(value, I8) if width(value.type) == 1 else value
        builder.store(stored, thread.pointer(builder, self.offset(name, value.type), stored.type))

    def restore(self, builder: ir.IRBuilder, thread: ThreadElements, name: str, type_: ir.Type) -> ir.Value:
        """Load a register's value."""
        memory_type = I8 if width(type_) == 1 else type_
        pointer = thread.pointer(builder, self.offset(name, type_), memory_type)
        value = builder.load(pointer, typ=memory_type)
        return builder.trunc(value, type_) if width(type_) == 1 else value
