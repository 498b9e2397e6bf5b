"""Special registers, moves and address conversion: mov cvta isspacep createpolicy.

PTX ISA manual, chapter 10 and 9.7.9.3 "mov".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.virtual_gpu.builder.address_resolution import WINDOWS, field, in_space, set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I32, convert, i32, i64, llvm_type, width
from gpuregress.virtual_gpu.builder.threads import dimension, lane, warp
from gpuregress.virtual_gpu.isa import warp_barriers
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Vector
from gpuregress.virtual_gpu.runtime import machine_layout

_COORDINATES = {
    "%tid.x": "tid_x", "%tid.y": "tid_y", "%tid.z": "tid_z",
    "%ctaid.x": "ctaid_x", "%ctaid.y": "ctaid_y", "%ctaid.z": "ctaid_z",
}  # fmt: skip
_DIMENSIONS = {f"%ntid.{axis}": f"block_{axis}" for axis in "xyz"} | {
    f"%nctaid.{axis}": f"grid_{axis}" for axis in "xyz"
}
_CONSTANTS = {
    "%tid.w": 0, "%ntid.w": 1, "%ctaid.w": 0, "%nctaid.w": 1, "%smid": 0, "%nsmid": 1, "%gridid": 0,
    "%nwarpid": SM_90.threads_per_multiprocessor // SM_90.warp_size,
    "%reserved_smem_offset_begin": 0,
    "%reserved_smem_offset_end": SM_90.reserved_shared, "%reserved_smem_offset_cap": 0, "%reserved_smem_offset_0": 0,
    # cooperative_groups keeps the barriers of groups of several warps there, and 8 bytes for each warp of a block.
    "%reserved_smem_offset_1": 512,
    **{f"%envreg{number}": 0 for number in range(32) if number not in (1, 2)},
    **{f"%pm{number}{size}": 0 for number in range(8) for size in ("", "_64")},  # no performance counter runs
}  # fmt: skip
_RESERVED_ADDRESSES = {f"%reserved_smem_offset_{which}" for which in ("begin", "end", "0", "1")}
_WINDOWS = {"shared": machine_layout.SHARED_WINDOW, "local": machine_layout.LOCAL_WINDOW}
_CLOCKS = {"%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"}


def special_register(emitter: Services, name: str) -> ir.Value:
    """The value of a special register, i32 or i64.

    Raises:
        UnsupportedError: the register is not supported.
    """
    builder, view, thread = emitter.builder, emitter.view, emitter.thread
    if name in _COORDINATES:
        return thread.coordinate(builder, _COORDINATES[name])
    if name in _DIMENSIONS:
        return dimension(view, _DIMENSIONS[name])
    if name in _RESERVED_ADDRESSES and view.clustered:
        return builder.trunc(builder.add(view.field("shared_base"), i64(_CONSTANTS[name])), I32)
    if name in _CONSTANTS:
        return i64(0) if name.endswith("_64") else i32(_CONSTANTS[name])
    if name in warp_barriers.REGISTERS:
        return warp_barriers.special_register(emitter, name)
    if name in ("%envreg1", "%envreg2"):
        # The grid's barrier: cooperative_groups, get_grid_workspace.
        address = view.field("workspace")
        if name == "%envreg1":
            address = builder.lshr(address, i64(32))
        return builder.trunc(address, I32)
    if name == "%laneid":
        return lane(builder, view, thread)
    if name == "%warpid":
        return warp(builder, view, thread)
    if name.startswith("%lanemask_"):
        return _lane_mask(builder, name.removeprefix("%lanemask_"), lane(builder, view, thread))
    if name in ("%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size"):
        return builder.trunc(view.field("dynamic_size"), I32)
    if name in _CLOCKS:
        return _clock(emitter, name)
    raise unsupported(emitter.current(), f"there is no special register {name}")


def _lane_mask(builder: ir.IRBuilder, which: str, number: ir.Value) -> ir.Value:
    equal = builder.shl(i32(1), number)
    below = builder.sub(equal, i32(1))
    masks = {
        "eq": equal,
        "lt": below,
        "le": builder.or_(below, equal),
        "gt": builder.not_(builder.or_(below, equal)),
        "ge": builder.not_(below),
    }
    return masks[which]


def _clock(emitter: Services, name: str) -> ir.Value:
    # A counter of reads: monotonic, and the same in every run.
    builder, machine = emitter.builder, emitter.view.machine
    ticks = builder.add(field(builder, machine, "clock"), i64(32))
    set_field(builder, machine, "clock", ticks)
    if name in ("%clock64", "%globaltimer"):
        return ticks
    if name.endswith("_hi"):
        ticks = builder.lshr(ticks, i64(32))
    return builder.trunc(ticks, I32)


def _mov(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    type_name = instruction.modifiers[-1]
    if isinstance(target, Vector):
        _unpack(emitter, target, source, type_name)
    elif isinstance(source, Vector):
        emitter.write(target, _pack(emitter, source, type_name), type_name)
    else:
        emitter.write(target, emitter.read(source, type_name), type_name)


def _pack(emitter: Services, source: Vector, type_name: str) -> ir.Value:
    builder = emitter.builder
    total = width(llvm_type(type_name))
    part = total // len(source.elements)
    whole, part_type = ir.IntType(total), ir.IntType(part)
    value: ir.Value = ir.Constant(whole, 0)
    for index, element in enumerate(source.elements):
        bits = builder.zext(convert(builder, emitter.read(element, f"b{part}"), part_type), whole)
        value = builder.or_(value, builder.shl(bits, ir.Constant(whole, part * index)))
    return value


def _unpack(emitter: Services, target: Vector, source: object, type_name: str) -> None:
    builder = emitter.builder
    total = width(llvm_type(type_name))
    part = total // len(target.elements)
    whole = ir.IntType(total)
    value = convert(builder, emitter.read(source, f"b{total}"), whole)  # type: ignore[arg-type]  # any operand
    for index, element in enumerate(target.elements):
        bits = builder.lshr(value, ir.Constant(whole, part * index))
        emitter.write(element, builder.trunc(bits, ir.IntType(part)), f"b{part}")


def _cvta(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    words, type_name = instruction.modifiers[:-1], instruction.modifiers[-1]
    space, is_from_generic = words[-1].partition("::")[0], "to" in words
    value = convert(emitter.builder, emitter.read(source, type_name), ir.IntType(64))
    if words[-1] == "param" and not is_from_generic:
        value = _generic_parameter(emitter, value)
    if space in _WINDOWS and is_from_generic:
        value = emitter.builder.sub(value, i64(_WINDOWS[space]))
    elif space in _WINDOWS:
        value = emitter.builder.add(value, i64(_WINDOWS[space]))
    emitter.write(target, value, type_name)


def _generic_parameter(emitter: Services, value: ir.Value) -> ir.Value:
    """The generic address of a parameter, which names have at once; a register of 32 bits holds its lower half."""
    builder = emitter.builder
    is_lower_half = builder.icmp_unsigned("<", value, i64(1 << 32))
    return builder.select(is_lower_half, builder.add(value, i64(machine_layout.PARAM_WINDOW)), value)


def _isspacep(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    builder = emitter.builder
    address = emitter.read(source, "u64")
    space = instruction.modifiers[0].partition("::")[0]
    if space in ("global", *WINDOWS):
        inside = in_space(builder, address, space)
    elif space == "const":
        inside = _is_constant(emitter, address)
    else:
        raise unsupported(instruction, "only global, shared, local, const and param are")
    if space == "shared" and emitter.view.clustered and "shared::cluster" not in instruction.modifiers:
        own = builder.icmp_unsigned("==", warp_barriers.rank_of(builder, address), emitter.view.field("cluster_rank"))
        inside = builder.and_(inside, own)
    emitter.write(target, inside, "pred")


def _is_constant(emitter: Services, address: ir.Value) -> ir.Value:
    """Whether an address lies in one of the module's `__constant__` variables."""
    builder, unit = emitter.builder, emitter.unit
    inside: ir.Value = ir.IntType(1)(0)
    for name in unit.symbols:
        if unit.variables[name].space == "const":
            offset = builder.sub(address, emitter.view.symbol(name)[0])
            inside = builder.or_(inside, builder.icmp_unsigned("<", offset, i64(byte_size(unit.variables[name]))))
    return inside


def _createpolicy(emitter: Services, instruction: Instruction) -> None:
    """Create a cache policy: a hint, here 0."""
    emitter.write(instruction.operands[0], i64(0), "b64")


TABLE = {"mov": _mov, "cvta": _cvta, "isspacep": _isspacep, "createpolicy": _createpolicy}
