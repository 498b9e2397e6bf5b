"""Check that the lanes of each warp meet at an aligned barrier, as an LLVM function of the module.

A GPU lets `__syncthreads()` open when all threads that are left have arrived, wherever they are, and counts whole
warps at a barrier with a count. But CUDA and PTX require that the lanes of a warp execute such a barrier together, and
compute-sanitizer reports it where they do not. A lane diverged if it is somewhere else than the other lanes of its warp
when their barrier opens, or if it went past the barrier: it came to more joins of `analysis.divergent_barriers` since
the last barrier, or left the kernel by one of its `passing` statements. Joins say nothing of a barrier to which every
way leads. That other lanes have left the kernel is no fault; `runtime.checks` notes it under the check of barriers.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import raw_call
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I8,
    I32,
    I64,
    Cell,
    at,
    counted,
    element,
    i32,
    i64,
    stack_words,
    subroutine,
)
from gpuregress.virtual_gpu.builder.threads import BARRIER, LAYOUT, PLAIN_BARRIER, each_warp, row
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_EXITS, DONE, PASSED

ALIGNED, CONDITIONAL, SKIPPED = 1, 2, 4
"""Bits for each wait: whether a warp must execute it together; whether a lane can go past it and come to a join;
whether it can go past it and leave the kernel."""


@subroutine(lambda masked: _form("lanes_meet", masked), I32, attributes=("noinline",))
def find_diverged_warp(masked: bool, b: ir.IRBuilder, *values: ir.Value) -> ir.Value:  # noqa: FBT001 - names a form
    """`(context, threads, machine, opened, kinds, aligned)` → 0, or the number of a warp from 1.

    `opened` has a bit for each barrier that opens now. `kinds` and `aligned` have a byte for each wait: its kind, and
    the bits `ALIGNED`, `CONDITIONAL` and `SKIPPED`. Only the lanes of a warp that differ are compared one by one; the
    loops that look for one are vectorised by LLVM.

    Args:
        masked: whether lanes that have left the kernel are reported to Python.
        b: the builder.
        values: the parameters.
    """
    context, threads, *others = values
    differs = Cell(b, i32(0))
    _note_differences(b, context, (i32(0), threads), differs)
    with b.if_then(b.icmp_unsigned("==", differs.get(b), i32(0)), likely=True):
        b.ret(i32(0))
    with each_warp(b, threads) as (warp, base, lanes):
        differs.set(i32(0))
        _note_differences(b, context, (base, lanes), differs)
        with b.if_then(b.icmp_unsigned("!=", differs.get(b), i32(0)), likely=False):
            diverged = _has_diverged(masked, b, context, base, lanes, *others)
            with b.if_then(b.icmp_unsigned("!=", diverged, i32(0)), likely=False):
                b.ret(b.add(warp, i32(1)))
    return i32(0)


# Seldom called, and not worth the time of LLVM's optimisation.
@subroutine(lambda masked: _form("lanes_meet.warp", masked), I32, attributes=("noinline", "optnone"))
def _has_diverged(masked: bool, b: ir.IRBuilder, *values: ir.Value) -> None:  # noqa: FBT001 - names a form
    """`(context, first thread, lanes, machine, opened, kinds, aligned)` → 1 where the lanes of a warp do not meet."""
    _Check(b, values, masked=masked).build()


def _form(name: str, masked: bool) -> str:  # noqa: FBT001 - as of the subroutines
    return f"{name}.masked" if masked else name


def _note_differences(b: ir.IRBuilder, context: ir.Value, threads: tuple[ir.Value, ir.Value], differs: Cell) -> None:
    """Set bits if threads, given by the first one and their number, are not all at one place after as many joins."""
    base, count = threads
    rows = [element(b, at(b, context, LAYOUT[name][0]), base, I32) for name in ("state", "joined")]
    firsts = [b.load(start, typ=I32) for start in rows]
    with counted(b, b.zext(count, I64)) as thread:
        for start, first in zip(rows, firsts, strict=True):
            differs.set_bits(b.xor(b.load(element(b, start, thread, I32), typ=I32), first))


class _Check:
    """The comparison of the lanes of one warp: 1 if they do not meet at a barrier that opens."""

    def __init__(self, b: ir.IRBuilder, values: tuple[ir.Value, ...], *, masked: bool) -> None:
        self.context, self.base, self.lanes, self.machine, self.opened, self.kinds, self.aligned = values
        self.builder, self.masked = b, masked
        # Of the first lane that waits at an aligned barrier which opens: its state, its joins, and whether others may
        # have gone past the barrier to a join (`counts`), or out of the kernel (`skipped`).
        self.state = Cell(b, i32(DONE))
        self.joined = Cell(b, i32(0))
        self.counts = Cell(b, ir.Constant(I1, 0))
        self.skipped = Cell(b, ir.Constant(I1, 0))
        # Whether any lane is not at a barrier that opens, does not stand where the first one does, or has exited.
        self.elsewhere = Cell(b, i32(0))
        self.wrong = Cell(b, i32(0))
        self.exited = Cell(b, i32(0))
        self.opens = Cell(b, ir.Constant(I1, 0))

    def build(self) -> None:
        b = self.builder
        self.state.set(i32(DONE))
        for cell in (self.joined, self.elsewhere, self.wrong, self.exited):
            cell.set(i32(0))
        with counted(b, self.lanes) as lane:
            self._find_first(b.add(self.base, lane))
        with counted(b, self.lanes) as lane:
            self._compare(b.add(self.base, lane))
        waits_together = b.icmp_unsigned("!=", self.state.get(), i32(DONE))
        with b.if_then(b.and_(waits_together, b.icmp_unsigned("!=", self.wrong.get(), i32(0)))):
            b.ret(i32(1))
        if self.masked:
            self._tell_of_exits(waits_together)
        # From here on joins are counted anew, where the whole warp is at barriers that open.
        with (
            b.if_then(b.icmp_unsigned("==", self.elsewhere.get(), i32(0))),
            counted(b, self.lanes) as lane,
        ):
            b.store(i32(0), row(b, self.context, "joined", b.add(self.base, lane)))
        b.ret(i32(0))

    def _tell_of_exits(self, waits_together: ir.Value) -> None:
        """Tell Python of a warp of which some lanes have left the kernel, once in a launch for each wait."""
        b, machine = self.builder, self.machine
        bit = b.shl(i64(1), b.zext(b.and_(b.not_(self.state.get()), i32(63)), I64))
        told = field(b, machine, "told_exits")
        is_new = b.icmp_unsigned("==", b.and_(told, bit), i64(0))
        some_left = b.icmp_unsigned("!=", self.exited.get(), i32(0))
        with b.if_then(b.and_(waits_together, b.and_(is_new, some_left)), likely=False):
            set_field(b, machine, "told_exits", b.or_(told, bit))
            raw_call(b, machine, CHECK_EXITS, stack_words(b, [b.zext(self.base, I64)]), machine)

    def _load(self, name: str, thread: ir.Value) -> ir.Value:
        return self.builder.load(row(self.builder, self.context, name, thread), typ=I32)

    def _byte(self, of: ir.Value, state: ir.Value) -> ir.Value:
        return self.builder.load(element(self.builder, of, self.builder.not_(state), I8), typ=I8)

    def _find_first(self, thread: ir.Value) -> None:
        """Note the first lane at an aligned barrier that opens, and whether any lane is left elsewhere."""
        b = self.builder
        state = self._load("state", thread)
        with b.if_then(b.icmp_unsigned("!=", state, i32(DONE))):
            self.opens.set(ir.Constant(I1, 0))
            with b.if_then(b.icmp_signed("<", state, i32(0))):
                self.opens.set(self._opens(thread, self._byte(self.kinds, state)))
            with b.if_else(self.opens.get()) as (yes, no):
                with yes:
                    is_first = b.icmp_unsigned("==", self.state.get(), i32(DONE))
                    bits = self._byte(self.aligned, state)
                    is_aligned = b.trunc(bits, I1)
                    with b.if_then(b.and_(is_first, is_aligned)):
                        self.state.set(state)
                        self.joined.set(self._load("joined", thread))
                        self.counts.set(self._has_bit(bits, CONDITIONAL))
                        self.skipped.set(self._has_bit(bits, SKIPPED))
                with no:
                    self.elsewhere.set(i32(1))

    def _has_bit(self, bits: ir.Value, wanted: int) -> ir.Value:
        b = self.builder
        return b.icmp_unsigned("!=", b.and_(bits, ir.Constant(I8, wanted)), ir.Constant(I8, 0))

    def _opens(self, thread: ir.Value, kind: ir.Value) -> ir.Value:
        """Whether a thread waits at a barrier that opens, by the kind of its wait."""
        b = self.builder
        is_plain = b.icmp_unsigned(">=", kind, ir.Constant(I8, PLAIN_BARRIER))
        key = b.trunc(b.load(row(b, self.context, "key", thread), typ=I64), I32)
        number = b.select(is_plain, b.zext(b.sub(kind, ir.Constant(I8, PLAIN_BARRIER)), I32), b.and_(key, i32(31)))
        is_barrier = b.or_(is_plain, b.icmp_unsigned("==", kind, ir.Constant(I8, BARRIER)))
        return b.and_(is_barrier, b.trunc(b.lshr(self.opened, number), I1))

    def _compare(self, thread: ir.Value) -> None:
        """Compare a lane with the first one; one that has exited was there if it came to no more joins."""
        b = self.builder
        state, joined = self._load("state", thread), self._load("joined", thread)
        exited = b.icmp_unsigned("==", state, i32(DONE))
        self.exited.set_bits(b.zext(exited, I32))
        counts = self.counts.get()
        left = b.icmp_unsigned(">=", joined, i32(PASSED))
        joined = b.and_(joined, i32(PASSED - 1))
        past = b.and_(counts, b.icmp_unsigned(">", joined, self.joined.get()))
        past = b.or_(past, b.and_(self.skipped.get(), left))
        differs = b.or_(
            b.icmp_unsigned("!=", state, self.state.get()),
            b.and_(counts, b.icmp_unsigned("!=", joined, self.joined.get())),
        )
        self.wrong.set_bits(b.zext(b.select(exited, past, differs), I32))
