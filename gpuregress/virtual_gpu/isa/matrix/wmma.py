"""Matrix instructions on fragments of unspecified layout: wmma.

Here lane 0 holds the first n elements in row-major order, lane 1 the next n, and so on. Where a fragment has room for
more than the matrix, as for f16, further lanes hold it again.

PTX ISA manual, 9.7.14.4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I8,
    I16,
    I64,
    POINTER,
    Build,
    at,
    convert,
    counted,
    entry_alloca,
    i32,
    i64,
    private_function,
)
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, epoch_of, rules
from gpuregress.virtual_gpu.checks.shadow_cells import READ, CellAccess
from gpuregress.virtual_gpu.isa.matrix.mma import multiply, multiply_exactly
from gpuregress.virtual_gpu.isa.matrix.operand_layout import (
    Fragment,
    MatrixElement,
    element_of,
    own_lane,
)
from gpuregress.virtual_gpu.isa.matrix.sums import ExactTile, Tile
from gpuregress.virtual_gpu.isa.memory.load_store import (
    MemoryAccess,
    access_site,
    address_value,
    generic_address,
    host_pointer,
    slow_resolve,
)
from gpuregress.virtual_gpu.ptx.modifiers import space_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Operand, elements

_TYPES = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32")


class _Shape(Record):
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
    types = [word for word in instruction.modifiers if word in _TYPES]
    if not types or not {"popc", "s4", "u4", "b1"}.isdisjoint(instruction.modifiers):
        raise unsupported(instruction, "elements of fewer than eight bits are not implemented")
    return types


def _positions(emitter: Services, count: int, shape: tuple[int, int]) -> list[tuple[ir.Value, ir.Value]]:
    """Row and column (i32) of each of the `count` elements that this lane holds of a matrix."""
    b = emitter.builder
    first = b.mul(own_lane(emitter), i32(count))
    return [_position(b, b.add(first, i32(index)), shape) for index in range(count)]


def _position(b: ir.IRBuilder, linear: ir.Value, shape: tuple[int, int]) -> tuple[ir.Value, ir.Value]:
    """Row and column of an element by its row-major number, modulo the number of elements."""
    within = b.urem(linear, i32(shape[0] * shape[1]))
    return b.udiv(within, i32(shape[1])), b.urem(within, i32(shape[1]))


def _pointers(emitter: Services, instruction: Instruction, operands: tuple[Operand, ...], count: int) -> list[Address]:
    """The address of each element that this lane holds, by the layout and stride of the instruction."""
    address, *rest = operands
    if not isinstance(address, Address):
        raise unsupported(instruction, "not an address")
    layout = _layout(instruction, count)
    b = emitter.builder
    stride = layout.stride(emitter, rest)
    start = convert(b, address_value(emitter, address), I64)
    addresses = []
    for row, column in _positions(emitter, count, layout.shape):
        offset = layout.offset(b, row, column, stride)
        register = emitter.temporary("u64")
        emitter.write(register, b.add(start, offset), "u64")
        addresses.append(Address(register, 0))
    return addresses


def _load(emitter: Services, instruction: Instruction) -> None:
    """Lower a load of a fragment, by a subroutine: kernels hold thousands of them."""
    target, address, *rest = instruction.operands
    if not isinstance(address, Address):
        raise unsupported(instruction, "not an address")
    kind = element_of(_types(instruction)[0])
    parts = 1 if kind.name in ("f32", "s32") else kind.parts
    registers = elements(target)
    layout = _layout(instruction, parts * len(registers))
    stride = layout.stride(emitter, rest)
    space = space_of(instruction)
    size = kind.bits // 8
    site = access_site(emitter, MemoryAccess(instruction, address, space, size, "read"))
    b = emitter.builder
    out = entry_alloca(b.function, ir.ArrayType(I8, layout.count * kind.bits // 8), align=16)
    start = generic_address(emitter, address, space)
    arguments = [emitter.view.machine, emitter.thread.local, start, stride, own_lane(emitter), i64(site), out]
    watch = None
    if emitter.unit.granules is not None:
        arguments.append(epoch_of(emitter, AccessNote(instruction, "read", "", size, site)))
        watch = partial(rules(emitter).access, CellAccess(READ, is_strong=False, reads=False, count=size), "")
    types = tuple(value.type for value in arguments)
    resolve = slow_resolve(emitter, instruction, space)
    build = _fetching(layout, resolve, watch)
    fetch = private_function(emitter.module, f"{layout.name}.{resolve.name}", I1, types, build)
    after = b.append_basic_block("loaded")
    b.cbranch(b.call(fetch, arguments), after, emitter.fault_block).set_weights([4000, 1])
    b.position_at_end(after)
    bits = kind.register
    for number, register in enumerate(registers):
        value = b.load(at(b, out, number * bits // 8), typ=ir.IntType(bits), align=bits // 8)
        emitter.write(register, value, f"b{bits}")


class _Layout(Record):
    """Memory layout of a fragment.

    Attributes:
        shape: rows and columns of the matrix.
        by_rows: whether the elements of a row follow each other.
        bits: of an element.
        count: elements that a lane holds.
    """

    shape: tuple[int, int]
    by_rows: bool
    bits: int
    count: int

    @property
    def name(self) -> str:
        """The subroutine's."""
        order = "row" if self.by_rows else "col"
        return f"wmma.load.{self.shape[0]}x{self.shape[1]}.{order}.b{self.bits}.{self.count}"

    def stride(self, emitter: Services, operands: list[Operand]) -> ir.Value:
        """Elements (i32) from one row (or column) to the next: the operand, or else there is no padding."""
        if operands:
            return emitter.read(operands[0], "u32")
        return i32(self.shape[1] if self.by_rows else self.shape[0])

    def offset(self, b: ir.IRBuilder, row: ir.Value, column: ir.Value, stride: ir.Value) -> ir.Value:
        """Bytes (i64) from the matrix's start to an element."""
        along, across = (column, row) if self.by_rows else (row, column)
        elements = b.add(b.mul(b.zext(across, I64), b.zext(stride, I64)), b.zext(along, I64))
        return b.mul(elements, i64(self.bits // 8))


def _layout(instruction: Instruction, count: int) -> _Layout:
    """The layout of the fragment that a load or store moves, by the number of elements that a lane holds."""
    shape = _shape(instruction).of(instruction.modifiers[1])
    return _Layout(shape, "row" in instruction.modifiers, element_of(_types(instruction)[0]).bits, count)


def _fetching(layout: _Layout, resolve: ir.Function, watch: Callable[..., None] | None) -> Build:
    """Build `fetch(machine, local, start, stride, lane, site, out) → whether all accesses are valid`.

    With the dynamic checks' `watch`, it has the thread's epoch as its last argument.
    """

    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        machine, local, start, stride, lane, site, out, *epoch = given
        size, type_ = layout.bits // 8, ir.IntType(layout.bits)
        first = b.mul(lane, i32(layout.count))
        with counted(b, i32(layout.count)) as number:
            row, column = _position(b, b.add(first, number), layout.shape)
            address = b.add(start, layout.offset(b, row, column, stride))
            pointer = b.call(resolve, (machine, local, address, i64(size), site))
            with b.if_then(b.icmp_unsigned("==", pointer, ir.Constant(POINTER, None)), likely=False):
                b.ret(ir.Constant(I1, 0))
            if watch is not None:
                watch(b, machine, address, *epoch)
            offset = b.mul(b.zext(number, I64), i64(size))
            b.store(b.load(pointer, typ=type_, align=size), at(b, out, offset), align=size)
        return ir.Constant(I1, 1)

    return build


def _store(emitter: Services, instruction: Instruction) -> None:
    target, source, *rest = instruction.operands
    kind = _types(instruction)[0]
    size = element_of(kind).bits // 8
    values = _accumulators(emitter, kind, source)
    for address, value in zip(_pointers(emitter, instruction, (target, *rest), len(values)), values, strict=True):
        pointer = host_pointer(emitter, MemoryAccess(instruction, address, space_of(instruction), size, "write"))
        emitter.builder.store(value, pointer, align=size)
    emitter.forget_pointers()


def _accumulators(emitter: Services, kind: str, operand: Operand) -> list[ir.Value]:
    """A lane's elements of C, from registers of two if they are f16."""
    if kind != "f16":
        return [emitter.read(item, kind) for item in elements(operand)]
    b = emitter.builder
    words = [emitter.read(item, "b32") for item in elements(operand)]
    return [b.trunc(b.lshr(word, i32(16 * half)), I16) for word in words for half in (0, 1)]


def _multiply(emitter: Services, instruction: Instruction) -> None:
    _, left, right, addend = instruction.operands
    types = _types(instruction)
    result, sources = types[0], types[1:3] if len(types) == 4 else ["f16", "f16"]
    x, y = (element_of(name) for name in sources)
    shape = _shape(instruction)
    name = f"wmma.m{shape.m}n{shape.n}k{shape.k}.{x.name}.{y.name}"
    by_register = result in ("f16", "f32")
    a, b, c = (
        _fragment(kind, operand, shape.of(matrix), is_by_register=by_register)
        for kind, operand, matrix in ((x, left, "a"), (y, right, "b"), (element_of(types[-1]), addend, "c"))
    )
    if by_register:
        multiply(emitter, instruction, Tile(name, (shape.m, shape.n, shape.k), a=a, b=b, c=c, result=result))
        return
    limited = "satfinite" in instruction.modifiers
    tile = ExactTile(name, (shape.m, shape.n, shape.k), a=a, b=b, c=c, limited=limited)
    multiply_exactly(emitter, instruction, tile)


def _fragment(kind: MatrixElement, operand: Operand, shape: tuple[int, int], *, is_by_register: bool) -> Fragment:
    """A fragment in row-major order; further lanes hold the elements again that the matrix is too small for."""
    count = kind.parts * len(elements(operand))

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        return b.urem(b.add(b.mul(lane, i32(count)), i32(index)), i32(shape[0] * shape[1]))

    return Fragment(kind, count, place, is_by_register=is_by_register)


_FORMS = {"load": _load, "store": _store, "mma": _multiply}


def _wmma(emitter: Services, instruction: Instruction) -> None:
    if instruction.modifiers[0] not in _FORMS:
        raise unsupported(instruction)
    _FORMS[instruction.modifiers[0]](emitter, instruction)


TABLE = {"wmma": _wmma}
