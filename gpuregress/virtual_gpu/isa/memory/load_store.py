"""Lowering of loads and stores, and the notes of exchanges between lanes through memory."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.effects import registers_read
from gpuregress.virtual_gpu.analysis.pointers import Provenance
from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.region_bounds import RegionBounds, local_region
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I8,
    I32,
    I64,
    POINTER,
    at,
    call_intrinsic,
    convert,
    i64,
    llvm_type,
    private_function,
    subroutine,
    width,
)
from gpuregress.virtual_gpu.builder.threads import dimension, linear_thread
from gpuregress.virtual_gpu.checks import local_notes
from gpuregress.virtual_gpu.checks.access_notes import UNSHARED, AccessNote, flags_of, note_access
from gpuregress.virtual_gpu.checks.program_facts import commuting_kind, is_volatile_shared, variable_of
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, lanes, size, space_of, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol, elements
from gpuregress.virtual_gpu.runtime.machine_layout import EXCHANGE_ENTRIES, EXCHANGE_SHIFT, LOCAL_WINDOW, SHARED_WINDOW

# --- loads and stores -------------------------------------------------------------------------------------------------


_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
_LIKELY, _UNLIKELY = 4000, 1


class MemoryAccess(Record):
    """An access to memory, as checks and faults describe it.

    Attributes:
        instruction: named in the fault.
        address: `[base + offset]`.
        space: "" for a generic address.
        count: bytes; a power of two, also the alignment.
        action: `read`, `write` or `atomic access`.
    """

    instruction: Instruction
    address: Address
    space: str
    count: int
    action: str


def host_pointer(emitter: Services, access: MemoryAccess, *, is_watched: bool = True) -> ir.Value:
    """A checked host pointer; a failed check ends in a fault.

    Args:
        emitter: the function's.
        access: what the instruction does.
        is_watched: whether the dynamic checks see the access here.
    """
    pointer = _host_pointer(emitter, access)
    if emitter.unit.watches_local and access.space in ("local", ""):
        _note_local(emitter, access, pointer)
    if is_watched:
        watch_access(emitter, access)
    return pointer


def _note_local(emitter: Services, access: MemoryAccess, pointer: ir.Value) -> None:
    """Show an access to the checks of local memory, if it is one to that."""
    note = AccessNote(access.instruction, access.action, "local", access.count, access_site(emitter, access))
    if access.space == "local":
        local_notes.note(emitter, note, pointer)
    elif emitter.proven_pointer(access.address, access.count) is None:
        address = address_value(emitter, access.address)
        local_notes.note_generic(emitter, note, _generic(emitter.builder, address, ""), pointer)


def watch_access(
    emitter: Services, access: MemoryAccess, *, same: Callable[[], ir.Value] | None = None, orders: bool = True
) -> None:
    """Show an access to the dynamic checks, where there are any.

    Args:
        emitter: the function's.
        access: what the instruction does.
        same: builds whether memory holds what is written already, i1.
        orders: whether it may order other accesses itself.
    """
    if emitter.unit.granules is None or access.space in UNSHARED or is_watched_in_row(emitter, access):
        return
    instruction, kind = access.instruction, emitter.unit.commuting
    if not orders:
        commutes = access.action == "atomic access"
    else:
        commutes = bool(kind) and commuting_kind(instruction, registers_read(emitter.flow.statements)) == kind
    variables = emitter.unit.volatile_data
    note = AccessNote(
        instruction=instruction,
        action=access.action,
        space=access.space,
        count=access.count,
        site=access_site(emitter, access),
        commutes=commutes,
        orders=orders,
        is_data=is_volatile_shared(instruction) and variable_of(emitter.provenance, access.address) in variables,
    )
    flags = flags_of(emitter, access.address) if access.space in ("", "global") else None
    address, live_if = address_value(emitter, access.address), instruction.live_if
    if not live_if:
        note_access(emitter, note, address, same, flags)
        return
    with emitter.builder.if_then(emitter.read(Register(live_if), "pred")):
        note_access(emitter, note, address, same, flags)


def is_watched_in_row(emitter: Services, access: MemoryAccess) -> bool:
    """Whether the dynamic checks have examined an access together with those of the threads beside."""
    return emitter.proven.is_watched and emitter.proven_pointer(access.address, access.count) is not None


def _host_pointer(emitter: Services, access: MemoryAccess) -> ir.Value:
    address, space, count = access.address, access.space, access.count
    version = emitter.version(address.base.name) if isinstance(address.base, Register) else 0
    proven = emitter.proven_pointer(address, count)
    if proven is not None:
        return proven
    key = (space, address, version, count, access.action if space == "const" else "")
    known = emitter.known_pointer(key)
    if known is None:
        known = _check(emitter, access)
        emitter.remember_pointer(key, known)
    return known


def _check(emitter: Services, access: MemoryAccess) -> ir.Value:
    space = access.space
    fixed = _fixed(emitter, access)
    if fixed is not None:
        return fixed
    value = address_value(emitter, access.address)
    region = guessed_region(emitter, access.address, space, value.type)
    if region is not None and region.base.type == value.type:
        return _checked(emitter, access, value, region)
    if emitter.proven.escape is not None:
        return _fleeing(emitter, emitter.proven.escape)
    # No usable region. Only arrays of global memory are in the table.
    if space in _WINDOWS:
        return _resolved(emitter, _resolve(emitter, emitter.builder, access, value))
    value = _generic(emitter.builder, value, space)
    return _checked(emitter, access, value, emitter.array_region(value))


def _fixed(emitter: Services, access: MemoryAccess) -> ir.Value | None:
    """The pointer of an access to a variable at a constant offset that is inside it and aligned; else None."""
    base, space, count = access.address.base, access.space, access.count
    if not isinstance(base, Symbol) or emitter.view.clustered:
        return None
    shared = emitter.unit.shared_key(emitter.function.name, base.name)
    if shared is not None:
        variable, is_named = emitter.unit.shared[shared], space == "shared"
    elif base.name in emitter.unit.symbol_numbers and base.name not in emitter.frame.local_offsets:
        variable = emitter.unit.variables[base.name]
        is_named = space in ("", variable.space)
    else:
        return None
    offset = base.offset + access.address.offset
    if not is_named or variable.count is None or offset % count or not 0 <= offset <= byte_size(variable) - count:
        return None
    view = emitter.view
    region = view.symbol_region(base.name) if shared is None else view.shared_region(shared, I32, generic=False)
    return at(emitter.builder, region.host, offset)


def _resolve(emitter: Services, builder: ir.IRBuilder, access: MemoryAccess, value: ir.Value) -> ir.Value:
    """Look an address up in all regions of its state space."""
    machine, local, generic = emitter.view.machine, emitter.thread.local, _generic(builder, value, access.space)
    site = i64(access_site(emitter, access))
    return builder.call(
        slow_resolve(emitter, access.instruction, access.space), (machine, local, generic, i64(access.count), site)
    )


def access_site(emitter: Services, access: MemoryAccess) -> int:
    """The number of an access's site, by which a fault names the instruction."""
    buffer = _buffer(emitter.provenance.of(access.address.base))
    return emitter.unit.site(access.instruction, access.action, access.space, access.count, buffer)


def slow_resolve(emitter: Services, instruction: Instruction, space: str) -> ir.Function:
    """The function that looks an address up in all regions of its state space."""
    if space == "shared" and emitter.view.clustered and "shared::cluster" not in instruction.modifiers:
        return emitter.unit.resolve_own
    return emitter.unit.resolve_in(space)


def _checked(emitter: Services, access: MemoryAccess, value: ir.Value, region: RegionBounds) -> ir.Value:
    """The check against one region, with a look-up in all regions if it fails."""
    limit = _limit(emitter, region, access.count, value.type)
    if emitter.proven.escape is not None:
        offset, inside = _inside(emitter.builder, access.count, value, region.base, limit)
        near = emitter.builder.append_basic_block("near")
        emitter.builder.cbranch(inside, near, emitter.proven.escape).set_weights([_LIKELY, _UNLIKELY])
        emitter.builder.position_at_end(near)
        return _behind(emitter.builder, region.host, offset)
    if not emitter.unit.schedule.is_optimised:
        return _resolved(emitter, _called(emitter, access, value, (region.base, limit, region.host)))
    builder = emitter.builder
    offset, inside = _inside(builder, access.count, value, region.base, limit)
    fast, slow, after = (builder.append_basic_block(word) for word in ("fast", "slow", "after"))
    builder.cbranch(inside, fast, slow).set_weights([_LIKELY, _UNLIKELY])
    quick = ir.IRBuilder(fast)
    near = _behind(quick, region.host, offset)
    quick.branch(after)
    cold = ir.IRBuilder(slow)
    far = _resolve(emitter, cold, access, value)
    lost = cold.icmp_unsigned("==", far, ir.Constant(POINTER, None))
    cold.cbranch(lost, emitter.fault_block, after).set_weights([1, 1])
    builder.position_at_end(after)
    pointer = builder.phi(POINTER)
    pointer.add_incoming(near, fast)
    pointer.add_incoming(far, slow)
    return pointer


def _fleeing(emitter: Services, escape: ir.Block) -> ir.Value:
    """The pointer of an access whose region is not known: the thread always leaves."""
    emitter.builder.branch(escape)
    emitter.builder.position_at_end(emitter.builder.append_basic_block("never"))
    return ir.Constant(POINTER, None)


def _inside(
    builder: ir.IRBuilder, count: int, value: ir.Value, base: ir.Value, limit: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """An address's offset into a region, and whether an access there is inside and aligned."""
    offset = builder.sub(value, base)
    shift = ir.Constant(value.type, count.bit_length() - 1)
    rotated = offset
    if count > 1:
        rotated = call_intrinsic(builder, f"llvm.fshr.i{value.type.width}", value.type, offset, offset, shift)
    return offset, builder.icmp_unsigned("<", rotated, limit)


def _behind(builder: ir.IRBuilder, host: ir.Value, offset: ir.Value) -> ir.Value:
    return at(builder, host, convert(builder, offset, I64))


def _called(
    emitter: Services, access: MemoryAccess, value: ir.Value, bounds: tuple[ir.Value, ir.Value, ir.Value]
) -> ir.Value:
    """The check as a call: much less code to compile where it is not worth running fast.

    Args:
        emitter: the function's.
        access: the access.
        value: its address.
        bounds: the region's first address, the number of accesses that fit, and a host pointer; constants become
            part of the subroutine.
    """
    space, count = access.space, access.count
    slow_way = slow_resolve(emitter, access.instruction, space)
    fixed = [item.constant if isinstance(item, ir.Constant) else None for item in bounds]
    passed = [item for item in bounds if not isinstance(item, ir.Constant)]
    arguments = (emitter.view.machine, emitter.thread.local, i64(access_site(emitter, access)), value, *passed)
    types = tuple(item.type for item in arguments)
    name = ".".join(map(str, ("access", slow_way.name, value.type, count, *fixed)))

    def among(given: tuple[ir.Value, ...]) -> list[ir.Value]:
        values, parameters = list(bounds), iter(given[4:])
        for position, item in enumerate(bounds):
            if not isinstance(item, ir.Constant):
                values[position] = next(parameters)
        return values

    def near(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        base, _, host = among(given)
        return _behind(b, host, b.sub(given[3], base))

    def far(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        machine, local, site, address, *_ = given
        return b.call(slow_way, (machine, local, _generic(b, address, space), i64(count), site))

    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        # One block, so that no argument is stored: the stack of this many calls would alias the caller's.
        base, limit, _ = among(given)
        _, inside = _inside(b, count, given[3], base, limit)
        near_way = private_function(b.module, f"{name}.near", POINTER, types, near)
        far_way = private_function(b.module, f"{name}.far", POINTER, types, far)
        return b.call(b.select(inside, near_way, far_way), given, tail="musttail")

    return emitter.builder.call(private_function(emitter.module, name, POINTER, types, build), arguments)


def _resolved(emitter: Services, pointer: ir.Value) -> ir.Value:
    """A pointer that a look-up found; null is a fault."""
    builder = emitter.builder
    lost, resolved = (
        builder.icmp_unsigned("==", pointer, ir.Constant(POINTER, None)),
        builder.append_basic_block("found"),
    )
    branch = builder.cbranch(lost, emitter.fault_block, resolved)
    if emitter.unit.schedule.is_optimised:
        branch.set_weights([_UNLIKELY, _LIKELY])
    builder.position_at_end(resolved)
    return pointer


def _limit(emitter: Services, region: RegionBounds, count: int, type_: ir.Type) -> ir.Value:
    view = emitter.view
    if isinstance(region.size, ir.Constant) or region.size.parent is view.entry.block:
        return view.limit(region, count, type_)
    return convert(emitter.builder, emitter.builder.lshr(region.size, i64(count.bit_length() - 1)), type_)


def address_value(emitter: Services, address: Address) -> ir.Value:
    """The address in its own state space, i32 or i64."""
    base = address.base
    if isinstance(base, Integer):
        return i64(base.value + address.offset)
    if isinstance(base, Symbol):
        return emitter.read(Symbol(base.name, base.offset + address.offset), "u64")
    value = emitter.read(base, f"b{max(32, width(emitter.declared(base.name)))}")
    if not address.offset:
        return value
    return emitter.builder.add(value, ir.Constant(value.type, address.offset))


def generic_address(emitter: Services, address: Address, space: str) -> ir.Value:
    """The address as a generic one, i64."""
    return _generic(emitter.builder, address_value(emitter, address), space)


def _generic(builder: ir.IRBuilder, value: ir.Value, space: str) -> ir.Value:
    value = convert(builder, value, I64)
    if space in _WINDOWS:
        value = builder.add(value, i64(_WINDOWS[space]))
    return value


def _buffer(origin: Provenance | None) -> int | str | None:
    """The parameter (its first byte) or the variable that an address certainly comes from."""
    if origin is None or not origin.certain:
        return None
    return origin.name if origin.kind == "symbol" else origin.offset


def guessed_region(emitter: Services, address: Address, space: str, type_: ir.Type) -> RegionBounds | None:
    """The region that an address most likely points into; None where its provenance is unknown."""
    unit, view, origin = emitter.unit, emitter.view, emitter.provenance.of(address.base)
    if origin is None:
        return _only_shared(emitter, type_) if space == "shared" else None
    if origin.kind == "param":
        return view.parameter_region(origin.offset) if space in ("", "global", "const") else None
    shared = unit.shared_key(emitter.function.name, origin.name)
    if shared is not None:
        if space not in ("", "shared"):
            return None
        return view.shared_region(shared, type_, generic=space != "shared")
    variable = emitter.frame.variable(origin.name)
    if variable is not None and variable.space == "local":
        return _local(emitter, origin.name, type_, generic=space != "local")
    if origin.name not in unit.symbol_numbers:
        return None
    return view.symbol_region(origin.name)


def _only_shared(emitter: Services, type_: ir.Type) -> RegionBounds | None:
    keys = [key for key in emitter.unit.shared if key[0] in ("", emitter.function.name)]
    if len(keys) != 1:
        return None
    return emitter.view.shared_region(keys[0], type_, generic=False)


def _local(emitter: Services, name: str, type_: ir.Type, *, generic: bool) -> RegionBounds | None:
    variable = emitter.frame.variable(name)
    assert variable is not None
    builder, thread = emitter.builder, emitter.thread
    start = builder.add(thread.stack, i64(emitter.frame.local_offsets[name]))
    return local_region(builder, start, thread.local, byte_size(variable), type_, generic=generic)


# --- instructions -----------------------------------------------------------------------------------------------------


def _param_pointer(emitter: Services, instruction: Instruction, address: Address, count: int) -> ir.Value | None:
    """A pointer to a named parameter, whose bounds are checked at compile time."""
    if not isinstance(address.base, Symbol):
        return None
    memory = emitter.frame.param_memory(address.base.name)
    if memory is not None:
        return at(emitter.builder, memory, address.offset)
    offset = emitter.frame.parameter_offsets.get(address.base.name)
    if offset is None:
        raise unsupported(instruction, f"there is no parameter {address.base.name}")
    if not 0 <= offset + address.offset <= emitter.frame.parameter_bytes - count:
        raise unsupported(instruction, "the access is outside the parameter")
    return at(emitter.view.entry, emitter.view.pointer("params"), offset + address.offset)


def pointer_for(
    emitter: Services, instruction: Instruction, address: Operand, action: str, *, is_watched: bool = True
) -> ir.Value:
    """The checked host pointer of a load or a store."""
    if not isinstance(address, Address):
        raise unsupported(instruction, "not an address")
    count = lanes(instruction) * size(type_of(instruction))
    space = space_of(instruction)
    if space == "param":
        pointer = _param_pointer(emitter, instruction, address, count)
        if pointer is not None:
            return pointer
        space = ""
    return host_pointer(emitter, MemoryAccess(instruction, address, space, count, action), is_watched=is_watched)


def _is_kernel_parameter(emitter: Services, instruction: Instruction) -> bool:
    address = instruction.operands[1]
    named = isinstance(address, Address) and isinstance(address.base, Symbol)
    if not (named and emitter.function.is_entry and space_of(instruction) == "param"):
        return False
    assert isinstance(address, Address)
    assert isinstance(address.base, Symbol)
    return address.base.name in emitter.frame.parameter_offsets


def _load(emitter: Services, instruction: Instruction) -> None:
    target, address = instruction.operands[:2]
    type_name = type_of(instruction)
    if _is_partial(emitter, instruction):
        _load_used(emitter, instruction)
        return
    pointer = pointer_for(emitter, instruction, address, "read")
    memory_type = I8 if llvm_type(type_name) == I1 else llvm_type(type_name)
    step = size(type_name)
    builder = emitter.builder
    if _is_kernel_parameter(emitter, instruction):
        builder = emitter.view.entry  # A kernel's parameters never change: loaded once, in the first block.
    values = []
    for index in range(lanes(instruction)):
        value = builder.load(at(builder, pointer, step * index), typ=memory_type, align=step)
        values.append(value)
    for item, value in zip(elements(target), values, strict=True):
        emitter.write(item, value, type_name)


def _is_partial(emitter: Services, instruction: Instruction) -> bool:
    """Whether only some bytes of a load are used, and the others may be outside of what is allocated."""
    address, count = instruction.operands[1], lanes(instruction) * size(type_of(instruction))
    if instruction.used_bytes is None or not isinstance(address, Address) or space_of(instruction) == "param":
        return False
    is_whole = instruction.used_bytes & (1 << count) - 1 == (1 << count) - 1
    return not is_whole and emitter.proven_pointer(address, count) is None


def _load_used(emitter: Services, instruction: Instruction) -> None:
    """Load the used bytes alone; the others are 0. The alignment is that of the whole access.

    NVVM makes one vector of loads side by side and marks the bytes that it added. A GPU reads whole words of memory, so
    they may lie past the end of an array.
    """
    target, address = instruction.operands[:2]
    assert isinstance(address, Address)
    assert instruction.used_bytes is not None
    type_name = type_of(instruction)
    step, space = size(type_name), space_of(instruction)
    whole = MemoryAccess(instruction, address, space, step * lanes(instruction), "read")
    b = emitter.builder
    value = address_value(emitter, address)
    with b.if_then(b.icmp_unsigned("!=", b.and_(value, ir.Constant(value.type, whole.count - 1)), value.type(0))):
        _resolved(emitter, _resolve(emitter, emitter.builder, whole, value))
    wide = ir.IntType(8 * step)
    for index, item in enumerate(elements(target)):
        used = instruction.used_bytes >> step * index & (1 << step) - 1
        count, first_bytes = 1, [byte for byte in range(step) if used >> byte & 1]
        if len(first_bytes) == step:
            count, first_bytes = step, [0]
        bits: ir.Value = wide(0)
        for byte in first_bytes:
            part = replace(address, offset=address.offset + step * index + byte)
            pointer = host_pointer(emitter, replace(whole, address=part, count=count))
            b = emitter.builder
            loaded = b.load(pointer, typ=ir.IntType(8 * count), align=count)
            bits = b.or_(bits, b.shl(convert(b, loaded, wide), wide(8 * byte)))
        emitter.write(item, bits, f"b{8 * step}" if step > 1 else type_name)


def store(emitter: Services, instruction: Instruction) -> None:
    """Store registers; `async_copy` has asynchronous stores."""
    address, source = instruction.operands[:2]
    type_name = type_of(instruction)
    pointer = pointer_for(emitter, instruction, address, "write", is_watched=False)
    values = [emitter.read(item, type_name) for item in elements(source)]
    if emitter.unit.granules is not None and isinstance(address, Address):
        count = len(values) * size(type_name)
        access = MemoryAccess(instruction, address, space_of(instruction), count, "write")
        if not is_watched_in_row(emitter, access):
            watch_access(emitter, access, same=lambda: same_values(emitter, pointer, values, size(type_name)))
    for index, value in enumerate(values):
        where = at(emitter.builder, pointer, size(type_name) * index)
        emitter.builder.store(value, where, align=size(type_name))


def same_values(emitter: Services, pointer: ir.Value, values: list[ir.Value], step: int) -> ir.Value:
    """Whether memory holds these values already, bit by bit."""
    b, same, type_ = emitter.builder, ir.Constant(I1, 1), ir.IntType(8 * step)
    for index, value in enumerate(values):
        held = b.load(at(b, pointer, step * index), typ=type_, align=step)
        same = b.and_(same, b.icmp_unsigned("==", held, convert(b, value, type_)))
    return same


def _nothing(emitter: Services, instruction: Instruction) -> None:
    """Prefetches and cache hints: no code."""


TABLE = {"ld": _load, "ldu": _load, "prefetch": _nothing, "prefetchu": _nothing, "applypriority": _nothing}


# --- exchanges between lanes ------------------------------------------------------------------------------------------
# Detection of values that lanes of a warp exchange through memory with no wait between.
#
# The last writes are kept in a hash table: who wrote, and at which wait it had last met others. A read that finds
# another lane of its warp there, which has met others at the same wait and at none since, is an exchange; the first one
# is recorded in the machine. Only the pairs of a write and a read count that the analysis has found
# (`analysis.lane_dependence`).


_STEP = 4
_MEETING_SHIFT, _BLOCK_SHIFT, _WARP_SHIFT, _CLASS_SHIFT = 10, 36, 5, 32
_MEETING_MASK = (1 << _BLOCK_SHIFT - _MEETING_SHIFT) - 1


def watch(emitter: Services, instruction: Instruction) -> None:
    """Note a write, or compare a read with the last writes; built before the access itself."""
    address = instruction.address
    assert address is not None
    space, count = space_of(instruction), lanes(instruction) * size(type_of(instruction))
    site = access_site(emitter, MemoryAccess(instruction, address, space, count, ""))
    start, tag = generic_address(emitter, address, space), _tag(emitter)
    for watched, note in ((emitter.watched.reads, _read), (emitter.watched.writes, _write)):
        if emitter.index not in watched:
            continue
        place = i64(site | watched[emitter.index] << _CLASS_SHIFT)
        used = -1 if instruction.used_bytes is None else instruction.used_bytes
        for offset in (at_ for at_ in range(0, count, _STEP) if used >> at_ & (1 << _STEP) - 1):
            where = emitter.builder.add(start, i64(offset))
            note(emitter.builder, emitter.view.machine, where, tag, place)


def _tag(emitter: Services) -> ir.Value:
    """The thread, its last meeting, and its block, in one number; without the five low bits that of the warp."""
    b, thread, view = emitter.builder, emitter.thread, emitter.view
    x, y, z = (thread.coordinate(b, f"ctaid_{axis}") for axis in "xyz")
    block = b.add(x, b.mul(dimension(view, "grid_x"), b.add(y, b.mul(dimension(view, "grid_y"), z))))
    number = b.zext(linear_thread(b, view, thread), I64)
    met = b.and_(b.zext(emitter.exits.last_meeting(emitter), I64), i64(_MEETING_MASK))
    tag = b.or_(b.shl(met, i64(_MEETING_SHIFT)), number)
    return b.or_(b.shl(b.zext(block, I64), i64(_BLOCK_SHIFT)), tag)


def _entry(b: ir.IRBuilder, machine: ir.Value, address: ir.Value) -> ir.Value:
    number = b.and_(b.lshr(address, i64(2)), i64(EXCHANGE_ENTRIES - 1))
    table = b.inttoptr(field(b, machine, "exchanges"), POINTER)
    return at(b, table, b.shl(number, i64(EXCHANGE_SHIFT)))


@subroutine("exchange.write")
def _write(b: ir.IRBuilder, machine: ir.Value, address: ir.Value, tag: ir.Value, place: ir.Value) -> None:
    entry = _entry(b, machine, address)
    for offset, value in enumerate((address, tag, place)):
        b.store(value, at(b, entry, 8 * offset))


@subroutine("exchange.read")
def _read(b: ir.IRBuilder, machine: ir.Value, address: ir.Value, tag: ir.Value, place: ir.Value) -> None:
    entry = _entry(b, machine, address)
    written, writer, where = (b.load(at(b, entry, 8 * offset), typ=I64) for offset in range(3))
    difference = b.xor(writer, tag)
    same_warp = b.icmp_unsigned("==", b.lshr(difference, i64(_WARP_SHIFT)), i64(0))
    other = b.icmp_unsigned("!=", difference, i64(0))
    common = b.lshr(b.and_(where, place), i64(_CLASS_SHIFT))
    is_pair = b.icmp_unsigned("!=", common, i64(0))
    found = b.and_(b.icmp_unsigned("==", written, address), b.and_(is_pair, b.and_(same_warp, other)))
    first = b.icmp_unsigned("==", field(b, machine, "exchange_read"), i64(0))
    with b.if_then(b.and_(found, first)):
        for name, value in (("exchange_write", where), ("exchange_read", place)):
            set_field(b, machine, name, b.add(b.zext(b.trunc(value, I32), I64), i64(1)))
