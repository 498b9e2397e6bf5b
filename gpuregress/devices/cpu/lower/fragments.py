"""wmma: matrices in fragments whose layout is the device's own affair. PTX ISA manual, 9.7.14.4.

Here a lane holds the elements that follow each other row by row: with n of them, lane 0 the first n, and so on. Where a
fragment has room for more than the matrix, as of f16, further lanes hold it once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from gpuregress.devices.cpu.lower.dot import Element, added, element_of, finished, started
from gpuregress.devices.cpu.lower.emit import unsupported
from gpuregress.devices.cpu.lower.matrix import (
    MULTIPLY,
    area,
    elements,
    meet,
    own_lane,
    read_sums,
    show,
    write_sums,
)
from gpuregress.devices.cpu.lower.memory import address_value, host_pointer, space_of
from gpuregress.devices.cpu.lower.services import Services
from gpuregress.devices.cpu.lower.structured import Cell, at, counted, i32, i64
from gpuregress.devices.cpu.lower.types import I64, convert
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Operand

_TYPES = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32")


@dataclass(frozen=True, slots=True)
class _Shape:
    """Rows and columns of the result, and the inner dimension."""

    m: int
    n: int
    k: int

    def of(self, matrix: str) -> tuple[int, int]:
        """Rows and columns of `a`, `b`, or `c` and `d`."""
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(matrix, (self.m, self.n))


def _shape(instruction: Instruction) -> _Shape:
    for word in instruction.modifiers:
        if word[:1] == "m" and word[1:2].isdigit():
            m, rest = word[1:].split("n")
            n, k = rest.split("k")
            return _Shape(int(m), int(n), int(k))
    raise unsupported(instruction, "no shape")


def _types(instruction: Instruction) -> list[str]:
    found = [word for word in instruction.modifiers if word in _TYPES]
    if not found or "popc" in instruction.modifiers:
        raise unsupported(instruction, "elements of fewer than eight bits are not there")
    return found


def _positions(emitter: Services, count: int, shape: tuple[int, int]) -> list[tuple[ir.Value, ir.Value]]:
    """Row and column (i32) of each of the `count` elements that this lane holds of a matrix."""
    b = emitter.builder
    rows, columns = shape
    first = b.mul(own_lane(emitter), i32(count))
    found = []
    for place in range(count):
        linear = b.urem(b.add(first, i32(place)), i32(rows * columns))
        found.append((b.udiv(linear, i32(columns)), b.urem(linear, i32(columns))))
    return found


def _pointers(emitter: Services, instruction: Instruction, operands: tuple[Operand, ...], count: int) -> list[Address]:
    """The address of each element that this lane holds, in memory that is laid out as the instruction says."""
    address, *rest = operands
    if not isinstance(address, Address):
        raise unsupported(instruction, "not an address")
    matrix, size = instruction.modifiers[1], element_of(_types(instruction)[0]).bits // 8
    shape = _shape(instruction).of(matrix)
    by_rows = "row" in instruction.modifiers
    b = emitter.builder
    stride = emitter.read(rest[0], "u32") if rest else i32(shape[1] if by_rows else shape[0])
    start = convert(b, address_value(emitter, address), I64)
    found = []
    for row, column in _positions(emitter, count, shape):
        along, across = (column, row) if by_rows else (row, column)
        offset = b.add(b.mul(b.zext(across, I64), b.zext(stride, I64)), b.zext(along, I64))
        register = emitter.temporary("u64")
        emitter.write(register, b.add(start, b.mul(offset, i64(size))), "u64")
        found.append(Address(register, 0))
    return found


def _load(emitter: Services, instruction: Instruction) -> None:
    target, *source = instruction.operands
    kind = element_of(_types(instruction)[0])
    parts = 1 if kind.name in ("f32", "s32") else kind.parts
    registers = elements(target)
    values = []
    for address in _pointers(emitter, instruction, tuple(source), parts * len(registers)):
        pointer = host_pointer(emitter, instruction, address, space_of(instruction), kind.bits // 8, "read")
        values.append(emitter.builder.load(pointer, typ=ir.IntType(kind.bits), align=kind.bits // 8))
    emitter.forget_pointers()
    type_name = f"b{kind.register}"
    for number, register in enumerate(registers):
        own = values[parts * number : parts * (number + 1)]
        emitter.write(register, _joined(emitter, own, kind.register), type_name)


def _joined(emitter: Services, values: list[ir.Value], bits: int) -> ir.Value:
    b, whole = emitter.builder, ir.IntType(bits)
    total: ir.Value = ir.Constant(whole, 0)
    for place, value in enumerate(values):
        wide = b.zext(value, whole) if value.type.width < bits else value
        total = b.or_(total, b.shl(wide, ir.Constant(whole, place * value.type.width)))
    return total


def _store(emitter: Services, instruction: Instruction) -> None:
    target, source, *rest = instruction.operands
    kind = _types(instruction)[0]
    size = element_of(kind).bits // 8
    values = read_sums(emitter, kind, source)
    for address, value in zip(_pointers(emitter, instruction, (target, *rest), len(values)), values, strict=True):
        pointer = host_pointer(emitter, instruction, address, space_of(instruction), size, "write")
        emitter.builder.store(value, pointer, align=size)
    emitter.forget_pointers()


def _multiply(emitter: Services, instruction: Instruction) -> None:
    target, left, right, addend = instruction.operands
    types = _types(instruction)
    result, sources = types[0], types[1:3] if len(types) == 4 else ["f16", "f16"]
    x, y = (element_of(name) for name in sources)
    kind = f"b{x.register}"
    middle = show(emitter, 0, [emitter.read(item, kind) for item in elements(left)])
    show(emitter, middle, [emitter.read(item, kind) for item in elements(right)])
    meet(emitter, MULTIPLY)
    shape = _shape(instruction)
    values = read_sums(emitter, types[-1], addend)
    shown = area(emitter)
    results = []
    for (row, column), start in zip(_positions(emitter, len(values), (shape.m, shape.n)), values, strict=True):
        first = started(emitter, types[-1], start)
        total = _dot(emitter, (x, shown), (y, at(emitter.builder, shown, middle)), shape, (row, column), first, result)
        results.append(finished(emitter, result, total, limited="satfinite" in instruction.modifiers))
    write_sums(emitter, result, target, results)


def _dot(
    emitter: Services,
    left: tuple[Element, ir.Value],
    right: tuple[Element, ir.Value],
    shape: _Shape,
    place: tuple[ir.Value, ir.Value],
    first: ir.Value,
    result: str,
) -> ir.Value:
    b = emitter.builder
    total = Cell(b, first)
    total.set(first)
    with counted(b, i32(shape.k)) as step:
        x = left[0].widened(emitter, left[0].load_bits(emitter, left[1], b.add(b.mul(place[0], i32(shape.k)), step)))
        y = right[0].widened(emitter, right[0].load_bits(emitter, right[1], b.add(b.mul(step, i32(shape.n)), place[1])))
        total.set(added(emitter, result, total.get(), x, y))
    return total.get()


_FORMS = {"load": _load, "store": _store, "mma": _multiply}


def _wmma(emitter: Services, instruction: Instruction) -> None:
    form = _FORMS.get(instruction.modifiers[0])
    if form is None:
        raise unsupported(instruction)
    form(emitter, instruction)


TABLE = {"wmma": _wmma}
