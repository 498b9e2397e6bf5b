"""Layout of matrix operands: forms, elements, fragments of lanes, and the area of a warp."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.lane_mailbox import post
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    F32,
    F64,
    I8,
    I32,
    I64,
    at,
    counted,
    element,
    entry_alloca,
    i32,
    i64,
    width,
)
from gpuregress.virtual_gpu.builder.threads import LAYOUT, WARP, lane, warp
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import BF16, E4M3, E5M2, F16, widen_to_double
from gpuregress.virtual_gpu.ptx.modifiers import BITS, unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Register, Sink
from gpuregress.virtual_gpu.runtime.machine_layout import AREA

# --- elements ---------------------------------------------------------------------------------------------------------


_NARROW = {"f16": F16, "bf16": BF16, "e4m3": E4M3, "e5m2": E5M2}


class MatrixElement(Record):
    """Element type of a matrix.

    Attributes:
        name: `f16`, `s8` …
        bits: of an element.
        register: bits of the registers that hold them.
    """

    name: str
    bits: int
    register: int

    @property
    def parts(self) -> int:
        """Elements of a register."""
        return self.register // self.bits

    def load_bits(self, emit: Emit, shown: ir.Value, index: ir.Value) -> ir.Value:
        """Load the bits of element `index` (i32) of an array."""
        b = emit.builder
        offset = b.lshr(b.mul(b.zext(index, I64), i64(self.bits)), i64(3))
        type_ = ir.IntType(max(8, self.bits))
        bits = b.load(at(b, shown, offset), typ=type_, align=type_.width // 8)
        if self.bits >= 8:
            return bits
        high = b.trunc(b.and_(index, i32(1)), ir.IntType(1))
        return b.trunc(b.select(high, b.lshr(bits, ir.Constant(I8, 4)), bits), ir.IntType(4))

    def widened(self, emit: Emit, bits: ir.Value) -> ir.Value:
        """An element's bits as a number: f64 or i64."""
        b = emit.builder
        if self.name in _NARROW:
            return widen_to_double(emit, bits, _NARROW[self.name])
        if self.name == "tf32":
            bits = b.and_(bits, i32(0xFFFF_E000))
        if self.name in ("tf32", "f32"):
            return b.fpext(b.bitcast(bits, F32), F64)
        if self.name == "f64":
            return b.bitcast(bits, F64)
        return b.sext(bits, I64) if self.name[0] == "s" else b.zext(bits, I64)


def element_of(name: str) -> MatrixElement:
    """The element type with a PTX name."""
    bits = BITS[name]
    return MatrixElement(name, bits, max(32, bits))


# --- forms ------------------------------------------------------------------------------------------------------------
# Forms of mma and wgmma that PTX has: shapes, types and constants.
#
# Compilers pass inline PTX on as it is, and only a GPU's assembler refuses what is not there.
# PTX ISA manual, 9.7.14.5, 9.7.14.6 and 9.7.15.


_HALF, _EIGHT, _FOUR = ("f16", "bf16"), ("e4m3", "e5m2"), ("s4", "u4")
_DENSE = {
    **dict.fromkeys(_HALF, "m16n8k8 m16n8k16"), **dict.fromkeys(_EIGHT, "m16n8k16 m16n8k32"),
    **dict.fromkeys(("s8", "u8"), "m8n8k16 m16n8k16 m16n8k32"), **dict.fromkeys(_FOUR, "m8n8k32 m16n8k32 m16n8k64"),
    "tf32": "m16n8k4 m16n8k8", "f64": "m8n8k4 m16n8k4 m16n8k8 m16n8k16",
}  # fmt: skip
_SPARSE = {
    **dict.fromkeys(_HALF, "m16n8k16 m16n8k32"), **dict.fromkeys(_EIGHT, "m16n8k64"), "tf32": "m16n8k8 m16n8k16",
}  # fmt: skip
_RESULTS = {
    "f16": "f16 f32", "bf16": "f32", "tf32": "f32", "e4m3": "f16 f32", "e5m2": "f16 f32", "f64": "f64",
    "s8": "s32", "u8": "s32", "s4": "s32", "u4": "s32", "b1": "s32",
}  # fmt: skip
"""Type of A → those of D."""
_MIXED = (_EIGHT, ("s8", "u8"), _FOUR)
"""Types that A and B may have at once."""
_METADATA = 16
"""Chunks of a row of A whose metadata the four lanes, or pairs of lanes, hold."""


def types_error(result: str, a: str, b: str) -> str:
    """Return what is wrong with the types of a product; "" if nothing is."""
    known = _RESULTS.get(a, "").split()
    if a != b and not any(a in mixed and b in mixed for mixed in _MIXED):
        return f"there is no product of {a} and {b}"
    if result not in known:
        return f"a product of {a} has a result of {' or '.join(known) or 'no type'}"
    return ""


def mma_error(words: Sequence[str], shape: str, types: Sequence[str], counts: Sequence[int]) -> str:
    """Return what is wrong with an mma; "" if nothing is.

    Args:
        words: the modifiers.
        shape: `m16n8k16`, …
        types: of D, A, B and C.
        counts: registers of D, A, B and C.
    """
    d, a, b, c = types
    is_sparse = words[0].startswith("sp")
    shapes = _SPARSE if is_sparse else _DENSE
    if shape not in shapes.get(a, "").split():
        return "this shape is not implemented"
    wrong = types_error(d, a, b)
    if wrong:
        return wrong
    if c != d:
        return f"C is {c}, and D {d}"
    if [word for word in words if word in ("row", "col")] != ["row", "col"]:
        return "A is row and B col in this shape"
    if "satfinite" in words and d != "s32":
        return "satfinite is for integers"
    rows, depth = (int(number) for number in shape[1:].split("n8k"))
    bits = _bits_of(a)
    register = max(32, bits)
    sums = rows // 8 if d == "f16" else rows // 4
    held = depth // 2 if is_sparse else depth
    if [*counts] != [sums, rows * held * bits // (32 * register), 8 * depth * bits // (32 * register), sums]:
        return "the vectors of registers have other sizes"
    return ""


def _bits_of(type_name: str) -> int:
    if type_name in _HALF:
        return 16
    if type_name in _FOUR:
        return 4
    return {"f64": 64, "tf32": 32}.get(type_name, 8)


def selector_error(selector: int, chunks: int) -> str:
    """Return what is wrong with the sparsity selector; "" if nothing is."""
    most = _METADATA // chunks - 1
    if not 0 <= selector <= most:
        return f"the sparsity selector is {selector}, and at most {most} here"
    return ""


# --- operands ---------------------------------------------------------------------------------------------------------
# Operand layouts of a tensor core: fragments, rows in memory, metadata of sparse rows.


Place: TypeAlias = Callable[[ir.IRBuilder, ir.Value, int], ir.Value]
"""The row-major number (i32) of element `index` that a lane (i32) holds of a matrix."""


def place_of_a(parts: int, rows: int, columns: int) -> Place:
    """Place the elements of A: a register holds neighbours of a row, the next one those eight rows below, if any.

    Args:
        parts: elements of a register.
        rows: of A, 8 or 16.
        columns: of A as it is held.
    """
    halves = rows // 8

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        register, part = divmod(index, parts)
        row = b.add(b.lshr(lane, i32(2)), i32(8 * (register % halves)))
        step = b.add(b.mul(b.and_(lane, i32(3)), i32(parts)), i32(part + 4 * parts * (register // halves)))
        return b.add(b.mul(row, i32(columns)), step)

    return place


def place_of_sums(columns: int) -> Place:
    """Place the elements of C and D, two neighbours of a row, the next two eight rows below."""

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        row = b.add(b.lshr(lane, i32(2)), i32(8 * (index // 2)))
        column = b.add(b.shl(b.and_(lane, i32(3)), i32(1)), i32(index % 2))
        return b.add(b.mul(row, i32(columns)), column)

    return place


def each(b: ir.IRBuilder, count: int) -> AbstractContextManager[ir.Value]:
    """Run the body for each number (i32) below `count`; once without a loop."""
    return counted(b, i32(count)) if count > 1 else nullcontext(i32(0))


class Fragment(Record):
    """A matrix in the registers of a warp.

    Attributes:
        kind: its elements.
        count: elements that a lane holds of a part of the matrix.
        place: where they belong.
        parts: parts side by side.
        columns: of a part.
        is_by_register: whether the lanes of a register lie side by side, not the registers of a lane.
    """

    kind: MatrixElement
    count: int
    place: Place
    parts: int = 1
    columns: int = 0
    is_by_register: bool = False

    @property
    def lane_bytes(self) -> int:
        """Bytes that a lane holds."""
        return self.parts * self.count * self.kind.bits // 8

    @property
    def bytes(self) -> int:
        """Bytes that a warp holds."""
        return 32 * self.lane_bytes

    def visit(self, b: ir.IRBuilder, visit: Callable[[ir.Value, ir.Value], None], bits: int = 0) -> None:
        """Visit each element: its number (i32) among all that the lanes hold, and its row-major number.

        Args:
            b: the builder.
            visit: called with both.
            bits: of an element where it is stored; 0: those of its kind.
        """
        if self.is_by_register:
            held = 32 // (bits or self.kind.bits)
            with counted(b, i32(32)) as lane:
                own = b.mul(lane, i32(held))
                for index in range(self.count):
                    register, part = divmod(index, held)
                    visit(b.add(own, i32(32 * held * register + part)), self.place(b, lane, index))
            return
        with counted(b, i32(32)) as lane:
            own = b.mul(lane, i32(self.parts * self.count))
            with each(b, self.parts) as part:
                first, across = b.add(own, b.mul(part, i32(self.count))), b.mul(part, i32(self.columns))
                for index in range(self.count):
                    visit(b.add(first, i32(index)), b.add(self.place(b, lane, index), across))


class StoredRows(Record):
    """A matrix in memory, one row (of B: one column) after the other.

    Attributes:
        kind: its elements.
        rows: of A; columns of B.
        depth: elements of each.
        is_b: whether it is B.
    """

    kind: MatrixElement
    rows: int
    depth: int
    is_b: bool

    @property
    def bytes(self) -> int:
        """Bytes of the matrix."""
        return self.rows * self.depth * self.kind.bits // 8

    def visit(self, b: ir.IRBuilder, visit: Callable[[ir.Value, ir.Value], None]) -> None:
        """Visit each element: its number (i32) in memory, and its row-major number."""
        with counted(b, i32(self.rows)) as row, counted(b, i32(self.depth)) as step:
            number = b.add(b.mul(row, i32(self.depth)), step)
            position = number
            if self.is_b:
                position = b.add(b.mul(step, i32(self.rows)), row)
            visit(number, position)


class Sparsity(Record):
    """Places of the elements that a sparse A holds, in a register of metadata of each lane.

    A row of A consists of chunks, and four bits tell which half of a chunk's elements is held: of four elements two, in
    their order, by two bits each; of two elements of tf32 the first (0b0100) or the second (0b1110).

    Attributes:
        chunks: of a row.
        elements: of a chunk, 4 or 2.
        selector: which of four lanes, or pairs of lanes, has the metadata.
    """

    chunks: int
    elements: int
    selector: int

    def position(self, b: ir.IRBuilder, row: ir.Value, chunk: int) -> tuple[ir.Value, ir.Value]:
        """Lane (i32) and lowest bit (i32) of a chunk's four bits. PTX ISA manual, 9.7.14.6.2; checked on an H200."""
        lane, half = b.shl(b.and_(row, i32(7)), i32(2)), b.lshr(row, i32(3))
        if self.chunks == 16:
            return b.add(b.add(lane, half), i32(2 * (chunk // 8))), i32(4 * (chunk % 8))
        first = self.selector * (self.chunks // 4)
        return b.add(lane, i32(first + chunk // 4)), b.add(b.shl(half, i32(4)), i32(4 * (chunk % 4)))

    def places(self, b: ir.IRBuilder, metadata: ir.Value, rows: int, depth: int) -> ir.Value:
        """The row of B (i32) of each element that A holds: an array on the stack.

        Args:
            b: the builder.
            metadata: a register of each lane.
            rows: of A.
            depth: elements that a row of A holds.
        """
        places = entry_alloca(b.function, ir.ArrayType(I32, rows * depth), align=64)
        with counted(b, i32(rows)) as row:
            for chunk in range(self.chunks):
                lane, shift = self.position(b, row, chunk)
                word = b.load(element(b, metadata, lane, I32), typ=I32, align=4)
                bits = b.and_(b.lshr(word, shift), i32(15))
                if self.elements == 4:
                    held = [b.and_(bits, i32(3)), b.lshr(bits, i32(2))]
                else:
                    held = [b.zext(b.icmp_unsigned("==", bits, i32(0b1110)), I32)]
                for number, place in enumerate(held):
                    own = b.add(b.mul(row, i32(depth)), i32(len(held) * chunk + number))
                    b.store(b.add(place, i32(self.elements * chunk)), element(b, places, own, I32))
        return places


# --- the area of a warp -----------------------------------------------------------------------------------------------
# Area of a warp, in which its lanes show each other the parts of matrices that they hold.
#
# Each lane writes its registers to the area in the block's context, and waits for the others. The barriers of
# `aligned_barriers` keep the area until all lanes have read it. Frequent instructions do without: they read the rows in
# which the context has the lanes' registers, and leave their results in such rows.


_ALL_LANES = 0xFFFF_FFFF
LOAD, STORE, MOVE, MULTIPLY, PRODUCT = range(96, 176, 16)
"""The operations' numbers in a warp operation's key: see `lane_mailbox`."""


def area(emitter: Services) -> ir.Value:
    """A pointer to the area of the thread's warp."""
    b = emitter.builder
    distance = b.mul(b.zext(warp(b, emitter.view, emitter.thread), I64), i64(AREA))
    return at(b, at(b, emitter.view.pointer("context"), LAYOUT["area"][0]), distance)


def own_lane(emitter: Services) -> ir.Value:
    """The thread's lane, i32."""
    return lane(emitter.builder, emitter.view, emitter.thread)


def show(emitter: Services, start: int, values: list[ir.Value]) -> int:
    """Write values (of one integer type) to the warp's area, lane by lane from byte `start`; return where they end."""
    b = emitter.builder
    step: int = values[0].type.width // 8
    stride = step * len(values)
    offset = b.add(b.mul(b.zext(own_lane(emitter), I64), i64(stride)), i64(start))
    own = at(b, area(emitter), offset)
    for number, value in enumerate(values):
        b.store(value, at(b, own, step * number), align=step)
    return start + 32 * stride


def meet(emitter: Services, operation: int, value: ir.Value | None = None) -> None:
    """Wait until all lanes of the warp have written their registers to the area; `value` (i64) is posted."""
    post(emitter, operation, i32(_ALL_LANES), i64(0) if value is None else value)
    emitter.wait(WARP)


def compute_once(emitter: Services, end: int, multiply: Callable[[ir.Value], None]) -> ir.Value:
    """Wait for the other lanes, and let the one that comes first compute what all of them need.

    Args:
        emitter: the function being lowered.
        end: where the area ends that the lanes have written.
        multiply: builds the computation, given the area.

    Returns:
        the area.
    """
    b = emitter.builder
    b.store(i32(0), at(b, area(emitter), end), align=4)
    meet(emitter, MULTIPLY)
    b, shown = emitter.builder, area(emitter)
    is_computed = at(b, shown, end)
    compute, after = b.append_basic_block("multiply"), b.append_basic_block("multiplied")
    b.cbranch(b.icmp_unsigned("==", b.load(is_computed, typ=I32, align=4), i32(0)), compute, after)
    b.position_at_end(compute)
    multiply(shown)
    b = emitter.builder
    b.store(i32(1), is_computed, align=4)
    b.branch(after)
    b.position_at_end(after)
    return shown


def load_own(emitter: Services, shown: ir.Value, start: int, registers: Sequence[Operand], bits: int) -> None:
    """Load this lane's registers from the area, where those of the first lane begin at byte `start`."""
    b, step = emitter.builder, bits // 8
    distance = b.zext(b.mul(own_lane(emitter), i32(step * len(registers))), I64)
    own = at(b, shown, b.add(i64(start), distance))
    for number, register in enumerate(registers):
        value = b.load(at(b, own, step * number), typ=ir.IntType(bits), align=step)
        emitter.write(register, value, f"b{bits}")


def context_rows(emitter: Services, operands: Iterable[Operand]) -> list[int]:
    """The first bytes of the rows of the thread context that have the operands' values, of 32 bits each."""
    return [_row(emitter, operand, number) for number, operand in enumerate(operands)]


def _row(emitter: Services, operand: Operand, number: int) -> int:
    if not isinstance(operand, Register):
        name = f"operand.{number}"
        value = i32(0) if isinstance(operand, Sink) else emitter.read(operand, "b32")
        emitter.exits.keep(emitter, name, value)
        return emitter.exits.row_of(emitter, name)
    if width(emitter.declared(operand.name)) != 32:
        raise unsupported(emitter.current(), f"register {operand.name} does not have 32 bits")
    return emitter.exits.row_of(emitter, operand.name)


def load_results(emitter: Services, instruction: Instruction, operands: Iterable[Operand]) -> None:
    """Load the results that the warp's first lane has left in the context, where they are read before the next wait."""
    liveness = emitter.flow.liveness
    assert liveness is not None
    registers = dict.fromkeys(item for item in operands if isinstance(item, Register))
    for register in registers:
        if instruction.guard is not None or register.name in liveness.needed_results[emitter.index]:
            emitter.write(register, emitter.exits.load_kept(emitter, register.name), "b32")
