"""Check that the lanes of each warp meet at a barrier of the block, as an LLVM function of the module.

A card lets such a barrier open when all threads that are left have arrived, wherever they are. But CUDA and PTX require
that the lanes of a warp execute it together, and compute-sanitizer reports it where they do not. A lane diverged if it
waits at another barrier instruction than the other lanes of its warp, or if it went past the barrier: it came to more
joins of `analysis.divergent_barriers` since the last barrier.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.structured import Cell, at, counted, element, i32, i64, open_function
from gpuregress.devices.cpu.builder.thread_context import LAYOUT, PLAIN_BARRIER, row
from gpuregress.devices.cpu.builder.types import I1, I8, I32, I64, POINTER
from gpuregress.devices.cpu.runtime.thread_context import DONE

_NAME = "lanes_meet"


def build_divergence_check(module: ir.Module) -> ir.Function:
    """Build the module's `lanes_meet(context, kinds, aligned, threads) → 0, or the number of a warp from 1`.

    `kinds` and `aligned` have a byte for each wait: its kind, and whether a warp must execute it together.
    """
    declared: ir.Function | None = module.globals.get(_NAME)
    if declared is not None:
        return declared
    type_ = ir.FunctionType(I32, (POINTER, POINTER, POINTER, I32))
    function, comparison = ir.Function(module, type_, _NAME), ir.Function(module, type_, f"{_NAME}.by_warps")
    function.linkage = comparison.linkage = "internal"
    function.attributes.add("noinline")
    # Seldom called, and not worth the time of LLVM's optimisation.
    for attribute in ("noinline", "optnone"):
        comparison.attributes.add(attribute)
    _Check(comparison).build()
    _build_quick_check(function, comparison)
    return function


def _build_quick_check(function: ir.Function, comparison: ir.Function) -> None:
    """Build a loop over all threads that LLVM vectorises; where one differs from the first, the warps are compared."""
    context, _, _, threads = function.args
    b = open_function(function)
    rows = [at(b, context, LAYOUT[name][0]) for name in ("state", "joined")]
    firsts = [b.load(start, typ=I32) for start in rows]
    differs = Cell(b, i32(0))
    with counted(b, b.zext(threads, I64)) as thread:
        for start, first in zip(rows, firsts, strict=True):
            differs.set_bits(b.xor(b.load(element(b, start, thread, I32), typ=I32), first))
    with b.if_then(b.icmp_unsigned("!=", differs.get(), i32(0)), likely=False):
        b.ret(b.call(comparison, function.args))
    b.ret(i32(0))


class _Check:
    def __init__(self, function: ir.Function) -> None:
        self.context, self.kinds, self.aligned, self.threads = function.args
        self.builder = open_function(function)
        b = self.builder
        self.state, self.joined = Cell(b, i32(DONE)), Cell(b, i32(0))
        self.most, self.wrong = Cell(b, i32(0)), Cell(b, i32(0))

    def build(self) -> None:
        b = self.builder
        self._return_unless_all_wait()
        with counted(b, b.lshr(b.add(self.threads, i32(31)), i32(5))) as warp:
            base = b.shl(warp, i32(5))
            left = b.sub(self.threads, base)
            for cell, value in ((self.state, DONE), (self.joined, 0), (self.most, 0), (self.wrong, 0)):
                cell.set(i32(value))
            with counted(b, b.select(b.icmp_unsigned("<", left, i32(32)), left, i32(32))) as lane:
                self._compare(b.add(base, lane))
            waits = b.icmp_unsigned("!=", self.state.get(), i32(DONE))
            past = b.icmp_unsigned(">", self.most.get(), self.joined.get())
            wrong = b.or_(b.icmp_unsigned("!=", self.wrong.get(), i32(0)), b.and_(waits, past))
            with b.if_then(wrong, likely=False):
                b.ret(b.add(warp, i32(1)))
        size = b.shl(b.zext(self.threads, I64), i64(2))
        memset = self._memset()
        b.call(memset, (at(b, self.context, LAYOUT["joined"][0]), ir.Constant(I8, 0), size, ir.Constant(I1, 0)))
        b.ret(i32(0))

    def _memset(self) -> ir.Function:
        module, name = self.builder.module, "llvm.memset.p0.i64"
        declared: ir.Function | None = module.globals.get(name)
        return declared or ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, I8, I64, I1)), name)

    def _load(self, name: str, thread: ir.Value) -> ir.Value:
        return self.builder.load(row(self.builder, self.context, name, thread), typ=I32)

    def _byte(self, of: ir.Value, state: ir.Value) -> ir.Value:
        return self.builder.load(element(self.builder, of, self.builder.not_(state), I8), typ=I8)

    def _return_unless_all_wait(self) -> None:
        """Return 0 where some thread that is left does not wait at the barrier of the others."""
        b = self.builder
        kind = Cell(b, ir.Constant(I8, 0))
        with counted(b, self.threads) as thread:
            state = self._load("state", thread)
            with b.if_then(b.icmp_unsigned("!=", state, i32(DONE))):
                with b.if_then(b.icmp_signed(">=", state, i32(0))):
                    b.ret(i32(0))
                own = self._byte(self.kinds, state)
                other = b.icmp_unsigned("!=", own, kind.get())
                known = b.icmp_unsigned("!=", kind.get(), ir.Constant(I8, 0))
                no_barrier = b.icmp_unsigned("<", own, ir.Constant(I8, PLAIN_BARRIER))
                with b.if_then(b.or_(no_barrier, b.and_(known, other))):
                    b.ret(i32(0))
                kind.set(own)

    def _compare(self, thread: ir.Value) -> None:
        """Compare a lane with the first one of its warp that waits."""
        b = self.builder
        state, joined = self._load("state", thread), self._load("joined", thread)
        with b.if_else(b.icmp_unsigned("==", state, i32(DONE))) as (exited, waits):
            with exited:
                self.most.set(b.select(b.icmp_unsigned(">", joined, self.most.get()), joined, self.most.get()))
            with waits, b.if_else(b.icmp_unsigned("==", self.state.get(), i32(DONE))) as (first, later):
                with first:
                    self.state.set(state)
                    self.joined.set(joined)
                with later:
                    is_aligned = b.and_(self._byte(self.aligned, state), self._byte(self.aligned, self.state.get()))
                    differs = b.or_(
                        b.icmp_unsigned("!=", state, self.state.get()),
                        b.icmp_unsigned("!=", joined, self.joined.get()),
                    )
                    wrong = b.and_(differs, b.trunc(is_aligned, I1))
                    self.wrong.set_bits(b.zext(wrong, I32))
