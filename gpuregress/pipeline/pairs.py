"""Two dumps of one buffer, compared at the least cost: digests first, then the lines that differ, then all of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import compare, dtypes
from gpuregress.compare import Request
from gpuregress.records import Case, Comparison, Dump, Rule

if TYPE_CHECKING:
    from gpuregress.dump.reader import Loaded
    from gpuregress.dump.walk import Differences


@dataclass(slots=True)
class Pair:
    """A buffer's dump and what it is held against.

    Attributes:
        case: whose buffer it is.
        against: `baseline`, `reference` or `repeat`.
        now_path: this run's file.
        now: its record.
        then_path: the other file.
        then: its record.
        rule: None: the job's own for this buffer.
    """

    case: Case
    against: str
    now_path: Path
    now: Dump
    then_path: Path
    then: Dump
    rule: Rule | None = None
    _read: dict[Path, Loaded] = field(default_factory=dict)
    _walked: Differences | None = None

    @property
    def request(self) -> Request:
        """What to compare, and how."""
        rule = self.rule if self.rule is not None else self.case.compare.get(self.now.buffer, Rule())
        element = dtypes.parse(self.now.dtype)
        return Request(self.now.buffer, element, self.now.shape, rule, self.against, self.case)

    def compare(self) -> Comparison:
        """The comparison.

        Raises:
            DumpError: a file does not hold what its header says.
            StorageError: one cannot be read.
        """
        request = self.request
        refused = compare.mismatch(request, dtypes.parse(self.then.dtype), self.then.shape)
        if refused is not None:
            return refused
        if self.now.digest == self.then.digest:
            if not compare.needs_array_when_identical(request.rule, request.element_type):
                return compare.identical(request)
            array = self.loaded(self.now_path).array
            return compare.compare(request, array, array)
        if not compare.needs_all(request.rule):
            found = self.differences()
            return compare.compare_sparse(request, found.indices, found.first, found.second, found.count)
        return compare.compare(request, self.loaded(self.then_path).array, self.loaded(self.now_path).array)

    def loaded(self, path: Path) -> Loaded:
        """One of the two files, read once."""
        from gpuregress.dump import reader  # noqa: PLC0415 - loads numpy, and most pairs have the same digest

        if path not in self._read:
            self._read[path] = reader.read(path)
        return self._read[path]

    def differences(self) -> Differences:
        """The elements whose bits differ, walked for once: the comparison, its findings and its picture need them.

        Raises:
            DumpError: a file does not hold what its header says.
            StorageError: one cannot be read.
        """
        from gpuregress.dump import walk  # noqa: PLC0415 - as above

        if self._walked is None:
            self._walked = walk.differences(self.then_path, self.now_path)
        return self._walked
