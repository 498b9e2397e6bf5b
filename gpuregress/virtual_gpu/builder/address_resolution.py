"""Address resolution with full checks: from a device address to a host pointer, or a fault."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.heap import held_memory
from gpuregress.virtual_gpu.builder.structured import I1, I64, POINTER, Cell, at, counted, i64
from gpuregress.virtual_gpu.runtime.machine_layout import (
    CLUSTER_SHIFT,
    FAULT_ACCESS,
    FAULT_FAR,
    GATHER,
    LOCAL_START,
    LOCAL_WINDOW,
    OFFSETS,
    PARAM_WINDOW,
    REGION_SHIFT,
    SHARED_WINDOW,
    SLOT_BITS,
    TABLE_SHIFT,
)

WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def field(builder: ir.IRBuilder, machine: ir.Value, name: str, type_: ir.Type = I64) -> ir.Value:
    """Load a field of the machine."""
    return builder.load(at(builder, machine, OFFSETS[name]), typ=type_, align=8)


def is_stopped(builder: ir.IRBuilder, machine: ir.Value) -> ir.Value:
    """Whether another thread of the process has stopped the launch: a load that LLVM does not move out of a loop."""
    pointer = at(builder, machine, OFFSETS["stop"])
    return builder.icmp_unsigned("!=", builder.load_atomic(pointer, "monotonic", 8, typ=I64), i64(0))


def set_field(builder: ir.IRBuilder, machine: ir.Value, name: str, value: ir.Value) -> None:
    """Store a 64-bit field of the machine."""
    builder.store(value, at(builder, machine, OFFSETS[name]), align=8)


def region_row(builder: ir.IRBuilder, address: ir.Value, table: ir.Value, count: ir.Value) -> ir.Value:
    """Return the table row of the region whose slot holds an address; row 0, which is empty, where there is none."""
    slot = builder.lshr(address, i64(REGION_SHIFT))
    number = builder.and_(builder.mul(slot, i64(GATHER)), i64((1 << SLOT_BITS) - 1))
    number = builder.select(builder.icmp_unsigned("<", number, count), number, i64(0))
    return at(builder, table, builder.shl(number, i64(TABLE_SHIFT)))


def build_resolve(
    module: ir.Module,
    shared: list[tuple[int, int]],
    dynamic_start: int,
    *,
    clustered: bool = False,
    has_local_gaps: bool = False,
) -> ir.Function:
    """Build `resolve(machine, local, address, size, site) → host pointer or null`.

    `address` is generic, `size` a power of two and also the alignment; `local` is the thread's local memory.

    Args:
        module: where it is built.
        shared: each shared variable's (address, bytes).
        dynamic_start: where the dynamic shared memory starts.
        clustered: look in the other blocks' shared memory, too.
        has_local_gaps: whether a kernel has gaps between its local variables.
    """
    function = _declared(module, "resolve")
    machine, local, address, size, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    search = _Search(builder, address, size)
    if clustered:
        search.cluster(machine, shared, dynamic_start)
    else:
        shared_host = builder.inttoptr(field(builder, machine, "shared"), POINTER)
        for start, count in shared:
            search.window(SHARED_WINDOW, i64(start), i64(count), shared_host)
        search.window(SHARED_WINDOW, i64(dynamic_start), field(builder, machine, "dynamic_size"), shared_host)
    if has_local_gaps:
        search.local(machine, local)
    else:
        search.window(LOCAL_WINDOW, i64(LOCAL_START), field(builder, machine, "local_size"), local)
    params = builder.inttoptr(field(builder, machine, "params"), POINTER)
    search.window(PARAM_WINDOW, i64(0), field(builder, machine, "params_size"), params)
    search.table(machine)
    _fail(builder, FAULT_ACCESS, function)
    return function


def build_resolve_own(module: ir.Module, resolve: ir.Function) -> ir.Function:
    """Build `resolve_own`, with the arguments of `resolve`, for accesses that reach the own block's memory only."""
    function = _declared(module, "resolve_own")
    machine, _, address, _, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rank = builder.lshr(builder.sub(address, i64(SHARED_WINDOW)), i64(CLUSTER_SHIFT))
    with builder.if_then(builder.icmp_unsigned("==", rank, field(builder, machine, "cluster_rank"))):
        builder.ret(builder.call(resolve, function.args))
    _fail(builder, FAULT_FAR, function)
    return function


def build_resolve_in(module: ir.Module, resolve: ir.Function, space: str) -> ir.Function:
    """Build `resolve_SPACE`, with the arguments of `resolve`, for accesses that name their state space.

    A GPU does not find shared memory by `ld.global`, nor global memory by `ld.shared`.
    """
    function = _declared(module, f"resolve_{space}")
    _, _, address, _, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with builder.if_then(in_space(builder, address, space)):
        builder.ret(builder.call(resolve, function.args))
    _fail(builder, FAULT_ACCESS, function)
    return function


def in_space(builder: ir.IRBuilder, address: ir.Value, space: str) -> ir.Value:
    """Whether a generic address lies in a window, or in none: then it is global. PTX ISA manual, 5.1 "State Spaces"."""
    slot = builder.lshr(address, i64(REGION_SHIFT))
    if space in WINDOWS:
        return builder.icmp_unsigned("==", slot, i64(WINDOWS[space] >> REGION_SHIFT))
    is_global: ir.Value = ir.Constant(I1, 1)
    for window in WINDOWS.values():
        is_global = builder.and_(is_global, builder.icmp_unsigned("!=", slot, i64(window >> REGION_SHIFT)))
    return is_global


def _declared(module: ir.Module, name: str) -> ir.Function:
    function = ir.Function(module, ir.FunctionType(POINTER, (POINTER, POINTER, I64, I64, I64)), name)
    function.linkage = "internal"
    for attribute in ("noinline", "cold", "nounwind"):
        function.attributes.add(attribute)
    return function


def _fail(builder: ir.IRBuilder, kind: int, function: ir.Function) -> None:
    machine, _, address, _, site = function.args
    set_field(builder, machine, "fault_kind", i64(kind))
    set_field(builder, machine, "fault_site", site)
    set_field(builder, machine, "fault_address", address)
    builder.ret(ir.Constant(POINTER, None))


class _Search:
    def __init__(self, builder: ir.IRBuilder, address: ir.Value, size: ir.Value) -> None:
        self._builder = builder
        self._address = address
        self._size = size
        ones = builder.sub(size, i64(1))
        self._aligned = builder.icmp_unsigned("==", builder.and_(address, ones), i64(0))

    def window(self, base: int, start: ir.Value, count: ir.Value, host: ir.Value) -> None:
        """Return the host pointer if the access lies within `count` bytes from `start` of a window."""
        offset = self._builder.sub(self._address, i64(base))
        self._return_if_inside(self._builder.sub(offset, start), count, at(self._builder, host, offset))

    def local(self, machine: ir.Value, local: ir.Value) -> None:
        """Return the host pointer if the access lies in local memory, and not between two variables of the kernel."""
        builder = self._builder
        first = builder.sub(self._address, i64(LOCAL_WINDOW))
        end = builder.add(first, self._size)
        table = builder.inttoptr(field(builder, machine, "local_gaps"), POINTER)
        is_in_gap = Cell(builder, ir.Constant(I1, 0))
        with counted(builder, field(builder, machine, "local_gap_count")) as number:
            row = at(builder, table, builder.shl(number, i64(4)))
            is_behind_start = builder.icmp_unsigned(">", end, builder.load(row, typ=I64))
            is_before_end = builder.icmp_unsigned("<", first, builder.load(at(builder, row, 8), typ=I64))
            is_in_gap.set(builder.or_(is_in_gap.get(), builder.and_(is_behind_start, is_before_end)))
        with builder.if_then(builder.not_(is_in_gap.get())):
            self.window(LOCAL_WINDOW, i64(LOCAL_START), field(builder, machine, "local_size"), local)

    def cluster(self, machine: ir.Value, shared: list[tuple[int, int]], dynamic_start: int) -> None:
        """Return the host pointer if the access lies in a shared variable of a block that is there."""
        builder = self._builder
        offset = builder.sub(self._address, i64(SHARED_WINDOW))
        rank = builder.lshr(offset, i64(CLUSTER_SHIFT))
        with builder.if_then(builder.icmp_unsigned("<", rank, field(builder, machine, "cluster_count"))):
            table = builder.inttoptr(field(builder, machine, "cluster_shared"), POINTER)
            host = builder.load(at(builder, table, builder.shl(rank, i64(3))), typ=POINTER)
            inside = builder.and_(offset, i64((1 << CLUSTER_SHIFT) - 1))
            with builder.if_then(builder.icmp_unsigned("!=", host, ir.Constant(POINTER, None))):
                ranges = [(start, i64(count)) for start, count in shared]
                for start, count in (*ranges, (dynamic_start, field(builder, machine, "dynamic_size"))):
                    self._return_if_inside(builder.sub(inside, i64(start)), count, at(builder, host, inside))

    def table(self, machine: ir.Value) -> None:
        """Return the host pointer if the access lies within a region of the table."""
        builder = self._builder
        table = builder.inttoptr(field(builder, machine, "table"), POINTER)
        row = region_row(builder, self._address, table, field(builder, machine, "table_count"))
        host = builder.load(row, typ=POINTER)
        count = builder.load(at(builder, row, 8), typ=I64)
        offset = builder.sub(self._address, builder.load(at(builder, row, 16), typ=I64))
        self._return_if_inside(offset, count, at(builder, host, offset))
        heap_class = builder.load(at(builder, row, 24), typ=POINTER)
        with builder.if_then(builder.icmp_unsigned("!=", heap_class, ir.Constant(POINTER, None)), likely=False):
            self._return_if_inside(*held_memory(builder, heap_class, self._address))

    def _return_if_inside(self, offset: ir.Value, count: ir.Value, host: ir.Value) -> None:
        builder = self._builder
        # count - size would underflow where the region is smaller than the access.
        fits = builder.icmp_unsigned(">=", count, self._size)
        inside = builder.icmp_unsigned("<=", offset, builder.sub(count, self._size))
        with builder.if_then(builder.and_(builder.and_(fits, inside), self._aligned)):
            builder.ret(host)
