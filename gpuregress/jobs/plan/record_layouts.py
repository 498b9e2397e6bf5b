"""Comparison of a job's records, vectors and struct arguments with the types of the compiled program."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.records import (
    TENSOR_MAP_ALIGNMENT,
    TENSOR_MAP_BYTES,
    Argument,
    Case,
    FunctionArgument,
    FunctionCall,
    MemberLayout,
    Program,
    TypeLayout,
)
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.toolchain import layouts
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.functions.harness import CompiledType

_POINTER = 8
_MOST_SHOWN = 12
_MOST_COMPARED = 100_000
"""Numbers of a structure, or of the copies of it that a buffer's element covers, that are compared."""


class _Piece(Record):
    """A scalar or an address that the job puts at an offset, in bytes; `scalar` is None for an address."""

    name: str
    offset: int
    size: int
    scalar: Scalar | None

    def __str__(self) -> str:
        what = "an address"
        if self.scalar is not None:
            what = self.scalar.name
        return f"{self.name} ({what})" if self.name else what


class _Given(Record):
    """What a job puts into memory.

    Attributes:
        pieces: of an element, or of the argument.
        period: bytes after which they are repeated; 0: never.
        name: for messages.
    """

    pieces: tuple[_Piece, ...]
    period: int
    name: str

    def at(self, offset: int) -> _Piece | None:
        """The piece that begins at an offset."""
        if self.period:
            offset %= self.period
        for piece in self.pieces:
            if piece.offset == offset:
                return piece
        return None

    def inside(self, start: int, end: int) -> list[_Piece]:
        """The pieces that have a byte from `start` to before `end`."""
        bases = range(1)
        if self.period:
            start, end = start % self.period, start % self.period + (end - start)
            bases = range(0, end, self.period)
        pieces: list[_Piece] = []
        for base in bases:
            first, last = start - base, end - base
            pieces += [piece for piece in self.pieces if piece.offset < last and first < piece.offset + piece.size]
        return pieces


def is_record(dtype: str) -> bool:
    """Tell whether a dtype is a record."""
    return dtype.startswith("{")


def buffer_problem(dtype: str, type_: TypeLayout) -> str | None:
    """Describe the first difference between a buffer's elements and the structure that a kernel takes them for.

    Args:
        dtype: of the buffer.
        type_: of the structure.

    Returns:
        None where they are laid out alike, or that is not known: bytes, and vectors that records are loaded by.
    """
    element = dtypes.parse(dtype)
    if type_.kind != "class" or not type_.size or element.name in ("int8", "uint8"):
        return None
    element_size = plural(element.size, "byte")
    type_size = plural(type_.size, "byte")
    if not is_record(dtype):
        smaller, larger = sorted((element.size, type_.size))
        if len(element.parts) > 1 and larger % smaller:
            return f"{dtype} has {element_size} and {type_.name} has {type_size}"
        period = math.lcm(element.size, type_.size)
        return _difference(_Given(_parts(element), element.size, "the buffer"), period, type_, period)
    if dtype_of_type(type_.name) is not None:  # records are often loaded as vectors
        if element.size % type_.size == 0:
            return None
        return f"the record has {element_size} and {type_.name} has {type_size}"
    if element.size < type_.size and type_.size % element.size == 0:  # a structure of nothing but these records
        return _difference(_Given(_parts(element), element.size, "the record"), type_.size, type_, type_.size)
    period = element.size if element.size % type_.size == 0 else type_.size
    given = _Given(_parts(element), 0, "the record")
    return _difference(given, element.size, type_, period) or _exchanged(given.pieces, type_)


def argument_problem(argument: Argument, type_: TypeLayout) -> str | None:
    """Describe the first difference between a struct argument and the kernel's parameter; None where there is none.

    Args:
        argument: a struct or a scalar.
        type_: of the parameter.
    """
    if type_.kind != "class" or not type_.size:
        return None
    size, _ = size_and_alignment(argument)
    return _difference(_Given(tuple(_pieces(argument, 0, "")), 0, "the argument"), size, type_, size)


def pointers(argument: Argument, type_: TypeLayout, start: int = 0) -> Iterator[tuple[Argument, str, TypeLayout]]:
    """List the buffers in a struct argument with the members that take them and what those point to.

    Args:
        argument: a struct.
        type_: of the parameter.
        start: where it begins in the parameter, bytes.
    """
    members: dict[int, tuple[str, TypeLayout]] = {}
    for field in type_.fields:
        if field.pointee is not None:
            for number in range(field.count):
                members[field.offset + number * field.size] = (field.path, field.pointee)
    for offset, member in _placed(argument, start):
        if member.kind == "struct":
            yield from pointers(member, type_, offset)
        elif member.kind == "buffer" and offset in members:
            yield member, *members[offset]


def shown(type_: TypeLayout) -> str:
    """Write a structure with its members: `Rec of 8 bytes (float value at 0, int count at 4)`."""
    members = [_member_text(field) for field in type_.fields[:_MOST_SHOWN]]
    if len(type_.fields) > _MOST_SHOWN:
        members.append("…")
    text = f"{type_.name or 'a structure'} of {plural(type_.size, 'byte')}"
    return f"{text} ({', '.join(members)})" if members else text


def size_and_alignment(argument: Argument) -> tuple[int, int]:
    """Return an argument's size and alignment in bytes, with a struct's members laid out as in C."""
    if argument.as_map and not argument.in_memory:
        return TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT
    if argument.kind in ("buffer", "null"):
        return _POINTER, _POINTER
    if argument.kind == "scalar":
        element = dtypes.parse(argument.dtype)
        return element.size, element.alignment
    size, largest = 0, 1
    for member in argument.fields:
        inner, alignment = size_and_alignment(member)
        size = -(-size // alignment) * alignment + inner
        largest = max(largest, alignment)
    return -(-size // largest) * largest, largest


def end_of_data(argument: Argument) -> int:
    """Return the byte after the last number or address of an argument: what follows is padding."""
    return max((piece.offset + piece.size for piece in _pieces(argument, 0, "")), default=0)


def _placed(argument: Argument, start: int) -> Iterator[tuple[int, Argument]]:
    """The members of a struct argument with their offsets, as C places them."""
    offset = start
    for member in argument.fields:
        size, alignment = size_and_alignment(member)
        offset = -(-offset // alignment) * alignment
        yield offset, member
        offset += size


def _pieces(argument: Argument, start: int, name: str) -> Iterator[_Piece]:
    if argument.kind == "struct":
        for number, (offset, member) in enumerate(_placed(argument, start), 1):
            member_name = f"{name}.{number}" if name else f"member {number}"
            if argument.label:  # its members were given by name
                member_name = member.label
            yield from _pieces(member, offset, member_name)
    elif argument.kind == "scalar":
        for part in dtypes.parse(argument.dtype).parts:
            yield _Piece(name, start + part.offset, part.scalar.size, part.scalar)
    else:
        yield _Piece(name, start, size_and_alignment(argument)[0], None)


def _parts(element: ElementType) -> tuple[_Piece, ...]:
    return tuple(_Piece(part.name, part.offset, part.scalar.size, part.scalar) for part in element.parts)


def _difference(given: _Given, size: int, type_: TypeLayout, period: int) -> str | None:
    """Compare what a job gives with a structure, which is repeated over a period.

    Args:
        given: by the job.
        size: of it, bytes.
        type_: of the structure.
        period: bytes.
    """
    name = type_.name or "the structure"
    is_wrapper = len(type_.fields) == 1 and type_.fields[0].count == 1
    for member, number, offset in itertools.islice(_members(type_, period, given.period), _MOST_COMPARED):
        piece = given.at(offset)
        if piece is not None and _fits(piece, member, is_wrapper=is_wrapper):
            continue
        inside = given.inside(offset, offset + member.size)
        is_bytes = len(inside) == member.size and all(part.size == 1 for part in inside)
        if is_bytes or (inside and member.kind == "opaque"):
            continue
        if piece is not None:
            shown_piece = str(piece)
        elif inside:
            shown_piece = f"a part of {inside[0]}"
        else:
            shown_piece = "ended" if offset >= size and not given.period else "padding"
        return f"{name} has {_member_text(member, number, offset)}, where {given.name} has {shown_piece}"
    if size == period:
        return None
    return f"{given.name} has {plural(size, 'byte')} and {name} has {plural(type_.size, 'byte')}"


def _members(type_: TypeLayout, period: int, given_period: int) -> Iterator[tuple[MemberLayout, int, int]]:
    """List the members of a structure that is repeated over a period: member, number in its array, offset."""
    for start in range(0, period, type_.size):
        for member in type_.fields:
            # The elements of an array that are as large as those of a buffer of numbers fit or do not fit alike.
            count = 1 if given_period == member.size else member.count
            for number in range(count):
                yield member, number, start + member.offset + number * member.size


def _exchanged(pieces: Sequence[_Piece], type_: TypeLayout) -> str | None:
    """Describe a member of the structure that the record has at another offset, among others of its type."""
    offsets = {re.sub(r"\W+", "_", piece.name): piece.offset for piece in pieces}
    for member in type_.fields:
        offset = offsets.get(re.sub(r"\W+", "_", member.path), member.offset)
        if member.count == 1 and offset != member.offset:
            return f"{type_.name or 'the structure'} has {_member_text(member)}, and the record has it at {offset}"
    return None


def _fits(piece: _Piece, member: MemberLayout, *, is_wrapper: bool) -> bool:
    """Tell whether a piece may stand at a member's place."""
    if member.kind == "opaque":
        return True
    if piece.size != member.size:
        return False
    if piece.scalar is None or member.kind == "pointer":
        is_address = piece.scalar is None or not piece.scalar.is_float
        return is_address and member.kind in ("pointer", "uint", "int")  # an int: the handle of a texture
    known = layouts.member_dtype(member)
    if known is None:
        return True
    scalar = dtypes.parse(known).parts[0].scalar
    if piece.scalar.holds(scalar) or piece.size == 1:
        return True
    if piece.scalar.is_float == scalar.is_float:
        return False
    return piece.size == 2 or (is_wrapper and member.kind == "uint")  # types that keep the bits of a float


def _member_text(member: MemberLayout, number: int | None = None, offset: int | None = None) -> str:
    """`float value at 0`, `int v[3] at 4`."""
    path = f" {member.path}" if member.path else ""
    if member.count > 1:
        path += f"[{member.count if number is None else number}]"
    return f"{member.type}{path} at {member.offset if offset is None else offset}"


# --- check of the buffers of a function under test against the types that the compiler found --------------------------


_KINDS = {"bool": ("bool",), "int": ("int",), "uint": ("uint",), "float": ("float",), "enum": ("int", "uint")}


def contradictions(case: Case, program: Program) -> dict[Key, str]:
    """Compare the buffers of a function under test with its compiled signature.

    Args:
        case: with a function.
        program: its compiled source.

    Returns:
        Key of the job → what is wrong with it.
    """
    call = case.function
    if call is None or not program.ptx:
        return {}
    try:
        types = harness.signature(Path(program.ptx).read_text(encoding="utf-8"))
    except OSError:  # the device says so when it loads it
        return {}
    if types is None:
        return {}
    known_layouts: list[TypeLayout | None] = [*program.types.get(call.name, ())]
    known_layouts += [None] * (len(types) - len(known_layouts))
    errors: dict[Key, str] = {}
    for argument, type_, layout in zip(call.arguments, types[1:], known_layouts[1:], strict=False):
        if argument.given == "buffer":
            misfit = _misfit(case.buffers[argument.name].dtype, type_, layout)
            if misfit is not None:
                declared = f"parameter {argument.name!r} of {call.declared} is {argument.type}"
                errors["buffers", argument.name, "dtype"] = (
                    f"{argument.name} is {misfit.held}, and {declared}: {misfit.wanted}"
                )
        elif argument.given == "parameter":
            problem = _number_problem(case, argument, type_)
            if problem is not None:
                errors["parameters", argument.name] = problem
    return errors | _result_problem(case, call, types[0], known_layouts[0])


def _result_problem(case: Case, call: FunctionCall, type_: CompiledType, layout: TypeLayout | None) -> dict[Key, str]:
    if type_.kind == "void":
        if not call.result:
            return {}
        return {("buffers", call.result): f"{call.declared} returns nothing, so nothing would be in {call.result}"}
    if not call.result:
        return {("buffers",): f"there is no buffer 'result' for what {call.declared} returns, {_described(type_)}"}
    misfit = _misfit(case.buffers[call.result].dtype, type_, layout)
    if misfit is None:
        return {}
    return {("buffers", call.result, "dtype"): f"result is {misfit.held}, and {call.declared} returns {misfit.wanted}"}


class _Misfit(Record):
    """A buffer's dtype and the type that it does not fit, in words."""

    held: str
    wanted: str


def _misfit(dtype: str, type_: CompiledType, layout: TypeLayout | None) -> _Misfit | None:
    """Compare a buffer's dtype with a compiled type; None where it fits."""
    if layout is not None and layout.kind == "class":
        problem = buffer_problem(dtype, layout)
        return None if problem is None else _Misfit(dtype, f"{shown(layout)}: {problem}")
    element = dtypes.parse(dtype)
    if type_.kind == "void":  # a pointer to anything
        return None
    if type_.kind == "pointer":
        return _Misfit(dtype, "a pointer, and a buffer holds none")
    fits = element.size == type_.size
    if type_.kind in _KINDS:
        fits = fits and len(element.parts) == 1 and element.parts[0].scalar.kind in _KINDS[type_.kind]
    return None if fits else _Misfit(f"{dtype} of {plural(element.size, 'byte')}", _described(type_))


def _number_problem(case: Case, argument: FunctionArgument, type_: CompiledType) -> str | None:
    value = case.parameters[argument.name]
    if type_.kind in ("int", "uint", "enum"):
        low, high = -(2 ** (8 * type_.size - 1)), 2 ** (8 * type_.size - 1) - 1
        if type_.kind == "uint":
            low, high = 0, 2 ** (8 * type_.size) - 1
        if value != int(value) or not low <= value <= high:
            return f"{argument.name} is {value}, and the parameter is {argument.type}: {_described(type_)}"
    if type_.kind in ("class", "pointer"):
        return f"{argument.name} is a number, and the parameter is {argument.type}: give it a buffer {argument.name}"
    return None


def _described(type_: CompiledType) -> str:
    if type_.kind in ("int", "uint", "float"):
        return f"{type_.kind}{8 * type_.size}"
    size = plural(type_.size, "byte")
    if type_.kind == "enum":
        return f"an enumeration of {size}"
    return f"a struct of {size}" if type_.kind == "class" else type_.kind
