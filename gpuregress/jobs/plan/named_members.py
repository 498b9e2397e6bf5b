"""Layout of struct arguments whose members a job gives by name, as the compiler places them.

The result is a struct argument with its members in order. Zeros stand for the padding.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from gpuregress.foundation.records import Argument, TypeLayout
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import record_layouts

PADDING = "(padding)"
"""The label of zeros between members."""
_WORDS = (8, 4, 2, 1)
"""Bytes of the numbers that padding is made of."""


class _Place(Record):
    """Where a member is.

    Attributes:
        offset: bytes from the beginning of the structure.
        size: bytes of the member; of a structure or an array within, up to the end of its last member.
        padding: bytes after a structure or an array within that no member has, and that its own size may include.
    """

    offset: int
    size: int
    padding: int = 0

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.offset + self.size

    def covers(self, other: _Place) -> bool:
        """Tell whether another member is within this one."""
        return self.offset <= other.offset and other.end <= self.end


def member_names(type_: TypeLayout) -> list[str]:
    """List the names that a job gives the members of a structure, each element of an array for itself.

    Args:
        type_: of the structure. Bit-fields of one word are one member, which has the name of the first.
    """
    return list(_places(type_))


def placed(argument: Argument, type_: TypeLayout) -> Argument:
    """Return a struct argument with its members where the compiler has them.

    Args:
        argument: with members by name.
        type_: of the parameter.

    Raises:
        ValueError: a name that is unknown or missing, or a member of another size.
    """
    places = _places(type_)
    members: list[_PlacedMember] = []
    for name, given in _flattened(argument, ""):
        place = places.get(name) or _range_of(name, places, type_.size)
        if place is None:
            near = difflib.get_close_matches(name, places, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{_called(type_)} has no member {name!r}{hint}; its members are {', '.join(places)}")
        members.append(_PlacedMember(name, place, given))
    missing = []
    for name, place in places.items():
        if not any(member.place.covers(place) for member in members):
            missing.append(name)
    if missing:
        raise ValueError(f"{_called(type_)} has members that are not given: {', '.join(missing)}")
    fields: list[Argument] = []
    end = 0
    for member in sorted(members, key=lambda member: member.place.offset):
        problem = member.problem(end)
        if problem:
            raise ValueError(f"{member.name} of {_called(type_)} {problem}")
        fields += [*_zeros(end, member.place.offset), replace(member.argument, label=member.name)]
        end = member.place.offset + member.size
    fields += _zeros(end, type_.size)
    return Argument("struct", fields=tuple(fields), label=_called(type_))


class _PlacedMember(Record):
    """A member with its place, and what the job gives for it."""

    name: str
    place: _Place
    argument: Argument

    @property
    def size(self) -> int:
        """Bytes that the job gives."""
        return record_layouts.size_and_alignment(self.argument)[0]

    @property
    def _is_padded(self) -> bool:
        """Whether the job gives a structure with the padding at its end."""
        is_room = self.place.size < self.size <= self.place.size + self.place.padding
        return is_room and record_layouts.end_of_data(self.argument) <= self.place.size

    def problem(self, end: int) -> str:
        """Say what is wrong with it after members that end at an offset; "" where it is right."""
        size, alignment = record_layouts.size_and_alignment(self.argument)
        if size != self.place.size and not self._is_padded:
            return f"has {plural(self.place.size, 'byte')}, and {plural(size, 'byte')} are given"
        if self.place.offset < end:
            return "shares bytes with another member that is given: leave one out"
        if self.place.offset % alignment:
            return f"is at byte {self.place.offset}, where no {self.argument.dtype or 'pointer'} of a job can be"
        return ""


def _called(type_: TypeLayout) -> str:
    return type_.name or "the structure"


def _flattened(argument: Argument, prefix: str) -> Iterator[tuple[str, Argument]]:
    """List the members that are given by name, those of structures within in their place."""
    for name, member in zip(argument.names, argument.fields, strict=True):
        path = f"{prefix}{name}"
        if member.names:
            yield from _flattened(member, f"{path}.")
        else:
            yield path, member


def _places(type_: TypeLayout) -> dict[str, _Place]:
    """Return the members of a structure with their places, without bit-fields after the first one of a word."""
    places: dict[str, _Place] = {}
    end = 0
    for field in sorted(type_.fields, key=lambda field: field.offset):
        if field.offset < end:
            continue
        for number in range(field.count):
            name = field.path or f"union_{field.offset}"
            if field.count > 1:
                name = f"{name}[{number}]"
            places[name] = _Place(field.offset + number * field.size, field.size)
        end = field.offset + field.count * field.size
    return places


def _range_of(name: str, places: Mapping[str, _Place], size: int) -> _Place | None:
    """Return the place of a structure or an array within, which a vector or a record may fill.

    Args:
        name: of the member.
        places: of all members, in their order.
        size: of the structure, bytes.

    Returns:
        None: there is no such member.
    """
    within = [place for path, place in places.items() if path.startswith((f"{name}.", f"{name}["))]
    if not within:
        return None
    end = within[-1].end
    next_offset = min((place.offset for place in places.values() if place.offset >= end), default=size)
    return _Place(within[0].offset, end - within[0].offset, next_offset - end)


def _zeros(start: int, end: int) -> Iterator[Argument]:
    """Fill the bytes between two members with zeros."""
    while start < end:
        size = next(size for size in _WORDS if start % size == 0 and start + size <= end)
        yield Argument("scalar", dtype=f"uint{8 * size}", data=bytes(size).hex(), label=PADDING)
        start += size
