"""Notes of a thread's accesses to memory, which the dynamic checks examine."""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I64, POINTER, convert, i64
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.checks import happens_before, synchronization
from gpuregress.virtual_gpu.checks.access_check import RaceRules
from gpuregress.virtual_gpu.checks.shadow_cells import READ, WRITE, CellAccess, has_flags, load_word, region_row
from gpuregress.virtual_gpu.ptx.modifiers import modifier_among
from gpuregress.virtual_gpu.ptx.opcode_table import info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT, SHARED_WINDOW

# --- region flags -----------------------------------------------------------------------------------------------------
# Flags of the regions that a kernel's pointers lead to, loaded once before its threads run.


class RegionFlags(Record):
    """What need not be watched in a region.

    Attributes:
        is_quiet: whether no access need be watched, i1.
        is_race_free: whether no two threads race there, i1.
        quiet_slot: the slot of a region that is quiet; of one that is not, a number that no address has, i64.
        slot: the region's slot, i64.
        row: the words of its row in the table of regions, i64 each.
        cells: the address of its first cell, i64.
        limit: accesses with an epoch before it are ordered before all of the launch; the greatest number where no two
            threads race, i64.
        is_filled: whether its contents are initialised, i1.
    """

    is_quiet: ir.Value
    is_race_free: ir.Value
    quiet_slot: ir.Value
    slot: ir.Value
    row: tuple[ir.Value, ir.Value]
    cells: ir.Value
    limit: ir.Value
    is_filled: ir.Value


def flags_of(emitter: Services, address: Address) -> RegionFlags | None:
    """Return the flags of the region of global memory that an address most likely points into.

    Args:
        emitter: the function's.
        address: of an access to global memory, or a generic one.

    Returns:
        None where there is no candidate.
    """
    origin, view = emitter.provenance.of(address.base), emitter.view
    if origin is None:
        return None
    if origin.kind == "param":
        base = view.parameter_region(origin.offset).base
    elif origin.name in emitter.unit.symbol_numbers and origin.name not in emitter.frame.local_offsets:
        base = view.symbol_region(origin.name).base
    else:
        return None
    key = ("region flags", origin.kind, origin.name, origin.offset)
    if key not in view.known:
        view.known[key] = _load(view.entry, view.machine, base)
    flags = view.known[key]
    assert isinstance(flags, RegionFlags)
    return flags


def _load(b: ir.IRBuilder, machine: ir.Value, base: ir.Value) -> RegionFlags:
    launch = field(b, machine, "checks", POINTER)
    row = region_row(b, launch, base)
    tagged, slot = load_word(b, row, 0), b.lshr(base, i64(REGION_SHIFT))
    is_quiet = has_flags(b, tagged, layout.REGION_FLAGS)
    quiet_slot = b.select(is_quiet, slot, i64(-1))
    is_race_free = has_flags(b, tagged, layout.RACE_FREE)
    return RegionFlags(
        is_quiet=is_quiet,
        is_race_free=is_race_free,
        quiet_slot=quiet_slot,
        slot=slot,
        row=(tagged, load_word(b, row, 8)),
        cells=b.and_(tagged, i64(~layout.REGION_FLAGS)),
        limit=b.select(is_race_free, i64(-1), load_word(b, launch, layout.LAUNCH["oldest"])),
        is_filled=has_flags(b, tagged, layout.FILLED),
    )


def is_quiet_address(b: ir.IRBuilder, flags: RegionFlags, address: ir.Value) -> ir.Value:
    """Whether an address, i64, lies in a region that is quiet."""
    assert address.type == I64
    return b.icmp_unsigned("==", b.lshr(address, i64(REGION_SHIFT)), flags.quiet_slot)


# --- access notes -----------------------------------------------------------------------------------------------------

UNSHARED = ("local", "const", "param")
"""State spaces in which no thread sees another one's writes."""
_OWN_BARRIERS = re.compile("(^|/)(cuda/__barrier|cub/(block|detail|device))/")
"""Folders of NVIDIA's headers that have an mbarrier.init of their own."""
_ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc"}


class AccessNote(Record):
    """An access to memory.

    Attributes:
        instruction: its modifiers tell whether it is strong.
        action: `read`, `write` or `atomic access`.
        space: "" for a generic address.
        count: bytes.
        site: the number of its site.
        commutes: whether it is an atomic operation that may change places with others of the module's usual kind.
        orders: whether it may order other accesses itself; those of mbarriers are distinguished.
        is_data: whether it is checked as a plain access although it is volatile.
        is_asynchronous: whether a wgmma reads.
    """

    instruction: Instruction
    action: str
    space: str
    count: int
    site: int
    commutes: bool = False
    orders: bool = True
    is_data: bool = False
    is_asynchronous: bool = False

    @property
    def is_strong(self) -> bool:
        """Whether PTX calls the access strong. PTX ISA manual, 8.6 "Types of Operations"."""
        if self.action == "atomic access":
            return True
        return not self.is_data and bool(_ORDERED.intersection(self.instruction.modifiers))

    @property
    def is_incoherent(self) -> bool:
        """Whether it reads through a cache that sees no writes of its launch."""
        return info(self.instruction).is_incoherent or "nc" in self.instruction.modifiers

    @property
    def scope(self) -> int:
        """The threads with which it is strong, as a number that grows with them."""
        words = [layout.SCOPES[word] for word in self.instruction.modifiers if word in layout.SCOPES]
        if words:
            return words[-1]
        return layout.SCOPES["gpu" if self.action == "atomic access" else "sys"]

    @property
    def order(self) -> int:
        """Bits of `layout.READS` …: how the access may order those of other threads."""
        words = self.instruction.modifiers
        order = 0
        if self.action != "write":
            order |= layout.READS
            if {"acquire", "acq_rel", "sc"}.intersection(words):
                order |= layout.ACQUIRES
        if self.action != "read":
            order |= layout.WRITES
            if {"release", "acq_rel", "sc"}.intersection(words):
                order |= layout.RELEASES
        return order

    @property
    def flags(self) -> int:
        """The site and the flags of the epoch."""
        flags = min(self.site, layout.MOST_SITES - 1) << layout.SITE_SHIFT
        if self.is_strong:
            flags |= layout.STRONG | self.scope << layout.LEVEL_SHIFT
        if self.instruction.opcode == "cp" and self.action == "write":
            flags |= layout.IN_FLIGHT | layout.COPIED
        if self.commutes:
            flags |= layout.SAME_VALUE
        elif self.is_asynchronous:
            flags |= layout.ASYNCHRONOUS
        return flags


def rules(emitter: Services) -> RaceRules:
    """The subroutines of the module's checks."""
    assert emitter.unit.granules is not None
    wanted = emitter.unit.schedule.instruments
    return RaceRules(
        emitter.unit,
        emitter.unit.granules,
        races="races" in wanted.checks,
        uninitialized="uninitialized" in wanted.checks,
        conflicts=wanted.conflicts,
    )


def begin_epoch(b: ir.IRBuilder, emitter: Services) -> None:
    """Keep the epoch of a thread that begins or goes on."""
    if emitter.epoch is not None:
        number = linear_thread(b, emitter.view, emitter.thread)
        b.store(synchronization.now(b, emitter.view.machine, number), emitter.epoch)


def epoch_of(emitter: Services, note: AccessNote) -> ir.Value:
    """The epoch of an access by the running thread, i64."""
    b = emitter.builder
    assert emitter.epoch is not None
    return b.or_(b.load(emitter.epoch, typ=I64), i64(note.flags))


def note_access(
    emitter: Services,
    note: AccessNote,
    address: ir.Value,
    same: Callable[[], ir.Value] | None,
    flags: RegionFlags | None = None,
) -> None:
    """Build the check of an access.

    Args:
        emitter: the function's.
        note: the access.
        address: in its state space, i32 or i64.
        same: builds whether memory holds what is written already, i1; None where that is not known.
        flags: of the region that the address most likely points into.
    """
    b = emitter.builder
    wide = convert(b, address, I64)
    if flags is not None and emitter.unit.schedule.is_optimised:
        with b.if_then(b.not_(is_quiet_address(b, flags, wide))):
            _check(emitter, note, wide, same, flags)
    else:
        _check(emitter, note, wide, same)
    if note.is_strong and note.orders and emitter.unit.synchronizes:
        if note.space == "shared":
            wide = b.add(wide, i64(SHARED_WINDOW))
        note_order(emitter, note.order, wide, note.scope)


def _check(
    emitter: Services,
    note: AccessNote,
    address: ir.Value,
    same: Callable[[], ir.Value] | None,
    flags: RegionFlags | None = None,
) -> None:
    b = emitter.builder
    action = READ if note.action == "read" else WRITE
    reads = note.action == "atomic access" and "exch" not in note.instruction.modifiers
    access = CellAccess(action, note.is_strong, reads, note.count, is_incoherent=note.is_incoherent)
    is_ordered = note.space == "shared" and note.action == "read" and emitter.proven.reads_shared
    epoch = epoch_of(emitter, note)

    def check() -> None:
        """Examine the access wherever it is. Of a strong one, the flag says that it commutes."""
        flag = i64(0)
        if same is not None and not note.is_strong:
            flag = b.select(same(), i64(layout.SAME_VALUE), i64(0))
        values = (emitter.view.machine, address, b.or_(epoch, flag))
        rules(emitter).access(access, note.space, b, *values, is_ordered=is_ordered)

    if flags is None:
        check()
        return
    is_known = b.icmp_unsigned("==", b.lshr(address, i64(REGION_SHIFT)), flags.slot)
    if note.is_strong:
        with b.if_else(is_known, likely=True) as (known, other):
            with known:
                rules(emitter).known_region(access, b, emitter.view.machine, address, epoch, *flags.row)
            with other:
                check()
        return
    start = b.block
    with b.if_then(is_known, likely=True):
        noted = rules(emitter).first_access(access, b, address, epoch, flags.cells, flags.limit, flags.is_filled)
        end = b.block
    is_noted = b.phi(I1)
    is_noted.add_incoming(ir.Constant(I1, 0), start)
    is_noted.add_incoming(noted, end)
    with b.if_then(b.not_(is_noted), likely=False):
        check()


def note_order(
    emitter: Services, bits: int, address: ir.Value, scope: int, *, parity: ir.Value | None = None, site: int = 0
) -> None:
    """Tell of a strong access or a fence, which may order accesses of other threads.

    Args:
        emitter: the function's.
        bits: `layout.READS` …
        address: a generic one, i64; of an initialization, the host's.
        scope: of `layout.SCOPES`; of a fence between the proxies, of `layout.OF_SHARED` …
        parity: of the phase that an mbarrier is in, i64; None where it is none.
        site: the number of the site, where it may be reported.
    """
    if emitter.epoch is None or not emitter.unit.synchronizes:
        return
    b, machine = emitter.builder, emitter.view.machine
    epoch = b.or_(b.load(emitter.epoch, typ=I64), i64(min(site, layout.MOST_SITES - 1) << layout.SITE_SHIFT))
    kind: ir.Value = i64(bits)
    if parity is not None:
        phase = b.select(b.icmp_unsigned("==", parity, i64(0)), i64(0), i64(layout.ODD_PHASE))
        kind = b.or_(i64(bits | layout.PHASED), phase)
    synchronization.order(b, machine, kind, address, epoch, i64(scope))
    begin_epoch(b, emitter)


def note_wait(emitter: Services) -> None:
    """Tell that the running thread's wait at an mbarrier is over."""
    if emitter.epoch is not None and emitter.unit.has_bulk_copies:
        b, view = emitter.builder, emitter.view
        synchronization.note_wait(b, view.machine, linear_thread(b, view, emitter.thread))


def note_fence(emitter: Services, instruction: Instruction) -> None:
    """Tell of a fence. One between proxies orders the accesses of its thread for asynchronous copies alone."""
    words = instruction.modifiers
    if emitter.epoch is None:
        return
    b = emitter.builder
    fenced = _fenced_for_copies(words)
    if fenced & layout.OF_SHARED:
        synchronization.note_proxy_fence(b, emitter.view.machine, linear_thread(b, emitter.view, emitter.thread))
    if fenced:
        note_order(emitter, layout.PROXY_FENCE, i64(0), fenced)
    if "proxy" in words:
        return
    scope = layout.SCOPES[modifier_among(instruction, layout.SCOPES, "sys")]
    if emitter.unit.clustered and scope != layout.SCOPES["cta"]:
        happens_before.note_fence(b, emitter.view.machine, linear_thread(b, emitter.view, emitter.thread))
    if "mbarrier_init" not in words:
        note_order(emitter, layout.FENCE, i64(0), scope)


def _fenced_for_copies(words: tuple[str, ...]) -> int:
    """Bits of `layout.OF_SHARED` …: what a fence shows to asynchronous copies. PTX ISA manual, 9.7.13.4 "fence".

    Args:
        words: its modifiers.
    """
    if "mbarrier_init" in words:
        return layout.OF_INITS
    text = ".".join(words)
    if "proxy.async" not in text or "acquire" in words:
        return 0  # an acquire shows what copies have written to the thread, not the other way round
    if "async.global" in text:
        return layout.OF_GLOBAL
    of_shared = layout.OF_SHARED | layout.OF_INITS
    return of_shared if "shared" in text else of_shared | layout.OF_GLOBAL


def note_initialization(emitter: Services, instruction: Instruction, pointer: ir.Value) -> None:
    """Tell of an mbarrier's initialization, which a copy that signals it has to see.

    libcu++'s `cuda::barrier` and CUB have no fence after theirs, and need none on the hardware that there is
    (github.com/NVIDIA/cccl, pull request 5102). The programming guide and CUTLASS have one in other code.

    Args:
        emitter: the function's.
        instruction: the mbarrier.init.
        pointer: host pointer to the mbarrier.
    """
    line = instruction.source
    in_library = line is not None and any(_OWN_BARRIERS.search(path) for path, *_ in line.inner)
    if emitter.unit.has_bulk_copies and not in_library:
        site = emitter.unit.site(instruction)
        note_order(emitter, layout.INITIALIZES, emitter.builder.ptrtoint(pointer, I64), 0, site=site)


def note_cluster_arrival(emitter: Services, steps: ir.Value, *, releases: bool) -> None:
    """Tell of an arrival at the cluster's barrier.

    Args:
        emitter: the function's.
        steps: the thread's arrivals and waits there before, i32.
        releases: whether the arrival releases what the thread did.
    """
    if emitter.epoch is not None:
        b, number = emitter.builder, linear_thread(emitter.builder, emitter.view, emitter.thread)
        flag = ir.Constant(I1, releases)
        happens_before.arrival(b, emitter.view.machine, number, steps, flag)
        begin_epoch(b, emitter)


def note_cluster_passage(emitter: Services, steps: ir.Value) -> None:
    """Tell of a wait at the cluster's barrier that is over.

    Args:
        emitter: the function's.
        steps: the thread's arrivals and waits there before, i32.
    """
    if emitter.epoch is not None:
        b, number = emitter.builder, linear_thread(emitter.builder, emitter.view, emitter.thread)
        happens_before.passage(b, emitter.view.machine, number, steps)
