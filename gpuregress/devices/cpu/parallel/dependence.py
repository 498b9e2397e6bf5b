"""Whether the parts of a launch touch what other parts write, as far as the kernel's footprint tells.

The bytes that an access may touch in a part lie between a least and a greatest address. Where these intervals meet
because all parts go through a buffer in strides (a grid-stride loop, a transposition), they are compared modulo the
stride: two accesses whose addresses differ by a multiple of it other than 0, and by less than it besides, are apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from gpuregress.devices.cpu.parallel.affine_expressions import Knowledge, NotUnderstoodError, Sum
from gpuregress.devices.cpu.parallel.affine_operations import mixed_range
from gpuregress.devices.cpu.parallel.footprint_evaluation import Footprint, Instance, instances
from gpuregress.devices.cpu.runtime.layout import region_of
from gpuregress.devices.cpu.runtime.memory import AddressSpace, Region
from gpuregress.devices.cpu.runtime.textures import Textures

Ranges = Mapping[str, tuple[int, int]]
_Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Places:
    """What addresses, handles and names stand for.

    Attributes:
        space: where the buffers are.
        textures: of textures and surfaces.
        symbols: the program's variables' addresses.
    """

    space: AddressSpace
    textures: Textures
    symbols: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Access:
    """Bytes that every thread, or some, may touch: `count` from `first` on."""

    first: Sum
    count: int
    instance: Instance


@dataclass(slots=True)
class _Touched:
    """What happens in one region."""

    written: list[_Access]
    read: list[_Access]
    read_anywhere: bool = False


class Apart:
    """Answers for one launch.

    Args:
        footprint: the kernel's.
        ranges: each coordinate's least and greatest value in the whole launch.
        parameters: the argument bytes.
        places: what addresses, handles and names stand for.

    Raises:
        NotUnderstoodError: a write may go anywhere.
    """

    def __init__(self, footprint: Footprint, ranges: Ranges, parameters: bytes, places: Places) -> None:
        self._footprint, self._ranges, self._parameters = footprint, ranges, parameters
        self._places = places
        self._known: dict[Any, list[Instance]] = {}
        self._regions: dict[int, _Touched] = {}
        for kind, *rest in footprint["accesses"]:
            if kind == "write":
                self._write(*rest)
            elif kind == "surface":
                self._surface(*rest)
        for kind, *rest in footprint["accesses"]:
            if kind == "read":
                self._read(*rest)
            elif kind == "texture":
                self._touch_anywhere([self._texture(rest[0]).number])

    def parts(self, parts: Sequence[Sequence[Ranges]]) -> bool:
        """Whether no part, of several boxes of blocks each, touches what another one writes."""
        seen = [[[_views(touched, box) for box in part] for part in parts] for touched in self._regions.values()]
        return all(
            _are_apart(touched, box, other)
            for touched, views in zip(self._regions.values(), seen, strict=True)
            for first, second in combinations(views, 2)
            for box, other in product(first, second)
        )

    # --- accesses -----------------------------------------------------------------------------------------------------

    def _instances(self, nodes: Sequence[int], conditions: Sequence[Sequence[Any]]) -> list[Instance]:
        key = (tuple(nodes), tuple(map(tuple, conditions)))
        if key not in self._known:
            self._known[key] = self._read_instances(nodes, conditions)
        return self._known[key]

    def _read_instances(self, nodes: Sequence[int], conditions: Sequence[Sequence[Any]]) -> list[Instance]:
        given = self._ranges, self._parameters, self._places.symbols
        try:
            return instances(self._footprint, nodes, conditions, *given)
        except NotUnderstoodError:
            # It may be the conditions that are too much.
            return instances(self._footprint, nodes, [], *given)

    def _write(self, count: int, node: int, offset: int, conditions: Sequence[Sequence[Any]]) -> None:
        for instance in self._instances([node], conditions):
            first = instance.places[0].add(offset)
            number = self._region(first, count, instance.known)
            self._regions.setdefault(number, _Touched([], [])).written.append(_Access(first, count, instance))

    def _read(
        self,
        count: int,
        node: int | None,
        offset: int,
        conditions: Sequence[Sequence[Any]],
        buffers: Sequence[int | str] | None,
    ) -> None:
        where = None if buffers is None else self._buffers(buffers)
        if where is not None and self._regions.keys().isdisjoint(where):
            return
        try:
            found = self._read_at(count, node, offset, conditions)
        except NotUnderstoodError:
            if where is None:
                raise
            self._touch_anywhere(where)
        else:
            for number, access in found:
                touched = self._regions.get(number)
                if touched is not None and access not in touched.written:
                    touched.read.append(access)

    def _read_at(
        self, count: int, node: int | None, offset: int, conditions: Sequence[Sequence[Any]]
    ) -> list[tuple[int, _Access]]:
        if node is None:
            raise NotUnderstoodError
        found = []
        for instance in self._instances([node], conditions):
            first = instance.places[0].add(offset)
            found.append((self._region(first, count, instance.known), _Access(first, count, instance)))
        return found

    def _region(self, first: Sum, count: int, known: Knowledge) -> int:
        low, high = known.least(first), known.most(first) + count
        # A sum beyond 64 bits wraps around: it would look apart from what it meets.
        if low < 0 or high > 1 << 64 or region_of(low) != region_of(high):
            raise NotUnderstoodError
        return region_of(low)

    def _buffers(self, buffers: Iterable[int | str]) -> list[int]:
        return [region_of(self._address(item)) for item in buffers]

    def _address(self, buffer: int | str) -> int:
        if isinstance(buffer, int):
            return int.from_bytes(self._parameters[buffer : buffer + 8], "little")
        if buffer not in self._places.symbols:
            raise NotUnderstoodError
        return self._places.symbols[buffer]

    def _touch_anywhere(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number in self._regions:
                self._regions[number].read_anywhere = True

    # --- textures and surfaces ----------------------------------------------------------------------------------------

    def _texture(self, offset: int) -> Region:
        found = self._places.textures.find(int.from_bytes(self._parameters[offset : offset + 8], "little"))
        if found is None:
            raise NotUnderstoodError
        return found.region

    def _surface(
        self, count: int, offset: int, nodes: Sequence[int], bounds: str, conditions: Sequence[Sequence[Any]]
    ) -> None:
        region = self._texture(offset)
        found = self._places.textures.find(int.from_bytes(self._parameters[offset : offset + 8], "little"))
        assert found is not None
        width, *others = (max(1, extent) for extent in found.description.extents)
        width *= found.description.element_size
        extents = [width - count + 1, *others][: len(nodes)]
        for found_here in self._instances(nodes, conditions):
            instance = dataclasses.replace(found_here, known=found_here.known.within({}))
            first, pitch = Sum(region.address), 1
            for place, extent, size in zip(instance.places, extents, [width, *others], strict=False):
                self._inside(instance.known, place, extent, bounds)
                first = first.plus(place, pitch)
                pitch *= size
            if bounds != "trap" and any(number % count for number in (first.constant, *first.factors.values())):
                raise NotUnderstoodError  # It is rounded down.
            touched = self._regions.setdefault(region.number, _Touched([], []))
            touched.written.append(_Access(first, count, instance))

    def _inside(self, known: Knowledge, place: Sum, extent: int, bounds: str) -> None:
        """What is outside of a surface is not written there: it traps, or is dropped."""
        low, high = known.least(place), known.most(place)
        if low < -(1 << 31) or high >= 1 << 31 or (bounds == "clamp" and not 0 <= low <= high < extent):
            raise NotUnderstoodError
        known.constrain(place.times(-1))
        known.constrain(place.add(1 - extent))


def _views(touched: _Touched, box: Ranges) -> list[_View]:
    return [_View(item.instance, box) for item in (*touched.written, *touched.read)]


def _are_apart(touched: _Touched, box: Sequence[_View], other: Sequence[_View]) -> bool:
    """Whether of two boxes of blocks neither touches what the other one writes."""
    if touched.read_anywhere:
        return False
    accesses = [*touched.written, *touched.read]
    writes = len(touched.written)
    strides = {abs(factor) for item in touched.written for factor in item.first.factors.values()}
    return any(_are_apart_modulo(item, accesses, writes, (box, other)) for item in (0, *sorted(strides, reverse=True)))


def _are_apart_modulo(stride: int, accesses: Sequence[_Access], writes: int, views: Sequence[Sequence[_View]]) -> bool:
    """Whether boxes are apart where addresses that differ by multiples of a stride are one; 0: no stride."""
    middle = accesses[0].first.constant
    sums = [_modulo(item.first.add(-middle), stride) for item in accesses]
    found: list[tuple[list[_Interval], list[_Interval]]] = []
    for box in views:
        intervals = [
            view.interval(item, access.count) if view.possible else None
            for view, item, access in zip(box, sums, accesses, strict=True)
        ]
        written = [item for item in intervals[:writes] if item is not None]
        found.append((written, written + [item for item in intervals[writes:] if item is not None]))
    everything = [item for _, touched in found for item in touched]
    if not everything:
        return True
    if stride and max(end for _, end in everything) - min(first for first, _ in everything) > stride:
        return False
    return not any(
        first < other_end and other_first < end
        for number, (written, _) in enumerate(found)
        for other, (_, touched) in enumerate(found)
        if other != number
        for first, end in set(written)
        for other_first, other_end in set(touched)
    )


def _modulo(item: Sum, stride: int) -> Sum:
    if not stride:
        return item
    constant = (item.constant + stride // 2) % stride - stride // 2
    return Sum(constant, {atom: factor for atom, factor in item.factors.items() if factor % stride})


class _View:
    """An instance of an access in one part of the launch."""

    def __init__(self, instance: Instance, box: Ranges) -> None:
        self._known = instance.known.within(box)
        for atom, (item, group) in instance.mixed.items():
            if atom in self._known.ranges and self._known.possible():
                self._known = self._known.within({atom: mixed_range(self._known, item, group)})
        self.possible = self._known.possible()

    def interval(self, item: Sum, count: int) -> _Interval:
        """Between what the bytes of a sum lie: first, end."""
        return self._known.least(item), self._known.most(item) + count
