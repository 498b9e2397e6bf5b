"""Threads of a block in IR: their saved context, coordinates, and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.structured import I8, I32, I64, POINTER, at, counted, element, i32, width
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_BYTES, FIXED_BYTES, ROW, ROWS

# --- rows of the context ----------------------------------------------------------------------------------------------


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


@contextmanager
def each_warp(builder: ir.IRBuilder, threads: ir.Value) -> Iterator[tuple[ir.Value, ir.Value, ir.Value]]:
    """Run the body for each warp of a block: with its number, that of its first thread, and how many lanes it has."""
    with counted(builder, builder.lshr(builder.add(threads, i32(31)), i32(5))) as number:
        base = builder.shl(number, i32(5))
        left = builder.sub(threads, base)
        yield number, base, builder.select(builder.icmp_unsigned("<", left, i32(32)), left, i32(32))


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
        self._starts: dict[int, ir.Value] = {}
        if start is not None:
            for kind in (I8, I32, I64, ir.IntType(128)):
                self._starts[kind.width // 8] = element(start, context, index, kind)

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


# --- the running thread -----------------------------------------------------------------------------------------------
# Identity of the running thread in IR: coordinates, local memory, stack.


THREAD_FIELDS = {"local": 0, "stack": 8, "depth": 16, "tid_x": 24, "tid_y": 28, "tid_z": 32}
THREAD_FIELDS |= {"ctaid_x": 36, "ctaid_y": 40, "ctaid_z": 44}
THREAD_TYPE = ir.ArrayType(I8, 48)
COORDINATES = ("tid_x", "tid_y", "tid_z", "ctaid_x", "ctaid_y", "ctaid_z")


class ThreadNumbers(Record):
    """A thread's linear number in its block, its lane and its warp, i32."""

    linear: ir.Value
    lane: ir.Value
    warp: ir.Value


class Thread(Protocol):
    """The running thread, as lowerings see it."""

    def coordinate(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        """`tid_x` … `ctaid_z`, i32."""

    @property
    def local(self) -> ir.Value:
        """A host pointer to the thread's local memory."""

    @property
    def stack(self) -> ir.Value:
        """The address, in the local window, where this function's local variables start, i64."""

    @property
    def handle(self) -> ir.Value:
        """A pointer to the fields that a called function reads."""

    @property
    def numbers(self) -> ThreadNumbers | None:
        """The thread's numbers; None where they must be computed from its coordinates."""


class CalledThread:
    """The thread inside a device function.

    Args:
        handle: the pointer that the caller handed down.
        entry: a builder in the function's first block.
    """

    numbers = None

    def __init__(self, handle: ir.Value, entry: ir.IRBuilder) -> None:
        self.handle = handle
        self.local = entry.load(at(entry, handle, THREAD_FIELDS["local"]), typ=POINTER)
        self.stack = entry.load(at(entry, handle, THREAD_FIELDS["stack"]), typ=I64)

    def coordinate(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        """`tid_x` … `ctaid_z`, i32."""
        return builder.load(at(builder, self.handle, THREAD_FIELDS[name]), typ=I32)


class LoopThread:
    """The thread inside a kernel's own loops.

    Args:
        coordinates: `tid_x` … `ctaid_z`, set before the body is lowered.
        local: the thread's local memory.
        stack: where the kernel's local variables start.
        handle: stack memory for the fields that a called function reads.
    """

    def __init__(self, coordinates: dict[str, ir.Value], local: ir.Value, stack: ir.Value, handle: ir.Value) -> None:
        self._coordinates = coordinates
        self.local = local
        self.stack = stack
        self.handle = handle
        self.numbers: ThreadNumbers | None = None

    def set_numbers(self, builder: ir.IRBuilder, linear: ir.Value) -> None:
        """Set the linear number of the running thread, where its code starts."""
        self.numbers = ThreadNumbers(linear, builder.and_(linear, i32(31)), builder.lshr(linear, i32(5)))

    def set_coordinates(self, coordinates: dict[str, ir.Value]) -> None:
        """Set the coordinates of the running thread: `tid_x` … `ctaid_z`, i32."""
        self._coordinates = coordinates

    def coordinate(self, builder: ir.IRBuilder, name: str) -> ir.Value:  # noqa: ARG002 - the protocol's
        """`tid_x` … `ctaid_z`, i32."""
        return self._coordinates[name]

    def fill_handle(self, builder: ir.IRBuilder, stack: ir.Value) -> None:
        """Write the fields that called functions read.

        Args:
            builder: where the thread starts or goes on.
            stack: where a called function's local variables start.
        """
        values = {"local": self.local, "stack": stack, "depth": ir.Constant(I64, 0)} | self._coordinates
        for name, value in values.items():
            builder.store(value, at(builder, self.handle, THREAD_FIELDS[name]))


def dimension(view: MachineView, name: str) -> ir.Value:
    """`block_x`, `grid_z` …, i32."""
    return view.field(name, I32)


def linear_thread(builder: ir.IRBuilder, view: MachineView, thread: Thread) -> ir.Value:
    """The thread's number in its block: x + y·Dx + z·Dx·Dy."""
    if thread.numbers is not None:
        return thread.numbers.linear
    x, y = thread.coordinate(builder, "tid_x"), thread.coordinate(builder, "tid_y")
    z = thread.coordinate(builder, "tid_z")
    rows = builder.add(y, builder.mul(z, dimension(view, "block_y")))
    return builder.add(x, builder.mul(rows, dimension(view, "block_x")))


def lane(builder: ir.IRBuilder, view: MachineView, thread: Thread) -> ir.Value:
    """The thread's lane, 0 to 31."""
    if thread.numbers is not None:
        return thread.numbers.lane
    return builder.and_(linear_thread(builder, view, thread), i32(31))


def warp(builder: ir.IRBuilder, view: MachineView, thread: Thread) -> ir.Value:
    """The number of the thread's warp in its block."""
    if thread.numbers is not None:
        return thread.numbers.warp
    return builder.lshr(linear_thread(builder, view, thread), i32(5))
