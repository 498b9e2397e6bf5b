"""Checks of the shared memory that wgmma reads, as the asynchronous proxy.

A row is checked where the product is issued. `runtime.checks.matrix_and_texel_reads` is given the rows, the
groups and the waits: it finds what is written before the wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import Services, raw_call
from gpuregress.virtual_gpu.builder.structured import (
    I32,
    I64,
    POINTER,
    at,
    counted,
    element,
    i64,
    stack_words,
)
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.checks.access_check import RaceRules
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, begin_epoch, epoch_of, rules
from gpuregress.virtual_gpu.checks.shadow_cells import READ, CellAccess, load_word, subroutine
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime.checks import layout, matrix_and_texel_reads
from gpuregress.virtual_gpu.runtime.machine_layout import CHECK_MATRIX, SHARED_WINDOW

RowCheck: TypeAlias = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], None]
"""(builder, machine, generic address, epoch): calls the check of a row."""
_ROW = CellAccess(READ, is_strong=False, reads=False, count=16)


def row_check(emitter: Services, instruction: Instruction, site: int) -> tuple[RowCheck, ir.Value] | None:
    """The check of 16 bytes that are read, and the epoch; None without checks.

    Args:
        emitter: the function's.
        instruction: that reads.
        site: its number.
    """
    if emitter.unit.granules is None or emitter.epoch is None:
        return None
    made, epoch = rules(emitter), epoch_of(emitter, _note(instruction, site))

    @subroutine("check.matrix_row")
    def check(b: ir.IRBuilder, machine: ir.Value, address: ir.Value, own: ir.Value) -> None:
        inside = b.sub(address, i64(SHARED_WINDOW))
        made.access(_ROW, "shared", b, machine, inside, own)
        if made.races:
            _check_proxies(b, made, machine, inside, own)
            _keep_row(b, machine, address)

    return check, epoch


def _note(instruction: Instruction, site: int) -> AccessNote:
    return AccessNote(instruction, "read", "shared", _ROW.count, site, is_asynchronous=True)


def _keep_row(b: ir.IRBuilder, machine: ir.Value, address: ir.Value) -> None:
    """Add a row to those that `note_product` tells of."""
    rows = at(b, field(b, machine, "checks", POINTER), layout.MATRIX_ROWS)
    count = b.add(b.load(rows, typ=I64), i64(1))
    b.store(count, rows)
    b.store(address, element(b, rows, count, I64))


def note_product(emitter: Services, instruction: Instruction, site: int) -> None:
    """Tell that the running lane has read the matrices of a product for its warp.

    Args:
        emitter: the function's.
        instruction: wgmma.mma_async.
        site: its number.
    """
    if emitter.epoch is not None:
        _tell(emitter, layout.PRODUCT, epoch_of(emitter, _note(instruction, site)))


def note_commit(emitter: Services) -> None:
    """Tell of wgmma.commit_group by the running thread."""
    _tell(emitter, layout.GROUP_COMMIT, i64(0))


def note_fence(emitter: Services) -> None:
    """Tell of wgmma.fence by the running thread."""
    _tell(emitter, layout.PRODUCT_FENCE, i64(0))


def note_wait(emitter: Services, most: int) -> None:
    """Tell of wgmma.wait_group by the running thread, which leaves some groups pending."""
    _tell(emitter, layout.GROUP_WAIT, i64(most))


def _tell(emitter: Services, kind: int, value: ir.Value) -> None:
    if emitter.epoch is None or "races" not in emitter.unit.schedule.instruments.checks:
        return
    b, view = emitter.builder, emitter.view
    thread = b.zext(linear_thread(b, view, emitter.thread), I64)
    words = stack_words(b, (i64(kind), thread, value))
    raw_call(b, view.machine, CHECK_MATRIX, words, view.machine)
    begin_epoch(b, emitter)


def _check_proxies(b: ir.IRBuilder, made: RaceRules, machine: ir.Value, address: ir.Value, epoch: ir.Value) -> None:
    """Report writes of the block after which their thread has no fence between the proxies; Python knows others."""
    where = made.shared_place(b, machine, address, epoch)
    for cell, place in made.each_cell(b, _ROW, where):
        write = load_word(b, cell, 0)
        is_own = b.and_(b.icmp_unsigned(">", write, where.oldest), b.icmp_unsigned(">=", write, where.turn))
        is_own = b.and_(is_own, b.icmp_unsigned("==", b.and_(write, i64(layout.IN_FLIGHT)), i64(0)))
        is_plain = b.icmp_unsigned("==", b.and_(write, i64(layout.STRONG)), i64(0))
        has_level = b.icmp_unsigned("!=", b.and_(write, i64(layout.LEVEL_MASK)), i64(0))
        is_own = b.and_(is_own, b.not_(b.and_(is_plain, has_level)))  # not of a copy
        thread = b.lshr(b.and_(write, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT))
        fences = at(b, where.block(b), layout.PROXY_FENCED)
        fenced = b.load(element(b, fences, thread, I32), typ=I32)
        is_late = b.icmp_unsigned(">", b.trunc(b.lshr(write, i64(layout.STAMP_SHIFT)), I32), fenced)
        with b.if_then(b.and_(is_own, is_late), likely=False):
            made.cells.report(b, where.at_address(place), i64(layout.UNFENCED), write)


# --- texel reads ------------------------------------------------------------------------------------------------------
# Checks of the texels that a texture fetch reads, as a subroutine of the module.
#
# The subroutines that sample a texture are shared by all of its fetches. So the thread that reads is told to them in
# memory, after the place where they leave the texel's channels.

READER = ir.LiteralStructType([POINTER, I64])
"""The thread that reads: the launch's machine, and the epoch of the access."""
_EPOCH = 8


def tell_reader(emitter: Services, instruction: Instruction, reader: ir.Value) -> None:
    """Store the running thread, where accesses are checked.

    Args:
        emitter: the function's.
        instruction: that fetches.
        reader: a pointer to a `READER`.
    """
    if emitter.epoch is None:
        return
    b = emitter.builder
    site = emitter.unit.site(instruction, matrix_and_texel_reads.FETCH, "texture")
    b.store(emitter.view.machine, reader)
    b.store(epoch_of(emitter, AccessNote(instruction, "read", "global", 0, site)), at(b, reader, _EPOCH))


def pass_reader(emitter: Services, b: ir.IRBuilder, reader: ir.Value, other: ir.Value) -> None:
    """Copy a `READER` to another place, where accesses are checked."""
    if emitter.unit.granules is not None:
        b.store(b.load(reader, typ=READER), other)


def note_texel(emitter: Services, b: ir.IRBuilder, address: ir.Value, count: ir.Value, reader: ir.Value) -> None:
    """Build the check of a texel that is read, where accesses are checked.

    Args:
        emitter: for the subroutine.
        b: where the texel is read.
        address: its first byte in device memory, i64.
        count: its bytes, i64, a power of two; 0 for none.
        reader: a pointer to a `READER`.
    """
    if emitter.unit.granules is None:
        return
    made, shift = rules(emitter), emitter.unit.granules["global"]

    @subroutine("check.texel")
    def check(b: ir.IRBuilder, who: ir.Value, start: ir.Value, size: ir.Value) -> None:
        machine, epoch = b.load(who, typ=POINTER), b.load(at(b, who, _EPOCH), typ=I64)
        cell = CellAccess(READ, is_strong=False, reads=False, count=1 << shift, is_incoherent=True)
        cells = b.lshr(b.add(size, i64((1 << shift) - 1)), i64(shift))
        with counted(b, cells) as index:
            place = b.add(start, b.shl(index, i64(shift)))
            made.access(cell, "global", b, machine, place, epoch)

    check(b, reader, address, count)
