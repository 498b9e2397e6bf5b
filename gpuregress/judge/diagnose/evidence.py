"""Evidence of a difference: the differing elements, their indices, and their context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Part
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding, Launch
from gpuregress.gpu.records import Record, replace

MOST = 1 << 22
"""Rows up to which all are kept."""
SIZE = 1_000_000
"""Rows of a sample."""

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]


class DifferenceSample:
    """Rows in ascending order; of more than `MOST`, a random sample of `SIZE` with the first and the last of all.

    The sample has the rows with the smallest hashes of their indices. So it does not depend on the pieces that the rows
    come in, and it has no period that could hide a stride.
    """

    def __init__(self) -> None:
        self.of = 0
        self._rows: list[tuple[Indices, Array, Array]] = []
        self._held = 0
        self._limit = np.uint64(np.iinfo(np.uint64).max)

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Add the next rows: their indices and both sides."""
        if not len(indices):
            return
        self.of += len(indices)
        if self.of > MOST:
            keep = _hashes(indices) <= self._limit
            keep[-1] = True  # it may be the last of all
            indices, expected, actual = indices[keep], expected[keep], actual[keep]
        self._rows.append((indices, expected, actual))
        self._held += len(indices)
        if self._held > MOST:
            self._thin()

    def rows(self) -> tuple[Indices, Array, Array]:
        """The indices of the kept rows and both sides; at least one row must have been added."""
        if self.of > MOST:
            self._thin()
        return self._joined()

    def _thin(self) -> None:
        indices, expected, actual = self._joined()
        hashes = _hashes(indices)
        hashes[[0, -1]] = 0
        self._limit = np.partition(hashes, SIZE - 1)[SIZE - 1]
        keep = hashes <= self._limit
        self._rows = [(indices[keep], expected[keep], actual[keep])]
        self._held = SIZE

    def _joined(self) -> tuple[Indices, Array, Array]:
        if len(self._rows) > 1:
            indices, expected, actual = zip(*self._rows, strict=True)
            self._rows = [(np.concatenate(indices), np.concatenate(expected), np.concatenate(actual))]
        return self._rows[0]


def _hashes(indices: Indices) -> Hashes:
    return ordinals.splitmix64(indices.astype(np.uint64))


# Mapping of elements to blocks, warps and lanes, guessed from the sizes of a launch.
# A launch does not determine which thread writes which element. These usual mappings are assumed if the sizes fit:
# * one element a block, with as many blocks as elements (block sums); * for two dimensions, block and grid tile
# rows (y) and columns (x); * element i is global thread i, with enough threads and no more blocks than needed; *
# several elements a thread: each block has one stretch of them.
Indices = npt.NDArray[np.int64]
WARP = 32


class ThreadMapping(Record):
    """Mapping of elements to blocks and threads.

    Attributes:
        kind: `block`, `tile`, `thread` or `stretch`.
        blocks: in the launch.
        threads: in a block.
        per_block: elements of a whole block.
        width: of a row, for `tile`.
        tile: (rows, columns) of a block, for `tile`.
        across: blocks along a row, for `tile`.
    """

    kind: str
    blocks: int
    threads: int
    per_block: int
    width: int = 1
    tile: tuple[int, int] = (1, 1)
    across: int = 1

    def block_of(self, indices: Indices) -> Indices:
        """The linear block index of each element."""
        if self.kind != "tile":
            return indices // self.per_block
        row, column = indices // self.width, indices % self.width
        return (row // self.tile[0]) * self.across + column // self.tile[1]

    def thread_of(self, indices: Indices) -> Indices | None:
        """The linear thread index of each element in its block; None if the mapping does not determine it."""
        if self.kind == "thread":
            return indices % self.threads
        if self.kind == "tile":
            row, column = indices // self.width, indices % self.width
            return (row % self.tile[0]) * self.tile[1] + column % self.tile[1]
        return None

    def describe(self, index: int) -> str:
        """Describe an element's thread: `block 7, thread 44 (warp 1, lane 12)`."""
        indices = np.array([index], np.int64)
        block, thread = int(self.block_of(indices)[0]), self.thread_of(indices)
        if thread is None:
            return f"block {block}"
        number = int(thread[0])
        return f"block {block}, thread {number} (warp {number // WARP}, lane {number % WARP})"


def fitting_mapping(launch: Launch, shape: tuple[int, ...]) -> ThreadMapping | None:
    """Find the mapping that fits a launch and a buffer.

    Args:
        launch: the one that writes the buffer.
        shape: elements along each axis.
    """
    total = int(np.prod(shape, dtype=np.int64))
    blocks, threads = int(np.prod(launch.grid)), int(np.prod(launch.block))
    if not total:
        return None
    if len(shape) >= 2 and launch.block[1] > 1:
        return _tiles(launch, shape, blocks, threads)
    if launch.block[1] > 1 or launch.block[2] > 1:
        return None
    if total == blocks and blocks > 1:
        return ThreadMapping("block", blocks, threads, per_block=1)
    if (blocks - 1) * threads < total <= blocks * threads:
        return ThreadMapping("thread", blocks, threads, per_block=threads)
    if total > blocks * threads:
        return ThreadMapping("stretch", blocks, threads, per_block=-(-total // blocks))
    return None


def _tiles(launch: Launch, shape: tuple[int, ...], blocks: int, threads: int) -> ThreadMapping | None:
    width = shape[-1]
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    columns_done, rows_done = launch.grid[0] * launch.block[0], launch.grid[1] * launch.block[1]
    if columns_done < width or rows_done < rows or launch.grid[2] * launch.block[2] > 1:
        return None
    return ThreadMapping(
        "tile",
        blocks,
        threads,
        per_block=threads,
        width=width,
        tile=(launch.block[1], launch.block[0]),
        across=launch.grid[0],
    )


Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_EPSILONS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}
DENSE = 0.95
"""The share of differing elements from which on a whole area counts as differing."""


class Evidence(Record, dict=True):
    """The rows of a buffer that break its rule.

    Attributes:
        element_type: of the buffer.
        shape: elements along each axis.
        indices: of the rows, ascending.
        expected: the expected rows, `element_type.storage`, one dimension.
        actual: the actual rows.
        launch: the one that writes the buffer, if known.
        poison: the bytes that fill an output before the launch, repeated; b"" without poison.
        unset: the byte that fills shared memory before each block, repeated; b"" if unknown.
        whole_expected: the whole expected buffer, flat, if it is small.
        whole_actual: the whole actual buffer, flat.
        inputs: buffer name → its contents before the launch, flat, as numbers.
        of: number of rows that differ, if these are a sample with the first and the last; 0: these are all.
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
        """Rows in the evidence."""
        return len(self.indices)

    @property
    def differing(self) -> int:
        """Elements that differ, in the evidence or not."""
        return self.of or self.count

    @property
    def is_sample(self) -> bool:
        """Whether the evidence is a sample of the elements that differ."""
        return self.differing > self.count

    def fills(self, counts: Indices, sizes: Indices) -> bool:
        """Tell whether the differing elements fill the areas that they touch.

        Args:
            counts: rows of the evidence in each area.
            sizes: elements of each area.
        """
        if self.is_sample:
            return self.differing >= DENSE * int(sizes.sum())
        return bool((counts >= DENSE * sizes).all())

    @cached_property
    def mapping(self) -> ThreadMapping | None:
        """The mapping of elements to blocks and threads, if the launch determines it."""
        return fitting_mapping(self.launch, self.shape) if self.launch else None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The parts in which any of the rows differ, each with only those rows."""
        columns = []
        for position, (part, e, a) in enumerate(self.element_type.column_pairs(self.expected, self.actual)):
            rows = np.flatnonzero(_differs(e, a, part))
            if rows.size:
                differing = Column(
                    evidence=self,
                    part=part,
                    position=position,
                    indices=self.indices[rows],
                    expected=e[rows],
                    actual=a[rows],
                )
                columns.append(differing)
        return tuple(columns)


def _differs(expected: Array, actual: Array, part: Part) -> Mask:
    different = ordinals.bits(expected, part.scalar) != ordinals.bits(actual, part.scalar)
    both_nan = ordinals.is_nan(expected, part.scalar) & ordinals.is_nan(actual, part.scalar)
    return np.asarray(different & ~both_nan)


class Column(Record, dict=True):
    """One part of the rows that differ in it.

    Attributes:
        evidence: of the whole elements.
        part: the part.
        position: of the part in the element type.
        indices: the rows' indices in the buffer.
        expected: the part's storage dtype.
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
        """The expected side as float64."""
        return self._numbers(self.expected)

    @cached_property
    def a(self) -> Floats:
        """The actual side as float64."""
        return self._numbers(self.actual)

    def _numbers(self, column: Array) -> Floats:
        with np.errstate(invalid="ignore"):
            return dtypes.to_float(column, self.part.scalar).astype(np.float64)

    @cached_property
    def finite(self) -> Mask:
        """Mask of rows that are finite on both sides."""
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
        return _EPSILONS.get(self.part.scalar.name, 0.0)

    @property
    def whole_expected(self) -> Array | None:
        """This part of the whole expected buffer, if it is small."""
        return self._whole(self.evidence.whole_expected)

    @property
    def whole_actual(self) -> Array | None:
        """This part of the whole actual buffer, if it is small."""
        return self._whole(self.evidence.whole_actual)

    def usable(self, mask: Mask, share: float) -> tuple[Floats, Floats] | None:
        """Both sides where the mask is set; None if too few rows or values remain to see a constant relation.

        Args:
            mask: of the rows.
            share: the smallest share of rows that must remain.
        """
        e, a = self.e[mask], self.a[mask]
        fewest = 3 if self.is_float else 4
        if len(e) < max(fewest, share * self.count) or (e == e[0]).all():
            return None
        return e, a

    def _whole(self, array: Array | None) -> Array | None:
        """This part of a whole buffer, if it is small."""
        if array is None:
            return None
        return self.evidence.element_type.columns(array)[self.position]


Pattern = Callable[[Evidence], Finding | None]


def per_part(test: Callable[[Column], Finding | None]) -> Pattern:
    """Make a pattern of elements from one of a single part: the part's finding that explains the most rows."""

    def pattern(evidence: Evidence) -> Finding | None:
        best: Finding | None = None
        for column in evidence.columns:
            finding = test(column)
            if finding is None:
                continue
            finding = replace(finding, weight=finding.weight * column.count / evidence.count)
            if best is None or finding.weight > best.weight:
                best = _of_part(finding, column.part.name)
        return best

    return pattern


def _of_part(finding: Finding, part: str) -> Finding:
    """A finding that names the part; the only part of a plain scalar has no name."""
    if not part:
        return finding
    summary = finding.summary and f"{part}: {finding.summary}"
    return replace(finding, message=f"{part}: {finding.message}", summary=summary)


def share(count: int, of: int) -> str:
    """Format a share as counts, `all 312` or `3 of 312`: a percentage could round to nothing."""
    if count == of:
        return f"all {of}"
    return f"{count} of {of}"


def of_share(pattern: str, count: int, of: int, predicates: str) -> Finding:
    """Make a finding on some of the differing elements: `all 312 differing elements are 0 instead of a value`.

    Args:
        pattern: its name.
        count: elements.
        of: elements that differ.
        predicates: the rest of the sentence for one and for several, as `is NaN|are NaN`.
    """
    one, several = predicates.split("|")
    if count == of == 1:
        return Finding(pattern, f"the one differing element {one}")
    message = f"{share(count, of)} differing elements {several}"
    if count < of:
        return Finding(pattern, message, count / of)
    return Finding(pattern, message, summary=f"all {several}")


def named_blocks(blocks: Array) -> str:
    """`block 7`, `blocks 3, 7, 9 and 4 more`."""
    if len(blocks) == 1:
        return f"block {blocks[0]}"
    return f"blocks {listed(blocks)}"


def listed(numbers: Array, most: int = 6) -> str:
    """Format the first few numbers and the count of the others: `3, 7, 9 and 4 more`."""
    text = ", ".join(map(str, numbers[:most].tolist()))
    if len(numbers) > most:
        text += f" and {len(numbers) - most} more"
    return text
