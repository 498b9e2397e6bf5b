"""Identity of the running thread in IR: coordinates, local memory, stack."""

from __future__ import annotations

from typing import Protocol

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.structured import at, i32
from gpuregress.virtual_gpu.builder.types import I8, I32, I64, POINTER

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
        self._handle = handle
        self.local = entry.load(at(entry, handle, THREAD_FIELDS["local"]), typ=POINTER)
        self.stack = entry.load(at(entry, handle, THREAD_FIELDS["stack"]), typ=I64)

    @property
    def handle(self) -> ir.Value:
        """A pointer to the fields that a called function reads."""
        return self._handle

    def coordinate(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        """`tid_x` … `ctaid_z`, i32."""
        return builder.load(at(builder, self._handle, THREAD_FIELDS[name]), typ=I32)


class LoopThread:
    """The thread inside a kernel's own loops.

    Args:
        coordinates: `tid_x` … `ctaid_z`, set before the body is lowered.
        local: the thread's local memory.
        stack: where the kernel's local variables start.
        slot: stack memory for the handle.
    """

    def __init__(self, coordinates: dict[str, ir.Value], local: ir.Value, stack: ir.Value, slot: ir.Value) -> None:
        self._coordinates = coordinates
        self.local = local
        self.stack = stack
        self._slot = slot
        self._numbers: ThreadNumbers | None = None

    @property
    def numbers(self) -> ThreadNumbers | None:
        """The thread's numbers; None where they must be computed from its coordinates."""
        return self._numbers

    def set_numbers(self, builder: ir.IRBuilder, linear: ir.Value) -> None:
        """Set the linear number of the running thread, where its code starts."""
        self._numbers = ThreadNumbers(linear, builder.and_(linear, i32(31)), builder.lshr(linear, i32(5)))

    def set_coordinates(self, coordinates: dict[str, ir.Value]) -> None:
        """Set the coordinates of the running thread: `tid_x` … `ctaid_z`, i32."""
        self._coordinates = coordinates

    def coordinate(self, builder: ir.IRBuilder, name: str) -> ir.Value:  # noqa: ARG002 - the protocol's
        """`tid_x` … `ctaid_z`, i32."""
        return self._coordinates[name]

    @property
    def handle(self) -> ir.Value:
        """A pointer to the fields that a called function reads."""
        return self._slot

    def fill_handle(self, builder: ir.IRBuilder, stack: ir.Value) -> None:
        """Write the fields that called functions read.

        Args:
            builder: where the thread starts or goes on.
            stack: where a called function's local variables start.
        """
        values = {"local": self.local, "stack": stack, "depth": ir.Constant(I64, 0)} | self._coordinates
        for name, value in values.items():
            builder.store(value, at(builder, self._slot, THREAD_FIELDS[name]))


def dimension(view: MachineView, name: str) -> ir.Value:
    """`block_x`, `grid_z` …, i32."""
    return view.field(name, I32)


def linear_thread(builder: ir.IRBuilder, view: MachineView, thread: Thread) -> ir.Value:
    """The thread's number in its block: x + y·Dx + z·Dx·Dy."""
    if thread.numbers is not None:
        return thread.numbers.linear
    x, y, z = (thread.coordinate(builder, name) for name in ("tid_x", "tid_y", "tid_z"))
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
