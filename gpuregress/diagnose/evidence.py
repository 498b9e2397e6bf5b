"""What the patterns are looked for in: the elements that differ, where they are, and what is known around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress import dtypes, ordinals
from gpuregress.diagnose.thread_mapping import Indices, ThreadMapping, fitting_mapping
from gpuregress.dtypes import ElementType, Part
from gpuregress.records import Finding, Launch

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
DENSE = 0.95
"""The share of an area that differs from which on all of it does."""


@dataclass(frozen=True)
class Evidence:
    """The rows of a buffer that break its rule.

    Attributes:
        element_type: of the buffer.
        shape: elements along each axis.
        indices: where the rows are, rising.
        expected: those rows of the baseline, `element_type.storage`, one dimension.
        actual: the same of this run.
        launch: the one that writes the buffer, if it is known.
        poison: the bytes that fill an output before the launch, repeated; b"" where there are none.
        unset: the byte that fills shared memory before each block, repeated; b"" where that is not known.
        whole_expected: the whole baseline, flat, where it is at hand.
        whole_actual: the whole buffer, flat.
        inputs: buffer name → its contents before the launch, flat, as numbers.
        of: how many rows there are, where these are a sample of them that has the first and the last; 0: these.
    """

    element_type: ElementType
    shape: tuple[int, ...]
    indices: Indices
    expected: Array
    actual: Array
    launch: Launch | None = None
    poison: bytes = b""
    unset: bytes = b""
    whole_expected: Array | None = None
    whole_actual: Array | None = None
    inputs: Mapping[str, Array] = field(default_factory=dict)
    of: int = 0

    @property
    def total(self) -> int:
        """Elements in the buffer."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def count(self) -> int:
        """Elements that differ, of those looked at."""
        return len(self.indices)

    @property
    def differing(self) -> int:
        """Elements that differ, whether looked at or not."""
        return self.of or self.count

    @property
    def is_sample(self) -> bool:
        """Whether more elements differ than are looked at."""
        return self.differing > self.count

    def fills(self, counts: Indices, sizes: Indices) -> bool:
        """Whether what differs fills the areas that it touches.

        Args:
            counts: elements looked at in each area.
            sizes: elements of each area.
        """
        if self.is_sample:
            return self.differing >= DENSE * int(sizes.sum())
        return bool((counts >= DENSE * sizes).all())

    @cached_property
    def mapping(self) -> ThreadMapping | None:
        """How elements map to blocks and threads, where the launch fits."""
        return fitting_mapping(self.launch, self.shape) if self.launch else None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The parts in which any of the rows differ, each with only those rows."""
        found = []
        pairs = zip(self.element_type.columns(self.expected), self.element_type.columns(self.actual), strict=True)
        for at, (part, (e, a)) in enumerate(zip(self.element_type.parts, pairs, strict=True)):
            rows = np.flatnonzero(_differs(e, a, part))
            if rows.size:
                found.append(Column(self, part, at, self.indices[rows], e[rows], a[rows]))
        return tuple(found)

    def where(self) -> str:
        """The stretch of the buffer in which the differing elements are."""
        return f"elements {self.indices[0]} to {self.indices[-1]}" if self.count else "nowhere"


def _differs(expected: Array, actual: Array, part: Part) -> Mask:
    off = ordinals.bits(expected, part.scalar) != ordinals.bits(actual, part.scalar)
    both = ordinals.is_nan(expected, part.scalar) & ordinals.is_nan(actual, part.scalar)
    return np.asarray(off & ~both)


@dataclass(frozen=True)
class Column:
    """One part of the rows that differ in it.

    Attributes:
        evidence: what it belongs to.
        part: which part.
        position: its position in the element type.
        indices: the rows' places in the buffer.
        expected: its storage dtype.
        actual: the same.
    """

    evidence: Evidence
    part: Part
    position: int
    indices: Indices
    expected: Array
    actual: Array

    @property
    def count(self) -> int:
        """Rows that differ in this part."""
        return len(self.indices)

    @property
    def is_float(self) -> bool:
        """Whether the part is a floating-point number."""
        return self.part.scalar.is_float

    @cached_property
    def e(self) -> Floats:
        """The baseline as float64."""
        return self._numbers(self.expected)

    @cached_property
    def a(self) -> Floats:
        """This run as float64."""
        return self._numbers(self.actual)

    def _numbers(self, column: Array) -> Floats:
        with np.errstate(invalid="ignore"):
            return dtypes.to_float(column, self.part.scalar).astype(np.float64)

    @cached_property
    def finite(self) -> Mask:
        """Where both sides are numbers."""
        return np.isfinite(self.e) & np.isfinite(self.a)

    @cached_property
    def xor(self) -> npt.NDArray[np.uint64]:
        """The bits in which the sides differ."""
        scalar = self.part.scalar
        mixed: npt.NDArray[np.uint64] = (
            ordinals.bits(self.expected, scalar) ^ ordinals.bits(self.actual, scalar)
        ).astype(np.uint64)
        return mixed

    @cached_property
    def steps(self) -> npt.NDArray[np.uint64]:
        """Steps between floats; the difference for integers."""
        scalar = self.part.scalar
        if self.is_float:
            return ordinals.ulps(self.expected, self.actual, scalar)
        return ordinals.distance(ordinals.keys(self.expected, scalar), ordinals.keys(self.actual, scalar))

    @property
    def epsilon(self) -> float:
        """The relative step of the part's floats at 1; 0 for integers."""
        return {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}.get(
            self.part.scalar.name, 0.0
        )

    def whole(self, side: str) -> Array | None:
        """This part of the whole baseline (`expected`) or buffer (`actual`), where it is at hand."""
        array = self.evidence.whole_expected if side == "expected" else self.evidence.whole_actual
        return None if array is None else self.evidence.element_type.columns(array)[self.position]


Pattern = Callable[[Evidence], Finding | None]


def per_part(test: Callable[[Column], Finding | None]) -> Pattern:
    """Makes a pattern of one that looks at one part: the best of the parts, by the share of all rows it explains."""

    def pattern(evidence: Evidence) -> Finding | None:
        best: Finding | None = None
        for column in evidence.columns:
            found = test(column)
            if found is None:
                continue
            weight = found.weight * column.count / evidence.count
            name = f"{column.part.name}: " if column.part.name else ""
            if best is None or weight > best.weight:
                best = Finding(found.pattern, name + found.message, weight)
        return best

    return pattern


def share(count: int, of: int) -> str:
    """`312 of 312`, never a percentage that rounds to nothing."""
    return f"all {of}" if count == of else f"{count} of {of}"


def differing(count: int, of: int, verbs: str) -> str:
    """`all 312 differing elements are`, or, of one alone, `the one differing element is`.

    Args:
        count: how many.
        of: how many differ.
        verbs: for one and for several, as `is|are`.
    """
    one, several = verbs.split("|")
    return (
        f"the one differing element {one}" if count == of == 1 else f"{share(count, of)} differing elements {several}"
    )


def listed(numbers: Array, most: int = 6) -> str:
    """`3, 7, 9`, or the first few and how many more."""
    values = [str(int(number)) for number in numbers[:most]]
    return ", ".join(values) + (f" and {len(numbers) - most} more" if len(numbers) > most else "")
