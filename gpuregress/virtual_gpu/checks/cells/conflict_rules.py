"""Rules of races between two accesses of a shadow cell, and the report, as subroutines of the module.

Two accesses race that overlap, one of them a write, if causality does not order them and they are not morally strong
(PTX ISA manual, 8 "Memory Consistency Model").
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.python_calls import raw_call
from gpuregress.virtual_gpu.builder.structured import at, i64, open_function
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.builder.types import I64, POINTER
from gpuregress.virtual_gpu.checks.cells.cell_access import WRITE, CellAccess
from gpuregress.virtual_gpu.checks.cells.happens_before import HappensBefore
from gpuregress.virtual_gpu.checks.cells.shadow_place import ShadowPlace, load_word
from gpuregress.virtual_gpu.checks.subroutines import subroutine
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_REPORT


class ConflictRules:
    """The rules of one module.

    Args:
        unit: the module.
        order: tells whether accesses are ordered.
        conflicts: whether two strong accesses are reported, too, where nothing orders them.
    """

    def __init__(self, unit: Unit, order: HappensBefore, *, conflicts: bool) -> None:
        self._module, self._order, self._conflicts = unit.module, order, conflicts

    def report_race(
        self, b: ir.IRBuilder, access: CellAccess, where: ShadowPlace, other: ir.Value, *, is_other_write: bool
    ) -> ir.Value:
        """Report a race with an access that nothing orders before this one, unless both are strong enough.

        Returns:
            whether it was reported, i1.
        """
        kind: ir.Value = i64(layout.RACE)
        apart = self._order.is_unordered(b, where, other)
        if access.is_strong:
            exempt = self.is_exempt(b, where, other, is_other_write=is_other_write)
            if self._conflicts:
                kind = b.select(exempt, i64(layout.ORDERED_BY_LUCK), kind)
                exempt = b.and_(exempt, self._commute(b, other, where.epoch))
            apart = b.and_(apart, b.not_(exempt))
        if access.action == WRITE and not access.is_strong and is_other_write:
            same = self.is_of_one_value(b, other, where.epoch)
            with b.if_then(b.and_(apart, same), likely=False):
                launch = field(b, where.machine, "checks", POINTER)
                with b.if_then(b.icmp_unsigned("==", load_word(b, launch, layout.LAUNCH["same_value"]), i64(0))):
                    self.report(b, where, i64(layout.SAME_WRITES), other)
            apart = b.and_(apart, b.not_(same))
        if access.is_incoherent:
            kind = b.select(apart, kind, i64(layout.STALE))
            apart = b.icmp_unsigned(">=", other, where.oldest)
        with b.if_then(apart, likely=False):
            self.report(b, where, kind, other)
        return apart

    def is_exempt(self, b: ir.IRBuilder, where: ShadowPlace, other: ir.Value, *, is_other_write: bool) -> ir.Value:
        """Whether a strong access does not race with an earlier one, because that is strong for its thread, too."""
        both = b.icmp_unsigned("!=", b.and_(other, i64(layout.STRONG)), i64(0))
        if where.space == "shared":
            return both
        least = self._order.least_scope(b, where, other)
        scope = b.lshr(b.and_(where.epoch, i64(layout.LEVEL_MASK)), i64(layout.LEVEL_SHIFT))
        exempt = b.and_(both, b.icmp_unsigned(">=", scope, least))
        return b.and_(exempt, b.icmp_unsigned(">=", self._scope_of(b, other, is_write=is_other_write), least))

    @staticmethod
    def _scope_of(b: ir.IRBuilder, strong: ir.Value, *, is_write: bool) -> ir.Value:
        """The number of the scope of a strong access of a cell, i64."""
        if is_write:
            return b.lshr(b.and_(strong, i64(layout.LEVEL_MASK)), i64(layout.LEVEL_SHIFT))
        is_narrow, is_of_cluster = (
            b.icmp_unsigned("!=", b.and_(strong, i64(flag)), i64(0)) for flag in (layout.NARROW, layout.OF_CLUSTER)
        )
        narrow = b.select(is_of_cluster, i64(layout.SCOPES["cluster"]), i64(layout.SCOPES["cta"]))
        return b.select(is_narrow, narrow, i64(layout.SCOPES["gpu"]))

    def races_with_no_write(self, b: ir.IRBuilder, space: str, newest: ir.Value, epoch: ir.Value) -> ir.Value:
        """Whether a strong access and all writes of a list are strong for each other, whichever threads they are of."""
        usual = i64(self._order.strong_for_all(space))
        both = b.and_(b.and_(newest, epoch), usual)
        hidden = b.icmp_unsigned("!=", b.and_(newest, i64(layout.WRITE_LIST)), i64(layout.WRITE_LIST))
        return b.and_(hidden, b.icmp_unsigned("==", both, usual))

    def is_of_one_value(self, b: ir.IRBuilder, other: ir.Value, epoch: ir.Value) -> ir.Value:
        """Whether a plain write stores what memory held already, and an earlier write was no atomic operation."""
        is_plain = b.icmp_unsigned("==", b.and_(other, i64(layout.STRONG)), i64(0))
        return b.and_(is_plain, b.icmp_unsigned("!=", b.and_(epoch, i64(layout.SAME_VALUE)), i64(0)))

    def _commute(self, b: ir.IRBuilder, *epochs: ir.Value) -> ir.Value:
        """Whether two strong accesses are atomic operations of one kind, whose results nobody reads."""
        flags = i64(layout.STRONG | layout.SAME_VALUE)
        return b.and_(*(b.icmp_unsigned("==", b.and_(epoch, flags), flags) for epoch in epochs))

    def report(self, b: ir.IRBuilder, where: ShadowPlace, kind: ir.Value, other: ir.Value) -> None:
        """Report an access, with an earlier one or 0."""
        types = (POINTER, I64, I64, I64, I64)
        function, is_new = subroutine(self._module, "check.report", ir.VoidType(), types)
        if is_new:
            function.attributes.add("cold")
            machine, *words = function.args
            inner = open_function(function)
            launch = field(inner, machine, "checks", POINTER)
            stopped = inner.icmp_unsigned("!=", load_word(inner, launch, layout.LAUNCH["stop"]), i64(0))
            with inner.if_then(stopped):
                inner.ret_void()
            for index, word in enumerate(words):
                inner.store(word, at(inner, launch, layout.REPORT + 8 * index))
            raw_call(inner, machine, CHECK_REPORT, at(inner, launch, layout.REPORT), machine)
            inner.ret_void()
        b.call(function, (where.machine, kind, where.address, where.epoch, other))
