"""Flags of the regions that a kernel's pointers lead to, loaded once before its threads run."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.builder.types import I64, POINTER
from gpuregress.virtual_gpu.checks.cells.shadow_place import has_flags, load_word, region_row
from gpuregress.virtual_gpu.ptx.tree import Address
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT


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
        is_quiet,
        is_race_free,
        quiet_slot,
        slot,
        (tagged, load_word(b, row, 8)),
        b.and_(tagged, i64(~layout.REGION_FLAGS)),
        b.select(is_race_free, i64(-1), load_word(b, launch, layout.LAUNCH["oldest"])),
        has_flags(b, tagged, layout.FILLED),
    )


def is_quiet_address(b: ir.IRBuilder, flags: RegionFlags, address: ir.Value) -> ir.Value:
    """Whether an address, i64, lies in a region that is quiet."""
    assert address.type == I64
    return b.icmp_unsigned("==", b.lshr(address, i64(REGION_SHIFT)), flags.quiet_slot)
