"""Comparison of two dumps of one buffer at the least cost.

Digests are compared first, then the lines that differ are parsed; both files are parsed whole only where the rule needs
every element.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Case, Comparison, Dump, Rule
from gpuregress.gpu.records import MutableRecord
from gpuregress.judge import compare
from gpuregress.judge.compare import ComparisonRequest, float64_reference, user_functions
from gpuregress.store.dumps import files, line_diff, reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuregress.foundation.numeric.ordinals import Mask
    from gpuregress.store.dumps.line_diff import ElementPairs
    from gpuregress.store.dumps.reader import LoadedDump

    DifferenceObserver = Callable[[ElementPairs, Mask | None], None]
    """Receives the next elements whose bits differ, and a mask of those that break the rule, so that dumps are read
    once; None under a rule that matches elements across indices."""


class BufferPair(MutableRecord):
    """The expected and the actual dump of a buffer.

    Attributes:
        case: whose buffer it is.
        against: `baseline`, `reference`, `repeat` or `first`.
        expected: the dump that decides; a reference's may be of `dtypes.widened`.
        actual: this run's dump.
        rule: None: the job's own for this buffer.
    """

    case: Case
    against: str
    expected: Dump
    actual: Dump
    rule: Rule | None = None
    _loaded: dict[str, LoadedDump] = field(default_factory=dict)

    @property
    def request(self) -> ComparisonRequest:
        """The buffer and the rule as `compare` takes them."""
        buffer = self.actual.buffer
        rule = self.rule if self.rule is not None else self.case.compare.get(buffer, Rule())
        element = dtypes.parse(self.actual.dtype)
        return ComparisonRequest(buffer, element, self.actual.shape, rule=rule, against=self.against, case=self.case)

    @property
    def is_identical(self) -> bool:
        """Whether both hold the same bytes."""
        return self.actual.digest == self.expected.digest

    def compare(self, observe: DifferenceObserver | None = None) -> Comparison:
        """Compare the dumps.

        Args:
            observe: receives the elements that differ.

        Raises:
            DumpError: a file does not hold what its header says.
            StorageError: one cannot be read.
        """
        request = self.request
        wide = dtypes.widened(request.element_type)
        is_wide = self.expected.dtype == wide.name != self.actual.dtype and self.expected.shape == self.actual.shape
        if self.against == "reference" and is_wide:
            self._verify()
            return self._compare_unrounded(request)
        refused = compare.mismatch(request, dtypes.parse(self.expected.dtype), self.expected.shape)
        if refused is not None:
            return self._verify_unlike(request) if request.rule.verify else refused
        if self.is_identical:
            if not compare.needs_array_when_identical(request.rule, request.element_type):
                return compare.identical(request)
            files.verify(self.actual)
            array = self.loaded(self.actual).array
            return compare.compare(request, array, array)
        self._verify()
        if compare.is_in_order(request.rule):
            return self._compare_in_order(request, observe)

        expected, actual = (self.loaded(dump).array.reshape(-1) for dump in (self.expected, self.actual))
        compared = compare.compare(request, expected, actual)
        if observe is not None and not compared.same:
            for pairs in line_diff.differing_elements(expected, actual, request.element_type):
                observe(pairs, None)
        return compared

    def compare_without(self, left_out: Mask) -> Comparison:
        """Compare the dumps but for some parts of elements, which count as equal.

        Args:
            left_out: shape (elements, parts of the element type).

        Raises:
            DumpError: a file does not hold what its header says.
            StorageError: one cannot be read.
        """
        self._verify()
        expected, actual = (self.loaded(dump).array.reshape(-1) for dump in (self.expected, self.actual))
        merged, element = expected.copy(), self.request.element_type
        for number, (_, column, own) in enumerate(element.column_pairs(merged, actual)):
            column[left_out[:, number]] = own[left_out[:, number]]
        return compare.compare(self.request, merged, actual)

    def _verify(self) -> None:
        """Refuse dumps that were changed since they were written; a baseline's local ones were when it was loaded."""
        files.verify(self.actual)
        if self.against not in ("baseline", "first") or self.expected.remote:
            files.verify(self.expected)

    def _compare_unrounded(self, request: ComparisonRequest) -> Comparison:
        if not compare.is_in_order(request.rule):
            expected, actual = self.loaded(self.expected).array, self.loaded(self.actual).array
            return float64_reference.compare(request, expected, actual)
        run = float64_reference.InFloat64(request)
        for pairs in line_diff.pairs(Path(self.expected.path), Path(self.actual.path), widened=True):
            run.add(pairs.indices, pairs.expected, pairs.actual)
        return run.finish()

    def _verify_unlike(self, request: ComparisonRequest) -> Comparison:
        """Ask the user's function about sides of different shapes or types."""
        self._verify()
        expected, actual = self.loaded(self.expected), self.loaded(self.actual)
        return user_functions.verify_unlike(request, expected.array, expected.header.element_type, actual.array)

    def _compare_in_order(self, request: ComparisonRequest, observe: DifferenceObserver | None) -> Comparison:
        every = compare.needs_all(request.rule)
        run = compare.InOrder(request, every=every)
        for pairs in line_diff.pairs(Path(self.expected.path), Path(self.actual.path), every=every):
            broken = run.add(pairs.indices, pairs.expected, pairs.actual)
            if observe is not None:
                differs = pairs.differs(request.element_type)
                observe(pairs.only(differs), broken[differs])
        return run.finish()

    def loaded(self, dump: Dump) -> LoadedDump:
        """One of the two dumps in memory, read once."""
        if dump.path not in self._loaded:
            self._loaded[dump.path] = reader.read(Path(dump.path))
        return self._loaded[dump.path]
