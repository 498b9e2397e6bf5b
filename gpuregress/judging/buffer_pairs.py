"""Two dumps of one buffer, compared at the least cost: digests first, then the lines that differ, then all of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gpuregress import compare, dtypes
from gpuregress.compare import Request
from gpuregress.records import Case, Comparison, Dump, Rule

if TYPE_CHECKING:
    from gpuregress.dump.line_diff import Piece
    from gpuregress.dump.reader import Loaded
    from gpuregress.ordinals import Mask


class Watcher(Protocol):
    """What is told of the differing elements while they are compared, so that the dumps are read once."""

    def add(self, piece: Piece, broken: Mask | None) -> None:
        """Takes the next elements whose bits differ, and which of them break the rule; None: it knows no places."""


@dataclass(slots=True)
class Pair:
    """A buffer's dump and what it is held against.

    Attributes:
        case: whose buffer it is.
        against: `baseline`, `reference` or `repeat`.
        now_path: this run's file.
        now: its record.
        then_path: the other file.
        then: its record; a gold standard's may be of `dtypes.widened`.
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

    @property
    def request(self) -> Request:
        """What to compare, and how."""
        rule = self.rule if self.rule is not None else self.case.compare.get(self.now.buffer, Rule())
        element = dtypes.parse(self.now.dtype)
        return Request(self.now.buffer, element, self.now.shape, rule, self.against, self.case)

    @property
    def is_identical(self) -> bool:
        """Whether both hold the same bytes."""
        return self.now.digest == self.then.digest

    def compare(self, *watchers: Watcher) -> Comparison:
        """The comparison.

        Args:
            watchers: told of what differs, where the two can be compared.

        Raises:
            DumpError: a file does not hold what its header says.
            StorageError: one cannot be read.
        """
        request = self.request
        wide = dtypes.widened(request.element_type)
        if self.against == "reference" and self.then.dtype == wide.name != self.now.dtype:
            return self._compare_unrounded(request)
        refused = compare.mismatch(request, dtypes.parse(self.then.dtype), self.then.shape)
        if refused is not None:
            return refused
        if self.is_identical:
            if not compare.needs_array_when_identical(request.rule, request.element_type):
                return compare.identical(request)
            array = self.loaded(self.now_path).array
            return compare.compare(request, array, array)
        if compare.is_in_order(request.rule):
            return self._compare_in_order(request, watchers)
        from gpuregress.dump import line_diff  # noqa: PLC0415 - loads numpy, and most pairs have the same digest

        then, now = (self.loaded(path).array.reshape(-1) for path in (self.then_path, self.now_path))
        compared = compare.compare(request, then, now)
        if watchers and not compared.same:
            for piece in line_diff.cut(then, now, request.element_type):
                for watcher in watchers:
                    watcher.add(piece, None)
        return compared

    def _compare_unrounded(self, request: Request) -> Comparison:
        from gpuregress.compare import float64_reference  # noqa: PLC0415 - loads numpy, and few pairs need it
        from gpuregress.dump import line_diff  # noqa: PLC0415 - as above

        if not compare.is_in_order(request.rule):
            return float64_reference.compare(
                request, self.loaded(self.then_path).array, self.loaded(self.now_path).array
            )
        run = float64_reference.InFloat64(request)
        for piece in line_diff.pieces(self.then_path, self.now_path, widened=True):
            run.add(piece.indices, piece.first, piece.second)
        return run.finish()

    def _compare_in_order(self, request: Request, watchers: Sequence[Watcher]) -> Comparison:
        from gpuregress.dump import line_diff  # noqa: PLC0415 - as above

        every = compare.needs_all(request.rule)
        run = compare.InOrder(request, every=every)
        for piece in line_diff.pieces(self.then_path, self.now_path, every=every):
            broken = run.add(piece.indices, piece.first, piece.second)
            if not watchers:
                continue
            differs = piece.differs(request.element_type)
            for watcher in watchers:
                watcher.add(piece.only(differs), broken[differs])
        return run.finish()

    def loaded(self, path: Path) -> Loaded:
        """One of the two files, read once."""
        from gpuregress.dump import reader  # noqa: PLC0415 - as above

        if path not in self._read:
            self._read[path] = reader.read(path)
        return self._read[path]
