"""Candidates: cases of a job with other parameters and other data, and the jobs that they are.

The edges come first, one at a time; then random changes of inputs that reached new code.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record
from gpuregress.lab.fuzzing import data
from gpuregress.lab.fuzzing.data import GRADES, EdgeContents, Grade
from gpuregress.lab.shrinking import simpler_jobs
from gpuregress.lab.shrinking.simpler_jobs import Job

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
            edges = data.edges(buffer, section.get("fill"), is_result=is_result)
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
