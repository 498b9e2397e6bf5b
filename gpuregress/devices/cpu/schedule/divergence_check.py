"""Check that the lanes of each warp meet at an aligned barrier, as an LLVM function of the module.

A card lets `__syncthreads()` open when all threads that are left have arrived, wherever they are, and counts whole
warps at a barrier with a count. But CUDA and PTX require that the lanes of a warp execute such a barrier together, and
compute-sanitizer reports it where they do not. A lane diverged if it is somewhere else than the other lanes of its warp
when their barrier opens, or if it went past the barrier: it came to more joins of `analysis.divergent_barriers` since
the last barrier. Joins say nothing of a barrier to which every way leads.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.structured import Cell, at, counted, element, i32, open_function
from gpuregress.devices.cpu.builder.thread_context import BARRIER, LAYOUT, PLAIN_BARRIER, row
from gpuregress.devices.cpu.builder.types import I1, I8, I32, I64, POINTER
from gpuregress.devices.cpu.runtime.thread_context import DONE

_NAME = "lanes_meet"
ALIGNED, CONDITIONAL = 1, 2
"""Bits for each wait: whether a warp must execute it together; whether a lane can go past it and come to a join."""


def build_divergence_check(module: ir.Module) -> ir.Function:
    """Build the module's `lanes_meet(context, kinds, aligned, threads, opened) → 0, or the number of a warp from 1`.

    `kinds` and `aligned` have a byte for each wait: its kind, and the bits `ALIGNED` and `CONDITIONAL`. `opened` has a
    bit for each barrier that opens now.
    """
    declared: ir.Function | None = module.globals.get(_NAME)
    if declared is not None:
        return declared
    function = ir.Function(module, ir.FunctionType(I32, (POINTER, POINTER, POINTER, I32, I32)), _NAME)
    comparison = ir.Function(module, ir.FunctionType(I32, (POINTER, POINTER, POINTER, I32, I32, I32)), f"{_NAME}.warp")
    function.linkage = comparison.linkage = "internal"
    function.attributes.add("noinline")
    # Seldom called, and not worth the time of LLVM's optimisation.
    for attribute in ("noinline", "optnone"):
        comparison.attributes.add(attribute)
    _Check(comparison).build()
    _build_quick_check(function, comparison)
    return function


def _build_quick_check(function: ir.Function, comparison: ir.Function) -> None:
    """Build loops that LLVM vectorises; only the lanes of a warp that differ are compared one by one."""
    context, kinds, aligned, threads, opened = function.args
    b = open_function(function)
    differs = Cell(b, i32(0))
    _note_differences(b, context, (i32(0), threads), differs)
    with b.if_then(b.icmp_unsigned("==", differs.get(), i32(0)), likely=True):
        b.ret(i32(0))
    with counted(b, b.lshr(b.add(threads, i32(31)), i32(5))) as warp:
        base = b.shl(warp, i32(5))
        left = b.sub(threads, base)
        lanes = b.select(b.icmp_unsigned("<", left, i32(32)), left, i32(32))
        differs.set(i32(0))
        _note_differences(b, context, (base, lanes), differs)
        with b.if_then(b.icmp_unsigned("!=", differs.get(), i32(0)), likely=False):
            diverged = b.call(comparison, (context, kinds, aligned, base, lanes, opened))
            with b.if_then(b.icmp_unsigned("!=", diverged, i32(0)), likely=False):
                b.ret(b.add(warp, i32(1)))
    b.ret(i32(0))


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

    def __init__(self, function: ir.Function) -> None:
        self.context, self.kinds, self.aligned, self.base, self.lanes, self.opened = function.args
        self.builder = open_function(function)
        b = self.builder
        self.state, self.joined = Cell(b, i32(DONE)), Cell(b, i32(0))
        self.elsewhere, self.wrong = Cell(b, i32(0)), Cell(b, i32(0))
        self.opens, self.counts = (Cell(b, ir.Constant(I1, 0)) for _ in range(2))

    def build(self) -> None:
        b = self.builder
        for cell, value in ((self.state, DONE), (self.joined, 0), (self.elsewhere, 0), (self.wrong, 0)):
            cell.set(i32(value))
        with counted(b, self.lanes) as lane:
            self._find_first(b.add(self.base, lane))
        with counted(b, self.lanes) as lane:
            self._compare(b.add(self.base, lane))
        waits_together = b.icmp_unsigned("!=", self.state.get(), i32(DONE))
        with b.if_then(b.and_(waits_together, b.icmp_unsigned("!=", self.wrong.get(), i32(0)))):
            b.ret(i32(1))
        # From here on joins are counted anew, where the whole warp is at barriers that open.
        with (
            b.if_then(b.icmp_unsigned("==", self.elsewhere.get(), i32(0))),
            counted(b, self.lanes) as lane,
        ):
            b.store(i32(0), row(b, self.context, "joined", b.add(self.base, lane)))
        b.ret(i32(0))

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
                        self.counts.set(
                            b.icmp_unsigned("!=", b.and_(bits, ir.Constant(I8, CONDITIONAL)), ir.Constant(I8, 0))
                        )
                with no:
                    self.elsewhere.set(i32(1))

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
        counts = self.counts.get()
        past = b.and_(counts, b.icmp_unsigned(">", joined, self.joined.get()))
        differs = b.or_(
            b.icmp_unsigned("!=", state, self.state.get()),
            b.and_(counts, b.icmp_unsigned("!=", joined, self.joined.get())),
        )
        self.wrong.set_bits(b.zext(b.select(exited, past, differs), I32))
