"""Syntax tree of a PTX module.

Names follow the PTX ISA manual. A register's scope is already resolved: inside `{ }` the parser renames a redeclared
register, so that a name is unique within its function.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import ClassVar, Literal, TypeAlias

from msgspec import field

from gpuregress.gpu.errors import CALLED_AT, CodeLine
from gpuregress.gpu.records import Record

Space = Literal["reg", "const", "global", "local", "param", "shared", "tex"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the CUDA source, from `.loc` and `.file`, with the calls that inlined code comes from.

    Lines of libraries are left out where a line of the user's own follows: a message about `half` arithmetic or
    cub names the line that uses it.

    Attributes:
        file: its name without folders.
        line: counted from 1; the innermost one.
        calls: (file, line) of the calls that the line is inlined into, innermost first.
        library: (file, line) of the code inside a library and of the calls in it, innermost first.
        inner: (file as `.file` names it, line, column) of the code itself and of all calls that it is inlined into,
            innermost first, libraries included.
    """

    file: str
    line: int
    calls: tuple[tuple[str, int], ...] = ()
    library: tuple[tuple[str, int], ...] = ()
    inner: tuple[tuple[str, int, int], ...] = dataclass_field(default=(), compare=False, repr=False)

    @property
    def places(self) -> tuple[tuple[str, int, int], ...]:
        """`inner`, or else the line itself with the column 0."""
        return self.inner or ((self.file, self.line, 0),)

    def __str__(self) -> str:
        """`saxpy.cu:12`, or `dot.cuh:8, called at gemv.cu:10`."""
        return chain_text(((self.file, self.line), *self.calls))


def chain_text(lines: Iterable[tuple[str, int]]) -> str:
    """Lines of inlined functions in words, the innermost first: `dot.cuh:8, called at gemv.cu:10`."""
    return CALLED_AT.join(f"{file}:{line}" for file, line in lines)


UNDEFINED = "undefined"
"""Modifier, of this tree alone, of a `trap` that stands for undefined behaviour."""

# --- operands ---------------------------------------------------------------------------------------------------------


class Register(Record):
    """`%r1`, `%tid.x`, `%SP`."""

    name: str


class Integer(Record):
    """An integer constant, sign applied."""

    value: int


class Float(Record):
    """A floating-point constant as the bits it has: `0f3F800000` (width 32), `0d…` (width 64), `1.5` (width 64)."""

    bits: int
    width: Literal[32, 64]

    @property
    def value(self) -> float:
        """The number."""
        code = "<f" if self.width == 32 else "<d"
        value: float = struct.unpack(code, self.bits.to_bytes(self.width // 8, "little"))[0]
        return value


class Symbol(Record):
    """The name of a variable, function or label, plus bytes."""

    name: str
    offset: int = 0


class Address(Record):
    """`[base + offset]`; the base of an absolute address is an Integer."""

    base: Register | Symbol | Integer
    offset: int = 0


class Vector(Record):
    """`{%f1, %f2, _, 0f00000000}`."""

    elements: tuple[Operand, ...]


class Pair(Record):
    """`%p1|%p2`: the second result of setp, shfl, vote, match."""

    first: Operand
    second: Operand


class Negated(Record):
    """`!%p1`."""

    operand: Register


class Sink(Record):
    """`_`: a discarded result."""


class Selected(Record):
    """Selected bytes or a half of a register, in video instructions: `%r1.b0`, `%r2.h1`, `%r3.b3210`."""

    register: Register
    part: str


class Minus(Record):
    """`-%r1`, `-%r2.h0`: a negated operand of vmad."""

    operand: Register | Selected


class TextureAddress(Record):
    """`[texture, {coordinates}]`, as in tex, suld, cp.async.bulk.tensor."""

    base: Register | Symbol
    coordinates: Operand


Operand: TypeAlias = (
    Register | Integer | Float | Symbol | Address | Vector | Pair | Negated | Selected | Minus | Sink | TextureAddress
)


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector, or the one operand."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


# --- statements -------------------------------------------------------------------------------------------------------


class Guard(Record):
    """`@%p1` or `@!%p1`."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        opcode: the first word: `add`, `ld`, `bar`.
        modifiers: the words after it, in order: `("rn", "ftz", "f32")`.
        operands: in order, results first.
        guard: its predicate.
        ptx_line: its line in the PTX text, from 1.
        source: the CUDA source line, if a `.loc` precedes.
        used_bytes: of a load the bytes that are used, bit 0 for the first one, where a `.pragma` tells them; None: all.
        live_if: of a load the predicate register without which its value is dead, where that was looked for.
        registers: the registers that `analysis.effects` has found in it, which many analyses ask for.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    ptx_line: int = 0
    source: SourceLine | None = None
    used_bytes: int | None = None
    live_if: str = ""
    registers: dict[str, tuple[str, ...]] = dataclass_field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def mnemonic(self) -> str:
        """`add.rn.ftz.f32`."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def address(self) -> Address | None:
        """The first operand in brackets."""
        for operand in self.operands:
            if isinstance(operand, Address):
                return operand
        return None


class Call(Record):
    """`call (results), callee, (arguments), prototype;`: results and arguments name `.param` variables or values.

    Attributes:
        callee: a Symbol for a direct call, a Register for one through a pointer.
        results: in order.
        arguments: in order.
        prototype: the `.callprototype` or `.calltargets` label of an indirect call.
    """

    callee: Symbol | Register
    results: tuple[Operand, ...]
    arguments: tuple[Operand, ...]
    prototype: str | None = None
    uniform: bool = False
    guard: Guard | None = None
    ptx_line: int = 0
    source: SourceLine | None = None


class Label(Record):
    """`$L__BB0_2:`, which has no guard."""

    guard: ClassVar[None] = None
    name: str
    ptx_line: int = 0


Statement: TypeAlias = Instruction | Call | Label


def instruction_at(place: Statement, opcode: str, modifiers: Sequence[str], *operands: Operand) -> Instruction:
    """Make an instruction with the guard and the lines of another statement."""
    source = None if isinstance(place, Label) else place.source
    return Instruction(opcode, tuple(modifiers), operands, guard=place.guard, ptx_line=place.ptx_line, source=source)


def as_instruction(statement: Statement) -> Instruction:
    """Return an instruction as it is, and a call as one without operands, to be named in messages."""
    return statement if isinstance(statement, Instruction) else instruction_at(statement, "call", ())


def code_line(statement: Instruction | Call) -> CodeLine:
    """The source line of a statement; that of the PTX where the compiler left no source line."""
    source = statement.source
    if source is None:
        return CodeLine("", statement.ptx_line)
    return CodeLine(source.file, source.line, source.calls)


class MaskedSymbol(Record):
    """One byte of an address in an initializer: `0xFF00(table+4)` is the byte under the mask, shifted down."""

    symbol: Symbol
    mask: int


Initializer: TypeAlias = Integer | Float | Symbol | MaskedSymbol


# --- declarations -----------------------------------------------------------------------------------------------------


class RegisterDeclaration(Record):
    """A register: its type as declared (`pred`, `b32`, `f64`) and its lanes (1, or 2, 4 for `.v2`, `.v4`)."""

    name: str
    type: str
    lanes: int = 1


class Variable(Record):
    """A variable in a state space, or a parameter.

    Attributes:
        name: as written.
        space: its state space.
        type: the element's type: `b8`, `f32`, `u64`.
        count: elements; None for `[]`, the dynamic shared memory.
        alignment: bytes.
        initializer: one entry an element, flat; shorter than `count` means zeros follow. A Symbol is an
            address, a MaskedSymbol a byte of one.
        linkage: "", `visible`, `extern`, `weak`, `common`.
        pointer: the space a `.ptr` parameter points into, if it says so.
    """

    name: str
    space: Space
    type: str
    count: int | None = 1
    alignment: int = 1
    initializer: tuple[Initializer, ...] = ()
    linkage: str = ""
    pointer: str | None = None


class Prototype(Record):
    """A `.callprototype`: the types of an indirect call."""

    name: str
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]


class Function(Record):
    """A kernel (`.entry`) or device function (`.func`); `body` is None for a declaration.

    Attributes:
        directives: `maxntid`, `reqntid`, `minnctapersm`, `noreturn` … → their numbers.
        is_skipped: whether its statements were not parsed, because no launched kernel reaches them.
    """

    name: str
    is_entry: bool
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    registers: tuple[RegisterDeclaration, ...] = ()
    variables: tuple[Variable, ...] = ()
    prototypes: tuple[Prototype, ...] = ()
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    call_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    body: tuple[Statement, ...] | None = None
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    linkage: str = ""
    ptx_line: int = 0
    is_skipped: bool = False

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The body; empty for a declaration."""
        return self.body or ()

    @property
    def instructions(self) -> list[Instruction]:
        """The statements but for labels and calls."""
        return [item for item in self.statements if isinstance(item, Instruction)]


class Module(Record):
    """A whole PTX text."""

    version: str
    target: str
    address_size: int
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
