"""Guidance by coverage: inputs that reach new code are kept, and changed further."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.gpu.instruments import Coverage
from gpuregress.lab.fuzzing.candidates import Candidate

Feature = tuple[object, ...]


def features(coverage: Coverage) -> Iterator[Feature]:
    """What was reached: lines, sides of branches, numbers of iterations, indices at their limits."""
    for file in coverage.files:
        for line, count in file.lines:
            if count:
                yield file.path, "line", line
        for branch in file.branches:
            for side, count in enumerate(branch.sides):
                if count:
                    yield file.path, "branch", branch.line, branch.column, branch.kind, branch.condition, side
        for loop in file.loops:
            for name, times in (("zero", loop.zero), ("once", loop.once), ("many", loop.many)):
                if times:
                    yield file.path, "loop", loop.line, loop.column, loop.number, name
        for bound in file.bounds:
            for at, (_, count) in enumerate(bound.edges):
                if count:
                    yield file.path, "bound", bound.line, bound.column, bound.index, bound.limit, at


class Corpus:
    """The inputs that reached something new, and all that was reached."""

    def __init__(self) -> None:
        self.inputs: list[Candidate] = []
        self.reached: set[Feature] = set()

    def add(self, candidate: Candidate, coverage: Coverage | None) -> bool:
        """Keep a candidate if it reached something new, or is the first; tell whether it did."""
        new = set(features(coverage)) - self.reached if coverage is not None else set()
        if new or not self.inputs:
            self.inputs.append(candidate)
        self.reached |= new
        return bool(new)
