"""Coverage of source files: executed lines, branches, loops and bounds of indices, with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from gpuregress.gpu.records import Record, Sparse, replace


class BranchCount(Sparse):
    """A conditional branch, or an instruction with a guard, of the compiled code.

    Attributes:
        line: of the source.
        column: in the line. What the compiler made several copies of, as of an unrolled loop, counts together.
        taken: how often its condition was true, summed over threads.
        other: how often it was false.
        kind: `branch`; `guard`: of an instruction; `case`: one of several targets.
        condition: tells it from others of the same line and column, as those of `a && b` or of a macro.
        is_inside: whether it is inside of a loop of its line, or a further way out of it, not the loop's own.
    """

    line: int
    column: int
    taken: int
    other: int
    kind: Literal["branch", "guard", "case"] = "branch"
    condition: str = ""
    is_inside: bool = False

    @property
    def sides(self) -> tuple[int, ...]:
        """How often each side ran; a case has one."""
        return (self.taken,) if self.kind == "case" else (self.taken, self.other)


class LoopCount(Sparse):
    """A loop of the compiled code.

    Attributes:
        line: of its condition.
        column: in the line.
        zero: how often a thread came to it and ran no iteration; None where that cannot be seen.
        once: how often it ran one.
        many: how often it ran more.
        is_unrolled: whether the compiler made several loops of it, so that an iteration is several of the source's.
        number: among the loops of its line and column, as of a macro.
    """

    line: int
    column: int
    zero: int | None
    once: int
    many: int
    is_unrolled: bool = False
    number: int = 0


class BoundCount(Sparse):
    """A comparison of an index with its limit, as `i < n`.

    Attributes:
        line: of the source.
        column: in the line.
        order: `lt`, `le`, `gt` or `ge`, the index on the left.
        index: the numbers that the index comes from, `blockIdx.x threadIdx.x`.
        limit: `1024`, `args[2]`, "" for another value.
        below: how often the index was the limit - 1.
        equal: how often it was the limit.
        above: how often it was the limit + 1.
    """

    line: int
    column: int
    order: str
    index: str
    limit: str
    below: int
    equal: int
    above: int

    @property
    def edges(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The two values of the index between which the comparison changes, in words, with their counts."""
        if self.order in ("lt", "ge"):
            return (self._value(-1), self.below), (self._value(0), self.equal)
        return (self._value(0), self.equal), (self._value(1), self.above)

    def _value(self, distance: int) -> str:
        """`index (blockIdx.x, threadIdx.x) = args[2] - 1`."""
        limit, apart = self.limit or "limit", {-1: " - 1", 0: "", 1: " + 1"}[distance]
        value = str(int(limit) + distance) if limit.lstrip("-").isdigit() else f"{limit}{apart}"
        return f"index ({self.index.replace(' ', ', ')}) = {value}"


class FileCoverage(Sparse):
    """The coverage of one file.

    Attributes:
        path: of the file.
        lines: (line, executions by threads) of each line that has code, ascending.
        branches: by line.
        loops: by line.
        bounds: by line.
    """

    path: str
    lines: tuple[tuple[int, int], ...] = ()
    branches: tuple[BranchCount, ...] = ()
    loops: tuple[LoopCount, ...] = ()
    bounds: tuple[BoundCount, ...] = ()


class Coverage(Record):
    """The coverage of a case or a run.

    Attributes:
        files: by path.
    """

    files: tuple[FileCoverage, ...] = ()


C = TypeVar("C", BranchCount, LoopCount, BoundCount)


def merged(coverages: Iterable[Coverage]) -> Coverage:
    """The sum of several coverages. What is in one of them only, as a line that another build dropped, stays."""
    parts: dict[str, list[FileCoverage]] = {}
    for coverage in coverages:
        for one in coverage.files:
            parts.setdefault(one.path, []).append(one)
    return Coverage(tuple(_merged_file(path, parts[path]) for path in sorted(parts)))


def _merged_file(path: str, parts: list[FileCoverage]) -> FileCoverage:
    lines: dict[int, int] = {}
    for part in parts:
        for line, count in part.lines:
            lines[line] = lines.get(line, 0) + count
    return FileCoverage(
        path,
        tuple(sorted(lines.items())),
        _summed([one for part in parts for one in part.branches], _add_branches),
        _summed([one for part in parts for one in part.loops], _add_loops),
        _summed([one for part in parts for one in part.bounds], _add_bounds),
    )


def _summed(items: list[C], add: Callable[[C, C], C]) -> tuple[C, ...]:
    found: dict[tuple[int | str, ...], C] = {}
    for item in items:
        key = _key(item)
        found[key] = item if key not in found else add(found[key], item)
    return tuple(found[key] for key in sorted(found))


def _key(item: BranchCount | LoopCount | BoundCount) -> tuple[int | str, ...]:
    if isinstance(item, BranchCount):
        return item.line, item.column, item.kind, item.condition
    if isinstance(item, LoopCount):
        return item.line, item.column, item.number
    return item.line, item.column, item.order, item.index, item.limit


def _add_branches(a: BranchCount, b: BranchCount) -> BranchCount:
    is_inside = a.is_inside or b.is_inside
    return replace(a, taken=a.taken + b.taken, other=a.other + b.other, is_inside=is_inside)


def _add_loops(a: LoopCount, b: LoopCount) -> LoopCount:
    zero = None if a.zero is None and b.zero is None else (a.zero or 0) + (b.zero or 0)
    is_unrolled = a.is_unrolled or b.is_unrolled
    return replace(a, zero=zero, once=a.once + b.once, many=a.many + b.many, is_unrolled=is_unrolled)


def _add_bounds(a: BoundCount, b: BoundCount) -> BoundCount:
    return replace(a, below=a.below + b.below, equal=a.equal + b.equal, above=a.above + b.above)
