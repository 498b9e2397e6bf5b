"""Instrumentation of a run: what a device watches and counts besides the results, and its reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Literal, TypeVar

from msgspec import field

from gpuregress.gpu.errors import UsageError
from gpuregress.gpu.records import Record, Sparse, replace

CHECKS: dict[str, str] = {
    "races": "two threads access the same bytes, one of them writes, and nothing orders the two accesses",
    "uninitialized": "memory is read that nobody has written",
    "barriers": "threads do not reach a barrier, or reach it with a wrong mask or count",
    "leaks": "memory that a kernel allocated is not freed",
}
"""Dynamic checks → what each one finds."""


def checks_named(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """The dynamic checks that texts name, in the order of `CHECKS`.

    Args:
        texts: names, several with commas between; `all`: every one.
        where: the option or key, for the message.

    Raises:
        UsageError: there is none of that name, or a name is empty.
    """
    names: set[str] = set()
    for text in texts:
        given = {name.strip() for name in text.split(",")}
        if "" in given:
            raise UsageError(f"{where}: a name is empty in {text!r}")
        names |= given
    wrong = sorted(names - {*CHECKS, "all"})
    if wrong:
        raise UsageError(f"{where}: no check is called {wrong[0]!r}: say {', '.join(CHECKS)}, or all")
    return tuple(name for name in CHECKS if name in names or "all" in names)


class Instruments(Sparse):
    """What a device watches and counts while a case runs. None of it changes the results.

    Attributes:
        checks: names from `CHECKS`, in that order.
        costs: whether the costs of each instruction are counted: executions, sectors, bank conflicts.
        coverage: whether the executions of each basic block and each branch are counted.
        accuracy: whether floating-point values have shadows of higher precision.
        conflicts: whether the check `races` also keeps each pair of accesses that only the schedule orders: races, and
            atomic operations whose order may matter.
    """

    checks: tuple[str, ...] = ()
    costs: bool = False
    coverage: bool = False
    accuracy: bool = False
    conflicts: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is watched or counted."""
        return bool(self.checks) or self.costs or self.coverage or self.accuracy

    @property
    def only_checks(self) -> bool:
        """Whether there are dynamic checks, and nothing is counted."""
        return bool(self.checks) and not (self.costs or self.coverage or self.accuracy)


class CheckFinding(Sparse):
    """A finding of a dynamic check.

    Attributes:
        kind: one of `FAULT_KINDS`: `race`, `uninitialized`, `barrier`, `leak`, …
        message: a line for people.
        details: further lines: the other thread, its source line.
        location: `reduce.cu:31`, "" where it is not known; the innermost line where functions are inlined.
        count: number of equal findings at the same source lines.
        lines: both source lines, `reduce.cu:12, reduce.cu:14`, where there are two.
        calls: for each of these lines, or for the location, the calls that it is inlined into, innermost first; empty
            where there are none.
        variable: the buffer or variable.
        scope: how far apart the two threads of a race are: 0 in one warp, 1 in two warps, 2 in two blocks, 3 in two
            clusters. A race of an asynchronous copy or of a cache has 1: no order of the lanes mends it.
    """

    kind: str
    message: str
    details: tuple[str, ...] = ()
    location: str = ""
    count: int = 1
    lines: str = ""
    calls: tuple[tuple[str, ...], ...] = ()
    variable: str = ""
    scope: int = 0


# --- accuracy ---------------------------------------------------------------------------------------------------------
# Accuracy of a case: the errors of its results, and the source lines where they arise.


Place = tuple[tuple[str, int, int], ...]
"""(file, line, column) of an instruction and of the calls that it is inlined into, innermost first."""


class RoundingSite(Record):
    """An instruction whose accuracy is watched.

    Attributes:
        kind: `rounding`: it computes a shadow; `restart`: shadows are lost at it.
        place: its source lines, () where the PTX names none.
        count: of a rounding, how often digits cancelled catastrophically; of a restart, its executions.
        bits: the most that cancelled at once.
        instruction: of a restart, as `mma.sync.aligned…`.
    """

    kind: Literal["rounding", "restart"]
    place: Place
    count: int = 0
    bits: int = 0
    instruction: str = ""


class InaccurateElement(Sparse):
    """An element of a result, and what it is in higher precision.

    Attributes:
        index: in the buffer, one number for each axis.
        value: the kernel's.
        exact: in higher precision, as many digits as distinguish it from the value.
        ulp: their distance in units in the last place of the larger one.
        part: of a vector, a complex number or a record, as `x`; "" for a scalar.
    """

    index: tuple[int, ...]
    value: str
    exact: str
    ulp: float
    part: str = ""


class BufferAccuracy(Sparse):
    """The errors of the elements of a buffer.

    Attributes:
        buffer: its name.
        dtype: of its elements.
        precision: what it is compared with: `float64`, `double-double`.
        elements: of the buffer; of a vector or a record each part of this precision counts.
        tracked: those that an instruction with a shadow has written; the others are left out.
        not_finite: of them, those of which only one of the two values is finite.
        median: of the errors of the others, ulp.
        p90: of ten errors nine are smaller.
        p99: of a hundred 99 are smaller.
        largest: error.
        histogram: (upper bound in ulp, elements up to it and above the bound before), ascending; 0: exact.
        worst: the elements with the largest errors.
        never_finite: of those that are tracked, those that are NaN or infinite on both sides.
    """

    buffer: str
    dtype: str
    precision: str
    elements: int
    tracked: int
    not_finite: int = 0
    median: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    largest: float = 0.0
    histogram: tuple[tuple[float, int], ...] = ()
    worst: tuple[InaccurateElement, ...] = ()
    never_finite: int = 0

    @property
    def compared(self) -> int:
        """The elements that have an error in ulp: both of their values are finite."""
        return self.tracked - self.not_finite - self.never_finite


class LineError(Sparse):
    """The part of a source line in the errors.

    Attributes:
        path: of the file, "" where the PTX names none.
        line: of the source.
        share: of the errors that arise at single lines, 0 to 1.
        ulp: the largest error of an element that arises here.
    """

    path: str
    line: int
    share: float
    ulp: float


class Cancellation(Sparse):
    """A source line at which digits cancel that are wrong already.

    Attributes:
        path: of the file.
        line: of the source.
        count: how often.
        bits: the most bits that cancelled at once.
    """

    path: str
    line: int
    count: int
    bits: int


class Restart(Sparse):
    """A source line at which shadows are lost: from there on, values count as exact.

    Attributes:
        path: of the file.
        line: of the source.
        instruction: of PTX.
        count: executions by threads.
    """

    path: str
    line: int
    instruction: str
    count: int


class ResultAccuracy(Sparse):
    """The accuracy of a case.

    Attributes:
        buffers: its results of floating-point types; a record with parts of two such types is there twice.
        lines: those at which errors arise, the largest share first.
        cancellations: by line.
        restarts: by line.
        lost: elements for whose shadows there was no room.
    """

    buffers: tuple[BufferAccuracy, ...] = ()
    lines: tuple[LineError, ...] = ()
    cancellations: tuple[Cancellation, ...] = ()
    restarts: tuple[Restart, ...] = ()
    lost: int = 0


# --- costs of instructions --------------------------------------------------------------------------------------------
# Exact costs of a case: executed instructions, sectors, bank conflicts and divergence of each line.


MEASURES: dict[str, str] = {
    "instructions": "instructions that warps issue",
    "thread_instructions": "instructions that threads execute",
    "sectors": "sectors of 32 bytes of global and local memory",
    "requests": "requests of warps for global and local memory",
    "bank_conflicts": "further passes over shared memory, for banks that several words of a request need",
    "divergent_branches": "branches at which the lanes of a warp go both ways",
    "atomic_conflicts": "lanes of a warp that update an address which another one updates in the same request",
    "barriers": "barriers of blocks and clusters at which warps wait",
    "tensor_operations": "matrix instructions that warps issue",
    "bytes": "bytes that threads load and store",
}
"""What a job can bound under `cost:`, in words."""


class InstructionCost(Sparse):
    """The costs of one PTX instruction of one kernel.

    Attributes:
        kernel: as reports name it; "" before it is known.
        path: of the source file; "" where the compiler left no line.
        line: of the source.
        ptx_line: of the compiled code.
        mnemonic: `ld.global.f32`.
        kind: class, as `float` or `load.global`.
        counts: measure → count; `MEASURES` and `requests.global`, `sectors.global`, `requests.shared`, `branches`.
        chain: (file, line, column) of the code and of the calls that it is inlined into, before paths are known.
    """

    kernel: str
    path: str
    line: int
    ptx_line: int
    mnemonic: str
    kind: str
    counts: Mapping[str, int] = field(default_factory=dict)
    chain: tuple[tuple[str, int, int], ...] = ()


class Costs(Sparse):
    """The costs of a case.

    Attributes:
        instructions: that were compiled, in the order of the code.
        contention: kernel → the most updates of one address by atomic operations of one launch.
        uncounted: why they cannot be compared, in words: rows were lost; "" where they can.
        left_out: what is never counted of the instructions that were executed, with its lines.
    """

    instructions: tuple[InstructionCost, ...] = ()
    contention: Mapping[str, int] = field(default_factory=dict)
    uncounted: str = ""
    left_out: tuple[str, ...] = ()


class LineCost(Sparse):
    """The costs of one source line, as a baseline keeps them.

    Attributes:
        file: its name without folders.
        line: counted from 1.
        text: of the line, by which it is found again after an edit.
        counts: of `MEASURES`, without zeros.
    """

    file: str
    line: int
    text: str
    counts: Mapping[str, int] = field(default_factory=dict)


class CostComparison(Sparse):
    """A cost of a case compared with the accepted one.

    Attributes:
        measure: one of `MEASURES`; "" where something was not compared.
        message: the result in one line: the line that became worse, or what was not compared.
        fails: whether it is greater than the job's `cost:` allows.
        expected: the accepted count.
        actual: this run's.
        limit: the job's.
    """

    measure: str
    message: str
    fails: bool = False
    expected: int | None = None
    actual: int | None = None
    limit: float | None = None


def total(items: Iterable[InstructionCost]) -> dict[str, int]:
    """The sum of the counts of several instructions."""
    counts: dict[str, int] = {}
    for item in items:
        for name, count in item.counts.items():
            counts[name] = counts.get(name, 0) + count
    return counts


def merged_costs(parts: Iterable[Costs]) -> Costs:
    """The sum of several launches' costs."""
    costs: dict[tuple[str, str, int, int, str], InstructionCost] = {}
    contention: dict[str, int] = {}
    uncounted: dict[str, None] = {}
    left_out: dict[str, None] = {}
    for part in parts:
        for item in part.instructions:
            key = (item.kernel, item.path, item.line, item.ptx_line, item.mnemonic)
            counts = total((costs[key], item)) if key in costs else item.counts
            costs[key] = replace(item, counts=counts, chain=())
        for kernel, most in part.contention.items():
            contention[kernel] = max(most, contention.get(kernel, 0))
        if part.uncounted:
            uncounted[part.uncounted] = None
        left_out |= dict.fromkeys(part.left_out)
    return Costs(tuple(costs.values()), contention, "; ".join(uncounted), tuple(left_out))


def by_line(costs: Costs) -> dict[tuple[str, int], dict[str, int]]:
    """(path, line) → the sum of the counts of its instructions; without those of libraries' own lines."""
    found: dict[tuple[str, int], list[InstructionCost]] = {}
    for item in costs.instructions:
        if item.path and item.counts:
            found.setdefault((item.path, item.line), []).append(item)
    return {place: total(found[place]) for place in sorted(found)}


# --- coverage ---------------------------------------------------------------------------------------------------------
# Coverage of source files: executed lines, branches, loops and bounds of indices, with counts.


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


def merged_coverage(coverages: Iterable[Coverage]) -> Coverage:
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
        _summed(chain.from_iterable(part.branches for part in parts), _add_branches),
        _summed(chain.from_iterable(part.loops for part in parts), _add_loops),
        _summed(chain.from_iterable(part.bounds for part in parts), _add_bounds),
    )


def _summed(items: Iterable[C], add: Callable[[C, C], C]) -> tuple[C, ...]:
    sums: dict[tuple[int | str, ...], C] = {}
    for item in items:
        key = _key(item)
        sums[key] = add(sums[key], item) if key in sums else item
    return tuple(sums[key] for key in sorted(sums))


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
