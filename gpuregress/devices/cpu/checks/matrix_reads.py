"""Checks of the shared memory that wgmma reads, as the asynchronous proxy.

A row is read where the product is issued. A write between the issue and the wait for the product is not noticed.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import at, element, i64, open_function
from gpuregress.devices.cpu.builder.types import I32, I64, POINTER
from gpuregress.devices.cpu.checks.access_notes import AccessNote, epoch_of, rules
from gpuregress.devices.cpu.checks.race_rules import READ, CellAccess, RaceRules
from gpuregress.devices.cpu.checks.shadow_place import load_word
from gpuregress.devices.cpu.ptx.tree import Instruction
from gpuregress.devices.cpu.runtime.checks import layout
from gpuregress.devices.cpu.runtime.machine_layout import SHARED_WINDOW

_ROW = CellAccess(READ, is_strong=False, reads=False, count=16)


def row_check(emitter: Services, instruction: Instruction, site: int) -> tuple[ir.Function, ir.Value] | None:
    """The check `(machine, generic address, epoch)` of 16 bytes that are read, and the epoch; None without checks.

    Args:
        emitter: the function's.
        instruction: that reads.
        site: its number.
    """
    if emitter.unit.granules is None or emitter.epoch is None:
        return None
    made, epoch = rules(emitter), epoch_of(emitter, AccessNote(instruction, "read", "shared", _ROW.count, site))
    function, is_new = made.function("check.matrix_row", ir.VoidType(), (POINTER, I64, I64))
    if is_new:
        function.attributes.add("noinline")
        machine, address, own = function.args
        b = open_function(function)
        inside = b.sub(address, i64(SHARED_WINDOW))
        b.call(made.access(_ROW, "shared"), (machine, inside, own))
        if made.races:
            _check_proxies(b, made, machine, inside, own)
        b.ret_void()
    return function, epoch


def _check_proxies(b: ir.IRBuilder, made: RaceRules, machine: ir.Value, address: ir.Value, epoch: ir.Value) -> None:
    """Report writes of the block behind which their thread has no fence between the proxies; Python knows others."""
    where = made.shared_place(b, machine, address, epoch)
    for cell, place in made.each_cell(b, _ROW, where):
        write = load_word(b, cell, 0)
        # What a bulk copy has written has the block's first epoch.
        is_own = b.and_(b.icmp_unsigned(">", write, where.oldest), b.icmp_unsigned(">=", write, where.turn))
        is_own = b.and_(is_own, b.icmp_unsigned("==", b.and_(write, i64(layout.IN_FLIGHT)), i64(0)))
        flags = b.and_(write, i64(layout.STRONG | layout.COPIED))
        is_own = b.and_(is_own, b.icmp_unsigned("!=", flags, i64(layout.COPIED)))
        thread = b.lshr(b.and_(write, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT))
        fences = at(b, where.block(b), layout.PROXY_FENCED)
        fenced = b.load(element(b, fences, thread, I32), typ=I32)
        is_late = b.icmp_unsigned(">", b.trunc(b.lshr(write, i64(layout.STAMP_SHIFT)), I32), fenced)
        with b.if_then(b.and_(is_own, is_late), likely=False):
            made.report(b, where.at_address(place), i64(layout.UNFENCED), write)
