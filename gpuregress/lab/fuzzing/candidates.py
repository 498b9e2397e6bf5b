"""Candidates: cases of a job with other parameters and other data, and the jobs that they are.

The edges come first, one at a time; then random changes of inputs that reached new code.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Buffer, Case, Interval, NormalDistribution, Progression, Values
from gpuregress.gpu.records import Record
from gpuregress.lab.shrinking import simpler_jobs
from gpuregress.lab.shrinking.simpler_jobs import Job

# --- contents of buffers that are hard for kernels --------------------------------------------------------------------
# NaN, infinities, subnormals, equal, sorted and reversed values. A fill follows the shape, and needs no file.

Grade = Literal["own", "ordinary", "special", "extreme"]
"""`own`: the job's data; `ordinary`: other numbers of its range; `special`: NaN, infinities, -0, subnormals among
them; `extreme`: the largest and the smallest numbers of the type."""

GRADES: tuple[Grade, ...] = ("own", "ordinary", "special", "extreme")

_SIGMAS = 3.0
_FEW = 4
"""Ordinary values beside special ones."""


class EdgeContents(Record):
    """Other contents of a buffer.

    Attributes:
        buffer: its name.
        words: for people, `all NaN`.
        fill: as a job has it.
        grade: how far from the job's own data.
    """

    buffer: str
    words: str
    fill: Any
    grade: Grade

    @property
    def hardest(self) -> str:
        """The kind of its values that kernels fail at for a reason of its own: NaN, an infinity, or the grade."""
        if not isinstance(self.fill, dict):
            return self.grade
        (values,) = self.fill.values()
        if not isinstance(values, list):
            values = [values]
        numbers = [value for value in values if isinstance(value, float)]
        if any(math.isnan(number) for number in numbers):
            return "NaN"
        if any(math.isinf(number) for number in numbers):
            return "infinity"
        return self.grade


def edge_contents(buffer: Buffer, written: Any, *, is_result: bool) -> tuple[EdgeContents, ...]:
    """Contents to try in a buffer; none where only its own make sense.

    Args:
        buffer: of a planned case.
        written: its fill as the job has it.
        is_result: whether kernels add to what it holds, so that zeros must stay.
    """
    fill = buffer.fill
    if fill is None or fill.kind == "same" or (is_result and fill.kind in ("zeros", "ones", "value")):
        return ()
    scalars = [part.scalar for part in dtypes.parse(buffer.dtype).parts]
    if all(scalar.is_float for scalar in scalars):
        contents = _floats(buffer, min(scalars, key=lambda scalar: scalar.largest))
    elif any(scalar.is_float or scalar.kind == "bool" for scalar in scalars):
        return ()
    else:
        contents = _integers(buffer, written, min(scalars, key=lambda scalar: scalar.size))
    return tuple(EdgeContents(buffer.name, words, fill_, grade) for words, fill_, grade in contents)


# --- floats -----------------------------------------------------------------------------------------------------------


def _floats(buffer: Buffer, scalar: dtypes.Scalar) -> Iterator[tuple[str, Any, Grade]]:
    low, high = _range(buffer)
    middle = (low + high) / 2
    ordinary = [low + (high - low) * share / _FEW for share in range(_FEW)]
    smallest, largest = scalar.smallest, scalar.largest
    yield "NaN among others", _choice(*ordinary, *ordinary, math.nan), "special"
    yield "all equal", {"value": middle}, "ordinary"
    yield "infinities among others", _choice(*ordinary, *ordinary, math.inf, -math.inf), "special"
    # The same random numbers choose from the list, so an element that is NaN above, as the first one, is none here.
    yield "NaN among others, at other elements", _choice(math.nan, *ordinary, *ordinary), "special"
    yield "duplicates", _choice(low, middle), "ordinary"
    yield "sorted", _progression(low, high, buffer), "ordinary"
    yield "in reversed order", _progression(high, low, buffer), "ordinary"
    yield "all NaN", {"value": math.nan}, "special"
    yield "+infinity among others", _choice(*ordinary, *ordinary, math.inf), "special"
    yield "-infinity among others", _choice(*ordinary, *ordinary, -math.inf), "special"
    yield "0 and -0", _choice(0.0, -0.0), "special"
    yield "subnormals", _choice(smallest, -smallest, 8 * smallest, 0.0), "special"
    yield "subnormals among others", _choice(*ordinary, smallest, -smallest), "special"
    yield "the largest numbers", _choice(largest, largest / 2), "extreme"
    yield "the largest negative numbers", _choice(-largest, -largest / 2), "extreme"
    yield "the largest and the smallest numbers", _choice(largest, smallest, 1.0), "extreme"
    if low <= 0.0 < high:
        yield "zeros", "zeros", "ordinary"


def _range(buffer: Buffer) -> tuple[float, float]:
    """The range of a buffer's own floats; 0 to 1 where it is not known."""
    fill = buffer.fill
    assert fill is not None
    count = math.prod(buffer.shape)
    match fill.options:
        case Interval(low, high):
            return float(low), float(high)
        case NormalDistribution(mean, std):
            return mean - _SIGMAS * std, mean + _SIGMAS * std
        case Progression(start, step):
            first, last = sorted((float(start), float(start) + float(step) * (count - 1)))
            return first, last
        case Values(values) if all(math.isfinite(value) for value in values):
            return float(min(values)), float(max(values))
    return 0.0, 1.0


def _progression(first: float, last: float, buffer: Buffer) -> Any:
    parts = len(dtypes.parse(buffer.dtype).parts)
    return {"arange": {"start": first, "step": (last - first) / max(1, math.prod(buffer.shape) * parts)}}


def _choice(*values: float) -> Any:
    return {"choice": list(values)}


# --- integers ---------------------------------------------------------------------------------------------------------


def _integers(buffer: Buffer, written: Any, scalar: dtypes.Scalar) -> Iterator[tuple[str, Any, Grade]]:
    """Integers may be indices: what is tried keeps the range of the job's own."""
    fill = buffer.fill
    assert fill is not None
    count = math.prod(buffer.shape) * len(dtypes.parse(buffer.dtype).parts)
    match fill.options:
        case Interval(low, high):
            yield from _in_range(int(low), int(high) - 1, _bounds(written), count)
        case Values(values) if fill.kind == "choice":
            yield "the largest of its values everywhere", {"value": max(values)}, "ordinary"
            yield "the smallest of its values everywhere", {"value": min(values)}, "ordinary"
        case Progression(start, step):
            yield "in reversed order", _reversed(int(start), int(step), count), "ordinary"
    if fill.kind == "permutation":
        yield "sorted", "arange", "ordinary"
        yield "in reversed order", _reversed(0, 1, count), "ordinary"
    if fill.kind == "park_miller":
        yield from _in_range(1, min(2**31 - 2, scalar.bounds[1]), (1, min(2**31 - 2, scalar.bounds[1])), count)


def _bounds(written: Any) -> tuple[Any, Any]:
    """The range as the job has it, an expression of its parameters."""
    low, high = (written["integers"][name] for name in ("low", "high"))
    return low, high - 1 if isinstance(high, int) else f"({high}) - 1"


def _in_range(low: int, last: int, named: tuple[Any, Any], count: int) -> Iterator[tuple[str, Any, Grade]]:
    yield "the largest of its range everywhere", {"value": named[1]}, "ordinary"
    yield "the smallest of its range everywhere", {"value": named[0]}, "ordinary"
    if last > low:
        yield "both ends of its range", {"choice": list(named)}, "ordinary"
    step = (last - low) // max(1, count - 1)
    if step > 0:
        yield "sorted", {"arange": {"start": named[0], "step": step}}, "ordinary"
        yield "in reversed order", {"arange": {"start": named[1], "step": -step}}, "ordinary"
    inside = [value for value in (0, 1, -1) if low < value < last]
    if inside:
        yield "those of 0, 1 and -1 that its range has", {"choice": inside}, "ordinary"


def _reversed(start: int, step: int, count: int) -> Any:
    return {"arange": {"start": start + step * (count - 1), "step": -step}}


Number = int | float

_FLOATS = (0.0, 1.0, -1.0)


def parameter_edges(own: Sequence[Number], blocks: Iterable[int]) -> tuple[Number, ...]:
    """Values at which kernels go wrong, without the job's own: the most telling first.

    Args:
        own: the values that the job names, all of one parameter.
        blocks: threads of the job's blocks, along each axis and together.
    """
    if not all(isinstance(value, int) for value in own):
        return tuple(value for value in _FLOATS if value not in own)
    whole = [int(value) for value in own]
    sizes = sorted({size for size in blocks if size > 1})
    low = least_value(whole)
    high = most_value(whole, sizes)
    edges = dict.fromkeys(_ordered(whole, sizes, high))
    return tuple(value for value in edges if low <= value <= high and value not in whole)


def _ordered(own: Sequence[int], blocks: Sequence[int], high: int) -> Iterator[int]:
    yield from (0, 1)
    for value in own:
        yield from (value - 1, value + 1)
    for block in blocks:
        yield from (block - 1, block + 1, block, block + block // 2 + 1, 2 * block - 1, 2 * block + 1, 2 * block)
    yield from (2, 3, -1)
    for exponent in range(high.bit_length() - 1, 1, -1):
        yield from (2**exponent + 1, 2**exponent - 1, 2**exponent)


def least_value(own: Iterable[int]) -> int:
    """Return the smallest value that is tried: negative only where one of the job's own is."""
    smallest = min(own, default=0)
    if smallest >= 0:
        return 0
    return smallest - 1


def most_value(own: Iterable[int], blocks: Iterable[int]) -> int:
    """The largest value that is tried, so that no case becomes far slower than the job's own."""
    return max(2 * max(own, default=0), *(2 * block + 1 for block in blocks), 1)


def block_sizes(case: Case) -> frozenset[int]:
    """Threads of a case's blocks, along each axis and together."""
    sizes: set[int] = set()
    for launch in case.launches:
        sizes |= {*launch.block, math.prod(launch.block)}
    return frozenset(size for size in sizes if size > 1)


_CHECKS_OF_DATA = {
    "own": None,
    "ordinary": ("finite", "sorted", "equals", "permutation"),
    "special": ("equals", "permutation"),
    "extreme": ("equals", "permutation"),
}
"""Grade → checks that hold for such data, too; None: all. Others may follow from the job's own numbers."""

_BASES = 4
_TWO = 0.5
"""The share of mutations that change two things."""


class Candidate(Record):
    """A case of the job with other inputs.

    Attributes:
        base: the position of the case.
        parameters: name and value of each that is another one.
        contents: of the buffers that hold other data.
    """

    base: int
    parameters: tuple[tuple[str, Number], ...] = ()
    contents: tuple[EdgeContents, ...] = ()

    @property
    def grade(self) -> Grade:
        """The grade of its data farthest from the job's own."""
        return max((edge.grade for edge in self.contents), key=GRADES.index, default="own")

    @property
    def hardest(self) -> tuple[Grade, str]:
        """The grade of its data, and what is hard in data of this grade."""
        grade = self.grade
        return grade, max((edge.hardest for edge in self.contents if edge.grade == grade), default="")

    @property
    def words(self) -> str:
        """`n=33; x: all NaN`."""
        parts = [f"{edge.buffer}: {edge.words}" for edge in self.contents]
        if self.parameters:
            parts.insert(0, ", ".join(f"{name}={value}" for name, value in self.parameters))
        return "; ".join(parts)

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it another candidate; a NaN equals itself here."""
        return self.base, self.parameters, tuple((edge.buffer, edge.words) for edge in self.contents)

    def with_parameter(self, name: str, value: Number) -> Candidate:
        """Return the same with another value of a parameter."""
        parameters = dict(self.parameters)
        parameters[name] = value
        return Candidate(self.base, tuple(sorted(parameters.items())), self.contents)

    def with_contents(self, contents: EdgeContents) -> Candidate:
        """Return the same with other data in a buffer."""
        edges = [edge for edge in self.contents if edge.buffer != contents.buffer]
        edges.append(contents)
        return Candidate(self.base, self.parameters, tuple(sorted(edges, key=lambda edge: edge.buffer)))


class Space:
    """All candidates of a job.

    Args:
        document: the job.
        cases: of the job that pass as they are, at least one.
        keep: parameters and buffers that stay as they are, beside those that the job names.
        schedules: the number of schedules whose results are compared.
    """

    def __init__(self, document: Job, cases: Sequence[Case], keep: Collection[str] = (), *, schedules: int = 1) -> None:
        self._document = document
        if schedules > 1:
            self._document = {**document, "schedules": schedules}
        keep = {*keep, *(document.get("fuzz") or {}).get("keep", ())}
        self.bases = _spread(cases, _BASES)
        self._blocks = frozenset().union(*[block_sizes(case) for case in cases])
        self._own: dict[str, list[Number]] = {}
        self.parameters: dict[str, tuple[Number, ...]] = {}
        for name in cases[0].parameters:
            values = [case.parameters.get(name) for case in cases]
            numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
            if name not in keep and len(numbers) == len(cases):
                self._own[name] = numbers
                self.parameters[name] = parameter_edges(numbers, self._blocks)
        self.contents: list[dict[str, tuple[EdgeContents, ...]]] = [self._contents(case, keep) for case in self.bases]

    def _contents(self, case: Case, keep: Collection[str]) -> dict[str, tuple[EdgeContents, ...]]:
        """Return buffer → the other contents to try in it."""
        contents: dict[str, tuple[EdgeContents, ...]] = {}
        for name, buffer in case.buffers.items():
            section = (self._document.get("buffers") or {}).get(name)
            if name in keep or buffer.fill is None or not isinstance(section, Mapping):
                continue
            is_result = name in case.dump or name == case.status
            edges = edge_contents(buffer, section.get("fill"), is_result=is_result)
            if edges:
                contents[name] = edges
        return contents

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Filled buffers whose data stay as they are."""
        filled = [name for name, buffer in self.bases[0].buffers.items() if buffer.fill is not None]
        return tuple(name for name in filled if name not in self.contents[0])

    def is_larger(self, candidate: Candidate) -> bool:
        """Whether a parameter is above all of the job's own values, so that the case may be slower than any."""
        return any(value > max(self._own[name]) for name, value in candidate.parameters)

    def edges(self) -> Iterator[Candidate]:
        """Each edge alone: in turns of one parameter or buffer after the other, so that a few show something of all."""
        axes: list[list[Candidate]] = []
        for base, contents in enumerate(self.contents):
            start = Candidate(base)
            for name, values in self.parameters.items():
                axes.append([start.with_parameter(name, value) for value in values])
            for edges in contents.values():
                candidates = [start.with_contents(edge) for edge in edges]
                axes.append(candidates)
        for turn in itertools.zip_longest(*axes):
            for candidate in turn:
                if candidate is not None:
                    yield candidate

    def mutated(self, candidate: Candidate, chance: random.Random) -> Candidate:
        """One or two random changes of a candidate."""
        for _ in range(2 if chance.random() < _TWO else 1):
            candidate = self._changed(candidate, chance)
        return candidate

    def _changed(self, candidate: Candidate, chance: random.Random) -> Candidate:
        contents = self.contents[candidate.base]
        axes = [*self.parameters, *contents]
        if not axes:
            return candidate
        axis = chance.randrange(len(axes))
        name = axes[axis]
        if axis >= len(self.parameters):
            return candidate.with_contents(chance.choice(contents[name]))
        own = self._own[name]
        edges = self.parameters[name]
        if edges and (chance.random() < _TWO or not all(isinstance(value, int) for value in own)):
            return candidate.with_parameter(name, chance.choice(edges))
        whole = [int(value) for value in own]
        value = chance.randint(least_value(whole), most_value(whole, self._blocks))
        return candidate.with_parameter(name, value)

    def job(self, candidate: Candidate) -> Job:
        """The job of one case that a candidate is."""
        case = self.bases[candidate.base]
        job = simpler_jobs.of_one_case(self._document, case, f"{case.job}-fuzz")
        for key in simpler_jobs.NOT_OF_RESULTS:
            job.pop(key, None)
        for name, value in candidate.parameters:
            job["parameters"][name] = [value]
        for edge in candidate.contents:
            job["buffers"][edge.buffer] = {**job["buffers"][edge.buffer], "fill": copy.deepcopy(edge.fill)}
        if candidate.parameters or candidate.contents:
            _remove_entries(job, "reference", case.reference_files)
        _keep_checks(job, candidate.grade)
        if candidate.grade in ("special", "extreme"):
            job = _nan_equal(job)
        return job


def _spread(cases: Sequence[Case], count: int) -> tuple[Case, ...]:
    """At most `count` cases, the smallest and the largest among them."""
    ordered = sorted(cases, key=lambda case: sum(buffer.size for buffer in case.buffers.values()))
    if len(ordered) <= count:
        return tuple(ordered)
    return tuple(ordered[number * (len(ordered) - 1) // (count - 1)] for number in range(count))


def _remove_entries(job: Job, key: str, buffers: Iterable[str]) -> None:
    """Remove the entries of these buffers from a mapping of the job, and the key if nothing remains."""
    entries = dict(job.pop(key, None) or {})
    for buffer in buffers:
        entries.pop(buffer, None)
    if entries:
        job[key] = entries


def _keep_checks(job: Job, grade: Grade) -> None:
    """Leave out checks that other data than the job's own need not keep."""
    names = _CHECKS_OF_DATA[grade]
    if names is None or not isinstance(job.get("checks"), Mapping):
        return
    checks: dict[str, Any] = {}
    for buffer, items in job.pop("checks").items():
        remaining = [check for check in items if _check_name(check) in names]
        if remaining:
            checks[buffer] = remaining
    if checks:
        job["checks"] = checks


def _check_name(check: Any) -> str:
    """Return the name of a check: `finite`, or the key of `{equals: …}`."""
    if isinstance(check, str):
        return check
    for key in check:
        return str(key)
    return ""


def _nan_equal(value: Any) -> Any:
    """The same without `nan: never`: where the inputs hold NaN, a result may, too, if its reference does."""
    if isinstance(value, dict):
        return {key: _nan_equal(item) for key, item in value.items() if (key, item) != ("nan", "never")}
    if isinstance(value, list):
        return [_nan_equal(item) for item in value]
    return value
