"""A shadow cell as the check of an access sees it, and where cells are."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.builder import structured
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import I64, POINTER, at, element, i64
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, GATHER, REGION_SHIFT, SLOT_BITS

CLUSTER = "cluster"
"""The shared memory of a cluster's blocks, which has cells of its own rules: a name beside those of state spaces."""


class ShadowPlace(Record):
    """An access as its check sees it.

    Attributes:
        machine: the launch's.
        plane: the distance from a cell's first plane to its second one.
        address: of the access.
        epoch: its own.
        oldest: epochs before it are ordered by the launch, or of another block's shared memory.
        turn: the first epoch of the block's turn.
        open: the first epoch after the last barrier of all its threads; not before `turn`.
        space: `shared`, `global` or `CLUSTER`.
        cells: the address of the first cell of the space, or of the region, i64.
    """

    machine: ir.Value
    plane: ir.Value
    address: ir.Value
    epoch: ir.Value
    oldest: ir.Value
    turn: ir.Value
    open: ir.Value
    space: str
    cells: ir.Value | None = None

    def of_thread(self, epoch: ir.Value) -> ShadowPlace:
        """The same place for an epoch of another thread."""
        return replace(self, epoch=epoch)

    def at_address(self, address: ir.Value) -> ShadowPlace:
        """The same access at another address."""
        return replace(self, address=address)

    def reader(self, b: ir.IRBuilder) -> ir.Value:
        """The epoch of the access as a reader: without its scope, whose bits tell of other readers."""
        level, flag = b.and_(self.epoch, i64(layout.STRONG | layout.LEVEL_MASK)), i64(0)
        for scope, flags in (("cta", layout.NARROW), ("cluster", layout.NARROW | layout.OF_CLUSTER)):
            is_narrow = b.icmp_unsigned("==", level, i64(layout.STRONG | layout.SCOPES[scope] << layout.LEVEL_SHIFT))
            flag = b.select(is_narrow, i64(flags), flag)
        return b.or_(b.and_(self.epoch, i64(~layout.LEVEL_MASK)), flag)

    def block(self, b: ir.IRBuilder) -> ir.Value:
        """The state of the running block."""
        return field(b, self.machine, "block_checks", POINTER)

    def is_old(self, b: ir.IRBuilder, other: ir.Value) -> ir.Value:
        """Whether an epoch is of an earlier launch, or before the block's last barrier."""
        if self.space == "shared":
            return b.icmp_unsigned("<", other, self.open)
        recent = b.icmp_unsigned("<", b.sub(other, self.turn), b.sub(self.open, self.turn))
        return b.or_(b.icmp_unsigned("<", other, self.oldest), recent)

    def is_all_old(self, b: ir.IRBuilder, other: ir.Value) -> ir.Value:
        """Whether an epoch, and so each one before it, is ordered before the access by launch, block or barrier.

        In memory of several blocks a barrier orders only what its own block did.
        """
        return b.icmp_unsigned("<", other, self.open if self.space == "shared" else self.oldest)

    def is_of_thread(self, b: ir.IRBuilder, other: ir.Value) -> ir.Value:
        """Whether an epoch is of the same thread in this turn of the block."""
        same = b.icmp_unsigned("==", b.and_(b.xor(other, self.epoch), i64(layout.THREAD_MASK)), i64(0))
        return b.and_(same, b.icmp_unsigned(">=", other, self.turn))

    def is_ordered(self, b: ir.IRBuilder, other: ir.Value) -> ir.Value:
        """Whether an epoch is ordered before the access, as far as that is quick to tell."""
        return b.or_(self.is_old(b, other), self.is_of_thread(b, other))


def shadow_place(
    b: ir.IRBuilder, machine: ir.Value, plane: ir.Value, address: ir.Value, epoch: ir.Value, space: str
) -> ShadowPlace:
    """The place of an access; see the attributes of `ShadowPlace`."""
    block, launch = field(b, machine, "block_checks", POINTER), field(b, machine, "checks", POINTER)
    names = ("start", "open") if space == "shared" else ("turn", "quick")
    turn, open_ = (load_word(b, block, layout.BLOCK[name]) for name in names)
    oldest = turn
    if space == CLUSTER:
        oldest = load_word(b, owner(b, machine, address), layout.BLOCK["start"])
    elif space != "shared":
        oldest = load_word(b, launch, layout.LAUNCH["oldest"])
    return ShadowPlace(
        machine=machine, plane=plane, address=address, epoch=epoch, oldest=oldest, turn=turn, open=open_, space=space
    )


def owner(b: ir.IRBuilder, machine: ir.Value, address: ir.Value) -> ir.Value:
    """The state of the block of the cluster whose shared memory an address is in."""
    states = field(b, machine, "cluster_checks", POINTER)
    return b.load(element(b, states, b.lshr(address, i64(CLUSTER_SHIFT)), I64), typ=POINTER)


def has_flags(b: ir.IRBuilder, tagged: ir.Value, flags: int) -> ir.Value:
    """Whether a region's word has all of some flags."""
    return b.icmp_unsigned("==", b.and_(tagged, i64(flags)), i64(flags))


def region_row(b: ir.IRBuilder, launch: ir.Value, address: ir.Value) -> ir.Value:
    """A pointer to the row of the region whose slot holds an address."""
    slot = b.lshr(address, i64(REGION_SHIFT))
    number = b.and_(b.mul(slot, i64(GATHER)), i64((1 << SLOT_BITS) - 1))
    table = b.inttoptr(load_word(b, launch, layout.LAUNCH["shadow"]), POINTER)
    return at(b, table, b.shl(number, i64(layout.SHADOW_SHIFT)))


def load_word(b: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
    """Load a 64-bit word of a record."""
    return b.load(at(b, base, offset), typ=I64)


# --- cell access ------------------------------------------------------------------------------------------------------
# An access to memory as its check is built.

READ, WRITE = "read", "write"


class CellAccess(Record):
    """What is known of an access when its check is built.

    Attributes:
        action: `READ`, `WRITE`; an atomic operation is a strong `WRITE`.
        is_strong: whether it is atomic, volatile or ordered.
        reads: whether it also reads what it writes.
        count: bytes.
        is_incoherent: whether it reads through a cache that sees no writes of its launch.
    """

    action: str
    is_strong: bool
    reads: bool
    count: int
    is_incoherent: bool = False

    def name(self, space: str) -> str:
        """The name of the subroutine for a state space."""
        words = [self.action, space or "generic", str(self.count)]
        flags = (("strong", self.is_strong), ("reading", self.reads), ("incoherent", self.is_incoherent))
        return ".".join(["check", *words, *(flag for flag, holds in flags if holds)])


subroutine = partial(structured.subroutine, attributes=("noinline",))
"""A private function of a module that the dynamic checks call."""
