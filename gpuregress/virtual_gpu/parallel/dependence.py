"""Dependence test between parts of a launch.

Two parts conflict if both may touch a byte and one of them writes it. The bytes that an access may touch in a part lie
between a least and a greatest address. Where these intervals overlap because all parts go through a buffer in strides
(a grid-stride loop, a transposition), they are compared modulo the stride: two accesses whose addresses differ by a
multiple of it other than 0, and by less than it besides, are disjoint.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import msgspec

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.parallel.affine import (
    Affine,
    Box,
    ConstraintSystem,
    KernelLaunch,
    NotAffineError,
    Range,
    xor_range,
)
from gpuregress.virtual_gpu.parallel.footprint_evaluation import Instance, LaunchValues, instances
from gpuregress.virtual_gpu.runtime.footprint_ir import Conditions, Footprint, Read, SurfaceWrite, TextureRead, Write
from gpuregress.virtual_gpu.runtime.machine_layout import region_of
from gpuregress.virtual_gpu.runtime.textures import TextureObject


class _Access(Record):
    """`size` bytes from `first` on, which every thread, or some, may touch."""

    first: Affine
    size: int
    instance: Instance


@dataclass(slots=True)
class _RegionAccesses:
    """The accesses to one region."""

    written: list[_Access] = field(default_factory=list)
    read: list[_Access] = field(default_factory=list)
    read_anywhere: bool = False

    @property
    def everything(self) -> list[_Access]:
        """All accesses, those that write first."""
        return [*self.written, *self.read]

    def restricted(self, box: Box) -> list[_Restricted]:
        """The accesses as a box of blocks makes them."""
        return [_Restricted(item.instance, box) for item in self.everything]


class DependenceTest:
    """The dependence test of one launch.

    Args:
        footprint: of the kernel.
        launch: with its numbers.

    Raises:
        NotAffineError: a write may go anywhere.
    """

    def __init__(self, footprint: Footprint, launch: KernelLaunch) -> None:
        self._values = LaunchValues(footprint, launch.box, launch.parameters, launch.addresses.symbols)
        self._addresses = launch.addresses
        self._known: dict[tuple[tuple[int, ...], Conditions], list[Instance]] = {}
        self._regions: dict[int, _RegionAccesses] = defaultdict(_RegionAccesses)
        for access in footprint.accesses:
            if isinstance(access, Write):
                for number, touched in self._resolved(access.address, access):
                    self._regions[number].written.append(touched)
            elif isinstance(access, SurfaceWrite):
                self._surface(access)
        for access in footprint.accesses:
            if isinstance(access, Read):
                self._read(access)
            elif isinstance(access, TextureRead):
                self._read_anywhere([self._texture(access.handle).region.number])

    def is_independent(self, parts: Sequence[Sequence[Box]]) -> bool:
        """Whether no part, made of several boxes of blocks each, touches a byte that another one writes."""
        for accesses in self._regions.values():
            restricted = [[accesses.restricted(box) for box in part] for part in parts]
            for first, second in combinations(restricted, 2):
                if not all(_is_disjoint(accesses, boxes) for boxes in product(first, second)):
                    return False
        return True

    def shared_regions(
        self, is_injective: Callable[[list[tuple[Affine, int]], dict[str, Range]], bool]
    ) -> frozenset[int]:
        """Return the regions that are written, and in which a thread may touch a byte that another one writes.

        Args:
            is_injective: whether accesses of different threads never meet, by their addresses and bytes and by the
                ranges of all variables.
        """
        shared: set[int] = set()
        for number, accesses in self._regions.items():
            if accesses.read_anywhere or not is_injective(*_joined(accesses.everything)):
                shared.add(number)
        return frozenset(shared)

    # --- accesses -----------------------------------------------------------------------------------------------------

    def _instances(self, nodes: tuple[int, ...], conditions: Conditions) -> list[Instance]:
        key = (nodes, conditions)
        if key not in self._known:
            try:
                self._known[key] = instances(self._values, nodes, conditions)
            except NotAffineError:
                # The conditions may be the part that is not affine.
                self._known[key] = instances(self._values, nodes, ())
        return self._known[key]

    def _resolved(self, address: int, access: Read | Write) -> list[tuple[int, _Access]]:
        """The instances of an access, each with the number of its region."""
        resolved = []
        for instance in self._instances((address,), access.conditions):
            first = instance.values[0].add(access.offset)
            low, high = instance.system.lower_bound(first), instance.system.upper_bound(first) + access.size
            # An expression beyond 64 bits wraps around: it would look disjoint from accesses that it meets.
            if low < 0 or high > 1 << 64 or region_of(low) != region_of(high):
                raise NotAffineError
            resolved.append((region_of(low), _Access(first, access.size, instance)))
        return resolved

    def _read(self, access: Read) -> None:
        regions = None if access.buffers is None else [region_of(self._address(item)) for item in access.buffers]
        if regions is not None and self._regions.keys().isdisjoint(regions):
            return
        try:
            if access.address is None:
                raise NotAffineError  # noqa: TRY301 - as if it were found here
            resolved = self._resolved(access.address, access)
        except NotAffineError:
            if regions is None:
                raise
            self._read_anywhere(regions)
            return
        for number, touched in resolved:
            accesses = self._regions.get(number)
            if accesses is not None and touched not in accesses.written:
                accesses.read.append(touched)

    def _address(self, buffer: int | str) -> int:
        if isinstance(buffer, int):
            return self._values.parameter(buffer, 8)
        if buffer not in self._addresses.symbols:
            raise NotAffineError
        return self._addresses.symbols[buffer]

    def _read_anywhere(self, regions: Iterable[int]) -> None:
        for number in regions:
            if number in self._regions:
                self._regions[number].read_anywhere = True

    # --- textures and surfaces ----------------------------------------------------------------------------------------

    def _texture(self, offset: int) -> TextureObject:
        texture = self._addresses.textures.find(self._values.parameter(offset, 8))
        if texture is None:
            raise NotAffineError
        return texture

    def _surface(self, access: SurfaceWrite) -> None:
        surface = self._texture(access.handle)
        region, size = surface.region, access.size
        sides = [max(1, extent) for extent in surface.description.extents]
        sides[0] *= surface.description.element_size
        for instance in self._instances(access.coordinates, access.conditions):
            inside = replace(instance, system=instance.system.restricted({}))
            first, pitch = Affine(region.address), 1
            for axis, (coordinate, side) in enumerate(zip(instance.values, sides, strict=False)):
                extent = side if axis else side - size + 1
                _constrain_inside(inside.system, coordinate, extent, access.bounds)
                first = first.plus(coordinate, pitch)
                pitch *= side
            if access.bounds != "trap" and not first.is_multiple_of(size):
                raise NotAffineError  # It is rounded down.
            self._regions[region.number].written.append(_Access(first, size, inside))


def _joined(accesses: list[_Access]) -> tuple[list[tuple[Affine, int]], dict[str, Range]]:
    """The addresses and bytes of accesses, and the least range of each variable that holds for all."""
    ranges: dict[str, Range] = {}
    for access in accesses:
        for name, (low, high) in access.instance.system.ranges.items():
            least, most = ranges.get(name, (low, high))
            ranges[name] = min(low, least), max(high, most)
    return [(item.first, item.size) for item in accesses], ranges


def _constrain_inside(system: ConstraintSystem, coordinate: Affine, extent: int, bounds: str) -> None:
    """Add that a coordinate is inside a surface: a write outside traps, or is dropped."""
    low, high = system.lower_bound(coordinate), system.upper_bound(coordinate)
    if low < -(1 << 31) or high >= 1 << 31 or (bounds == "clamp" and not 0 <= low <= high < extent):
        raise NotAffineError
    system.add(coordinate.times(-1))
    system.add(coordinate.add(1 - extent))


class _Restricted:
    """An instance of an access in one box of blocks."""

    def __init__(self, instance: Instance, box: Box) -> None:
        self._system = instance.system.restricted(box)
        for variable, (item, group) in instance.xors.items():
            if variable in self._system.ranges and self._system.is_feasible():
                self._system = self._system.restricted({variable: xor_range(self._system, item, group)})
        self.is_feasible = self._system.is_feasible()

    def interval(self, item: Affine, size: int) -> Range:
        """Return the bytes from an expression on: the first, and the end (exclusive)."""
        return self._system.lower_bound(item), self._system.upper_bound(item) + size


def _is_disjoint(accesses: _RegionAccesses, boxes: Sequence[Sequence[_Restricted]]) -> bool:
    """Whether of two boxes of blocks neither touches a byte that the other one writes."""
    if accesses.read_anywhere:
        return False
    strides: set[int] = set()
    for access in accesses.written:
        strides.update(map(abs, access.first.coefficients.values()))
    return any(_is_disjoint_modulo(stride, accesses, boxes) for stride in (0, *sorted(strides, reverse=True)))


def _is_disjoint_modulo(stride: int, accesses: _RegionAccesses, boxes: Sequence[Sequence[_Restricted]]) -> bool:
    """Whether boxes are disjoint where addresses that differ by multiples of a stride are one; 0: no stride."""
    everything = accesses.everything
    middle = everything[0].first.constant
    offsets = [_modulo(access.first.add(-middle), stride) for access in everything]
    touched: list[set[Range]] = []
    written: list[set[Range]] = []
    for box in boxes:
        intervals: set[Range] = set()
        written_intervals: set[Range] = set()
        for position, restricted in enumerate(box):
            if restricted.is_feasible:
                interval = restricted.interval(offsets[position], everything[position].size)
                intervals.add(interval)
                if position < len(accesses.written):
                    written_intervals.add(interval)
        touched.append(intervals)
        written.append(written_intervals)
    both = touched[0] | touched[1]
    if not both:
        return True
    if stride and max(end for _, end in both) - min(first for first, _ in both) > stride:
        return False
    return not (_overlap(written[0], touched[1]) or _overlap(written[1], touched[0]))


def _overlap(intervals: Iterable[Range], others: Iterable[Range]) -> bool:
    pairs = product(intervals, others)
    return any(first < other_end and other_first < end for (first, end), (other_first, other_end) in pairs)


def _modulo(item: Affine, stride: int) -> Affine:
    if not stride:
        return item
    constant = (item.constant + stride // 2) % stride - stride // 2
    return Affine(constant, {name: number for name, number in item.coefficients.items() if number % stride})


# --- race freedom -----------------------------------------------------------------------------------------------------
# Proof that no two threads of a launch race in a buffer.
#
# No thread of the launch writes it, or each thread has elements of its own. The latter holds where all accesses have
# one affine address, up to constants, whose coefficients are those of a mixed-radix number system: sorted by size, each
# one is at least the distance that all smaller ones reach together.

FEWEST_THREADS = 1 << 12
"""Threads of a launch from which on the dependence test, some 0.5 ms, costs less than it saves."""
_MOST_KEPT = 256
_COORDINATES = tuple(f"{name}.{axis}" for name in ("tid", "ctaid") for axis in "xyz")


class RaceFreedom:
    """Proofs for the launches of loaded programs."""

    def __init__(self) -> None:
        self._known: dict[object, frozenset[int] | None] = {}

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def regions(
        self, kernel: str, launch: KernelLaunch, written: Collection[int | str] | None, numbers: Iterable[int]
    ) -> frozenset[int]:
        """Return the regions in which no two threads of a launch race.

        Args:
            kernel: identifies the kernel among those of all loaded programs.
            launch: the launch.
            written: the first bytes of the parameters, and the variables, that the kernel may write through; None:
                anything.
            numbers: of all regions.
        """
        everything = frozenset(numbers)
        unwritten: frozenset[int] = frozenset()
        if written is not None:
            unwritten = everything - {_region(launch, item) for item in written}
        if launch.footprint is None or launch.blocks * math.prod(launch.block) < FEWEST_THREADS:
            return unwritten
        key = (kernel, launch.grid, launch.block, launch.parameters)
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = racy_regions(launch)
        racy = self._known[key]
        return unwritten if racy is None else everything - racy


def _region(launch: KernelLaunch, pointer: int | str) -> int:
    """The number of the region that a variable, or the pointer or handle in a parameter, stands for."""
    if isinstance(pointer, str):
        return region_of(launch.addresses.symbols.get(pointer, 0))
    value = int.from_bytes(launch.parameters[pointer : pointer + 8], "little")
    surface = launch.addresses.textures.find(value)
    return region_of(value) if surface is None else surface.region.number


def racy_regions(launch: KernelLaunch) -> frozenset[int] | None:
    """Return the regions in which threads of a launch may race; None: any."""
    assert launch.footprint is not None
    try:
        test = DependenceTest(launch.footprint.footprint, launch)
    except (NotAffineError, RecursionError, msgspec.DecodeError):  # the last one: damaged in the cache
        return None
    return test.shared_regions(is_injective)


def is_injective(items: Collection[tuple[Affine, int]], ranges: dict[str, Range]) -> bool:
    """Whether accesses of different threads never touch the same byte.

    Args:
        items: the address and the bytes of each access.
        ranges: of each variable; a loop's iterations are variables that each thread has for itself.
    """
    firsts = [address for address, _ in items]
    coefficients = firsts[0].coefficients
    if any(first.coefficients != coefficients for first in firsts):
        return False
    for name in coefficients:
        if name not in _COORDINATES and not name.startswith("k"):
            return False  # A quotient or a mask is no variable of its own.
    for name in _COORDINATES:
        low, high = ranges.get(name, (0, 0))
        if low != high and name not in coefficients:
            return False
    reach = max(first.constant + size for first, size in items) - min(first.constant for first in firsts)
    for name in sorted(coefficients, key=lambda name: abs(coefficients[name])):
        if abs(coefficients[name]) < reach:
            return False
        low, high = ranges[name]
        reach += abs(coefficients[name]) * (high - low)
    return True
