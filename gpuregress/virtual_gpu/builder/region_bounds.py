"""Bounds of memory regions, loaded once before the threads of a block run."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.address_resolution import field, region_row
from gpuregress.virtual_gpu.builder.structured import I32, I64, POINTER, at, i64
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.ptx.modifiers import byte_size
from gpuregress.virtual_gpu.ptx.tree import Variable
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_WINDOW, SHARED_WINDOW


class RegionBounds(Record):
    """A stretch of memory that an access may be in.

    Attributes:
        base: its first address, i32 or i64 as the access computes it.
        host: a pointer to its first byte.
        size: bytes, i64.
    """

    base: ir.Value
    host: ir.Value
    size: ir.Value


class MachineView:
    """The machine as one LLVM function sees it; everything is loaded once, in the function's first block.

    Args:
        unit: the module.
        machine: pointer to the `Machine`.
        entry: a builder in the first block, which stays open until the function is done.
        clustered: whether it may run in a cluster of several blocks.

    Attributes:
        known: what other modules have loaded there, by their keys.
    """

    def __init__(self, unit: Unit, machine: ir.Value, entry: ir.IRBuilder, *, clustered: bool = False) -> None:
        self.unit, self.clustered = unit, clustered
        self.machine = machine
        self.entry = entry
        self.known: dict[tuple[object, ...], object] = {}
        self._fields: dict[tuple[str, ir.Type], ir.Value] = {}
        self._limits: dict[tuple[int, int, int], ir.Value] = {}
        self._symbols: dict[str, tuple[ir.Value, ir.Value]] = {}
        self._parameters: dict[int, RegionBounds] = {}
        self._shared: dict[tuple[tuple[str, str], ir.Type, bool], RegionBounds] = {}

    def field(self, name: str, type_: ir.Type = I64) -> ir.Value:
        """A field that does not change during the launch."""
        key = (name, type_)
        if key not in self._fields:
            self._fields[key] = field(self.entry, self.machine, name, type_)
            if type_ == I32:
                # The end is not of the range; 2^31, after the longest grid, is -2^31 as a signed number.
                end = 1025 if name.startswith("block_") else -(2**31)
                bounds = [ir.Constant(I32, 1), ir.Constant(I32, end)]
                metadata = self.unit.module.add_metadata(bounds)
                self._fields[key].set_metadata("range", metadata)
        return self._fields[key]

    def pointer(self, name: str) -> ir.Value:
        """A field that is a host pointer."""
        return self.field(name, POINTER)

    def limit(self, region: RegionBounds, size: int, type_: ir.Type) -> ir.Value:
        """Return the number of aligned accesses of `size` bytes that fit into a region."""
        if isinstance(region.size, ir.Constant):
            return ir.Constant(type_, region.size.constant // size)
        if region.size.parent is not self.entry.block:
            raise AssertionError("a limit is looked up in the first block")
        key = (id(region.size), size, type_.width)
        if key not in self._limits:
            count = self.entry.lshr(region.size, i64(size.bit_length() - 1))
            self._limits[key] = self.entry.trunc(count, type_) if type_ != I64 else count
        return self._limits[key]

    def symbol(self, name: str) -> tuple[ir.Value, ir.Value]:
        """A module variable's address and host pointer."""
        if name not in self._symbols:
            entry = at(self.entry, self.pointer("symbols"), 16 * self.unit.symbol_numbers[name])
            address = self.entry.load(entry, typ=I64)
            self._symbols[name] = (address, self.entry.load(at(self.entry, entry, 8), typ=POINTER))
        return self._symbols[name]

    def symbol_region(self, name: str) -> RegionBounds:
        """A module variable."""
        address, host = self.symbol(name)
        return RegionBounds(address, host, i64(byte_size(self.unit.variables[name])))

    def parameter_region(self, offset: int) -> RegionBounds:
        """The region that the pointer at a byte of the kernel's parameters points into."""
        if offset not in self._parameters:
            entry = self.entry
            value = entry.load(at(entry, self.pointer("params"), offset), typ=I64, align=1)
            self._parameters[offset] = self.table_region(entry, value)
        return self._parameters[offset]

    def table_region(self, builder: ir.IRBuilder, address: ir.Value) -> RegionBounds:
        """Return the bounds of the region that an address points into, looked up at the builder's position."""
        row = region_row(builder, address, self.pointer("table"), self.field("table_count"))
        host = builder.load(row, typ=POINTER)
        size = builder.load(at(builder, row, 8), typ=I64)
        # The first address is loaded, not worked out: LLVM would take it apart again at every access.
        return RegionBounds(builder.load(at(builder, row, 16), typ=I64), host, size)

    def shared_region(self, key: tuple[str, str], type_: ir.Type, *, generic: bool) -> RegionBounds:
        """A shared variable, as 32- or 64-bit addresses in its window, or as generic ones."""
        asked = (key, type_, generic)
        if asked not in self._shared:
            start = self.unit.shared_starts[key]
            variable: Variable = self.unit.shared[key]
            size = self.field("dynamic_size") if variable.count is None else i64(byte_size(variable))
            base = self._own_shared(start + (SHARED_WINDOW if generic else 0), type_)
            self._shared[asked] = RegionBounds(base, at(self.entry, self.pointer("shared"), start), size)
        return self._shared[asked]

    def _own_shared(self, address: int, type_: ir.Type) -> ir.Value:
        """An address of the first block's shared memory as it is in this block's."""
        if not self.clustered:
            return ir.Constant(type_, address)
        moved = self.entry.add(self.field("shared_base"), i64(address))
        return self.entry.trunc(moved, type_) if type_ != I64 else moved


def local_region(
    builder: ir.IRBuilder, start: ir.Value, host: ir.Value, size: int, type_: ir.Type, *, generic: bool
) -> RegionBounds:
    """A local variable: `start` is its 64-bit address in the window, `host` the thread's local memory."""
    base = builder.add(start, i64(LOCAL_WINDOW)) if generic else start
    return RegionBounds(base if type_ == I64 else builder.trunc(base, type_), at(builder, host, start), i64(size))
