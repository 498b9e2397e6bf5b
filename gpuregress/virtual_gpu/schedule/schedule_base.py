"""Common part of the schedules of a block's threads: exits, faults, and the thread context."""

from __future__ import annotations

from abc import ABC, abstractmethod

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.liveness import AtWait
from gpuregress.virtual_gpu.builder.services import Exits, Services
from gpuregress.virtual_gpu.builder.structured import I32, I64, element, i32
from gpuregress.virtual_gpu.builder.threads import LAYOUT, ThreadElements, dimension, row
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer


class BlockSchedule(Exits, ABC):
    """The `Exits` of a kernel's threads; a subclass builds the loops over the threads of a block.

    Args:
        body: of the kernel.

    Attributes:
        index: number of the running thread in its block, i32.
        wait_sites: number of the site of each wait.
        uses_context: whether it keeps registers in the thread context though no thread waits.
        forward: step from a thread to the next one, i32: 1, or -1 from the last thread to the first.
    """

    index: ir.Value

    def __init__(self, body: Body) -> None:
        self.body = body
        self.view, self.unit, self.llvm = body.view, body.unit, body.llvm
        self.rematerializer = Rematerializer(body.emitter)
        self.wait_sites: list[int] = []
        self.uses_context = False
        self.forward = i32(-1 if self.unit.schedule.last_first else 1)
        body.emitter.exits = self

    @abstractmethod
    def build(self, b: ir.IRBuilder, after: ir.Block) -> None:
        """Build the code of all threads from `b` on; control goes to `after` when all threads have exited."""

    @abstractmethod
    def finish(self, emitter: Services) -> None:
        """End the block: the thread is done."""

    @abstractmethod
    def wait(self, emitter: Services, kind: int, registers: AtWait) -> None:
        """End the block with a wait, and continue in a new one when the thread is resumed."""

    @property
    def context(self) -> ir.Value:
        """Pointer to the thread context of the block."""
        return self.view.pointer("context")

    def elements(self) -> ThreadElements:
        """The running thread's elements of the context."""
        return ThreadElements(self.context, self.index)

    def exit(self, emitter: Services) -> None:
        """End the block: the thread is done."""
        self.finish(emitter)

    def fault(self, emitter: Services) -> None:
        """Record the thread, and end the launch."""
        b = emitter.builder
        self.body.record_fault(b)
        b.ret(i32(1))

    def store(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Store a value in the thread's element of a row of its context."""
        emitter.builder.store(value, self.elements().fixed(emitter.builder, name))

    def fetch(self, emitter: Services, name: str) -> ir.Value:
        """Return the thread's element of a row of its context."""
        return emitter.builder.load(self.elements().fixed(emitter.builder, name), typ=LAYOUT[name][1])

    def keep(self, emitter: Services, name: str, value: ir.Value) -> None:
        """Keep an i32 of the thread in a row of its context."""
        self.body.slots.save(emitter.builder, self.elements(), name, value)

    def load_kept(self, emitter: Services, name: str) -> ir.Value:
        """Return what the thread has kept under a name."""
        return self.body.slots.restore(emitter.builder, self.elements(), name, I32)

    def row_of(self, emitter: Services, name: str) -> int:
        """Return the first byte of the context's row with a register of 32 bits, or what is kept under a name."""
        del emitter
        return self.body.slots.offset(name, I32)

    def fetch_lane(self, emitter: Services, lane: ir.Value) -> ir.Value:
        """Return the value that a lane of the thread's warp has posted."""
        b = emitter.builder
        thread = b.or_(b.and_(self.index, i32(~31)), lane)
        return b.load(row(b, self.context, "snap", thread), typ=I64)

    @abstractmethod
    def last_meeting(self, emitter: Services) -> ir.Value:
        """Return the number of the last wait at which the thread met others, steps of its warp excepted, i32."""

    def in_groups(self, b: ir.IRBuilder, number: ir.Value, count: ir.Value, group: int) -> ir.Value:
        """Return the `number`th of `count` threads, rows or lanes, where each group of them runs from last to first."""
        type_ = number.type
        base = b.and_(number, ir.Constant(type_, -group))
        left, whole = b.sub(count, base), ir.Constant(type_, group)
        size = b.select(b.icmp_unsigned("<", left, whole), left, whole)
        last = b.sub(b.add(base, size), ir.Constant(type_, 1))
        return b.sub(last, b.sub(number, base))

    def permuted(self, b: ir.IRBuilder, position: ir.Value) -> ir.Value:
        """Return the number of the thread that has a position in the launch's order."""
        return b.load(element(b, self.view.pointer("order"), position, I32), typ=I32)

    def coordinates(self, b: ir.IRBuilder, index: ir.Value) -> dict[str, ir.Value]:
        """Return the coordinates of a thread whose number does not follow the one before."""
        x, y = dimension(self.view, "block_x"), dimension(self.view, "block_y")
        row_ = b.udiv(index, x)
        return {"tid_x": b.urem(index, x), "tid_y": b.urem(row_, y), "tid_z": b.udiv(row_, y)}

    def first_coordinate(self, b: ir.IRBuilder, axis: str) -> ir.Value:
        """Return the coordinate of the thread that runs first."""
        return b.sub(dimension(self.view, f"block_{axis}"), i32(1)) if self.unit.schedule.last_first else i32(0)

    def thread_count(self) -> ir.Value:
        """Return the number of threads of a block, computed in the first block of the function."""
        x, y = dimension(self.view, "block_x"), dimension(self.view, "block_y")
        return self.view.entry.mul(x, self.view.entry.mul(y, dimension(self.view, "block_z")))
