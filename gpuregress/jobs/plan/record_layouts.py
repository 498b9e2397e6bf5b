"""Comparison of a job's records, vectors and struct arguments with the types of the compiled program."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.records import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, Argument, MemberLayout, TypeLayout
from gpuregress.gpu.records import Record
from gpuregress.toolchain import layouts
from gpuregress.toolchain.cxx_types import dtype_of_type

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
        what = self.scalar.name if self.scalar is not None else "an address"
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
        place = offset % self.period if self.period else offset
        return next((one for one in self.pieces if one.offset == place), None)

    def inside(self, start: int, end: int) -> list[_Piece]:
        """The pieces that have a byte from `start` to before `end`."""
        if self.period:
            start, end = start % self.period, start % self.period + (end - start)
        turns = range(-(-end // self.period) if self.period else 1)
        return [
            one
            for turn in turns
            for one in self.pieces
            if one.offset + turn * self.period < end and start < one.offset + turn * self.period + one.size
        ]


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
    if not is_record(dtype):
        sizes = sorted((element.size, type_.size))
        if len(element.parts) > 1 and sizes[1] % sizes[0]:
            return f"{dtype} has {_bytes(element.size)} and {type_.name} has {_bytes(type_.size)}"
        period = math.lcm(element.size, type_.size)
        return _difference(_Given(_parts(element), element.size, "the buffer"), period, type_, period)
    if dtype_of_type(type_.name) is not None:  # records are often loaded as vectors
        fits = element.size % type_.size == 0
        return None if fits else f"the record has {_bytes(element.size)} and {type_.name} has {_bytes(type_.size)}"
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
    members = {one.offset + at * one.size: one for one in type_.fields for at in range(one.count) if one.pointee}
    for offset, member in _placed(argument, start):
        if member.kind == "struct":
            yield from pointers(member, type_, offset)
        elif member.kind == "buffer" and offset in members:
            found = members[offset]
            if found.pointee is not None:
                yield member, found.path, found.pointee


def shown(type_: TypeLayout) -> str:
    """Write a structure with its members: `Rec of 8 bytes (float value at 0, int count at 4)`."""
    members = [_member_text(one) for one in type_.fields[:_MOST_SHOWN]]
    if len(type_.fields) > _MOST_SHOWN:
        members.append("…")
    listed = f" ({', '.join(members)})" if members else ""
    return f"{type_.name or 'a structure'} of {_bytes(type_.size)}{listed}"


def remedy(type_: TypeLayout) -> str | None:
    """Return the dtype that has the layout of a structure; None where none has."""
    return layouts.dtype(type_, pads=True)


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
            yield from _pieces(member, offset, f"{name}.{number}" if name else f"member {number}")
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
    # The elements of an array that are as large as those of a buffer of numbers fit or do not fit alike.
    is_wrapper = len(type_.fields) == 1 and type_.fields[0].count == 1
    places = (
        (member, number, start + member.offset + number * member.size)
        for start in range(0, period, type_.size)
        for member in type_.fields
        for number in range(1 if given.period == member.size else member.count)
    )
    for member, number, offset in itertools.islice(places, _MOST_COMPARED):
        there = given.at(offset)
        if there is not None and _fits(there, member, is_wrapper=is_wrapper):
            continue
        inside = given.inside(offset, offset + member.size)
        is_bytes = len(inside) == member.size and all(one.size == 1 for one in inside)
        if is_bytes or (inside and member.kind == "opaque"):
            continue
        gap = "ended" if offset >= size and not given.period else "padding"
        shown_piece = str(there) if there is not None else f"a part of {inside[0]}" if inside else gap
        return f"{name} has {_member_text(member, number, offset)}, where {given.name} has {shown_piece}"
    return None if size == period else f"{given.name} has {_bytes(size)} and {name} has {_bytes(type_.size)}"


def _exchanged(pieces: Sequence[_Piece], type_: TypeLayout) -> str | None:
    """Describe a member of the structure that the record has at another place, among others of its type."""
    places = {re.sub(r"\W+", "_", one.name): one.offset for one in pieces}
    for member in type_.fields:
        place = places.get(re.sub(r"\W+", "_", member.path), member.offset)
        if member.count == 1 and place != member.offset:
            return f"{type_.name or 'the structure'} has {_member_text(member)}, and the record has it at {place}"
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
    own, other = piece.scalar, dtypes.parse(known).parts[0].scalar
    if own.holds(other) or own.size == 1:
        return True
    if own.is_float == other.is_float:
        return False
    return own.size == 2 or (is_wrapper and member.kind == "uint")  # types that keep the bits of a float


def _member_text(member: MemberLayout, number: int | None = None, offset: int | None = None) -> str:
    """`float value at 0`, `int v[3] at 4`."""
    path = f" {member.path}" if member.path else ""
    if member.count > 1:
        path += f"[{member.count if number is None else number}]"
    return f"{member.type}{path} at {member.offset if offset is None else offset}"


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"
