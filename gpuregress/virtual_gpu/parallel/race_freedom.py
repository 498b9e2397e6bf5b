"""Proof that no two threads of a launch race in a buffer.

No thread of the launch writes it, or each thread has elements of its own. The latter holds where all accesses have one
affine address, up to constants, whose coefficients are those of a mixed-radix number system: sorted by size, each one
is at least the distance that all smaller ones reach together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from gpuregress.virtual_gpu.parallel.launch import KernelLaunch, Range
from gpuregress.virtual_gpu.runtime.machine_layout import region_of

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.parallel.affine_expressions import Affine

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
    from gpuregress.virtual_gpu.parallel.affine_expressions import NotAffineError  # noqa: PLC0415 - seldom needed
    from gpuregress.virtual_gpu.parallel.dependence import DependenceTest  # noqa: PLC0415 - seldom needed

    assert launch.footprint is not None
    try:
        test = DependenceTest(launch.footprint.footprint, launch)
    except (NotAffineError, RecursionError, ValueError, TypeError, KeyError):  # the last three: damaged in the cache
        return None
    return test.shared_regions(is_injective)


def is_injective(items: Collection[tuple[Affine, int]], ranges: dict[str, Range]) -> bool:
    """Whether accesses of different threads never touch the same byte.

    Args:
        items: the address and the bytes of each access.
        ranges: of each variable; a loop's iterations are variables that each thread has for itself.
    """
    firsts = [address for address, _ in items]
    coefficients = dict(firsts[0].coefficients)
    if any(dict(item.coefficients) != coefficients for item in firsts):
        return False
    if any(name not in _COORDINATES and not name.startswith("k") for name in coefficients):
        return False  # A quotient or a mask is no variable of its own.
    sides = {name: high - low for name, (low, high) in ranges.items()}
    if any(sides.get(name, 0) and name not in coefficients for name in _COORDINATES):
        return False
    reach = max(item.constant + size for item, size in items) - min(item.constant for item in firsts)
    for name in sorted(coefficients, key=lambda name: abs(coefficients[name])):
        if abs(coefficients[name]) < reach:
            return False
        reach += abs(coefficients[name]) * sides[name]
    return True
