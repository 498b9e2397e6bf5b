"""Simpler jobs: smaller numbers, fewer keys, plain inputs.

A constant is replaced wherever a launch or a shape has it, so that a buffer of 1000 elements and the argument
`{int32: 1000}` stay together.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Case, Fill, Values
from gpuregress.gpu.records import Record

_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_OF_LAUNCH = ("kernel", "grid", "block", "shared", "args")

_FEW = 32
"""Up to this value all smaller ones are tried."""

Job = dict[str, Any]


class JobNumber(Record):
    """A number of a job.

    Attributes:
        name: of the parameter; of a constant its value in the original job.
        value: as it is now.
        is_parameter: whether it is a parameter, not a constant.
    """

    name: str
    value: int | float
    is_parameter: bool

    def put(self, job: Job, value: float) -> Job:
        """Return a copy of the job with another value."""
        changed = copy.deepcopy(job)
        if self.is_parameter:
            changed["parameters"][self.name] = [value]
            return changed
        for owner, key in _places(changed):
            owner[key] = _replaced(owner[key], int(self.value), int(value))
        return changed

    def smaller(self) -> tuple[int | float, ...]:
        """Values nearer to zero, the smallest first: powers of two, and one less and one more."""
        if isinstance(self.value, float):
            floats = {0.0, 1.0, float(round(self.value))}
            return tuple(sorted(number for number in floats if abs(number) < abs(self.value)))
        size = abs(self.value)
        sizes = {0, 1, size // 2, size - 1}
        if size <= _FEW:
            sizes |= set(range(size))
        for exponent in range(1, size.bit_length()):
            sizes |= {2**exponent - 1, 2**exponent, 2**exponent + 1}
        least = 0 if self.is_parameter else 1
        sign = -1 if self.value < 0 else 1
        return tuple(sign * smaller for smaller in sorted(sizes) if least <= smaller < size)


def between(low: int, high: int, count: int) -> tuple[int, ...]:
    """At most `count` integers strictly between two others, evenly apart."""
    step = (high - low) / (count + 1)
    points = {round(low + step * number) for number in range(1, count + 1)}
    return tuple(sorted(point for point in points if low < point < high))


def numbers(job: Job, case: Case) -> tuple[JobNumber, ...]:
    """Return the numbers of a job, parameters first.

    Args:
        job: with one value for each parameter.
        case: its case.
    """
    found = []
    for name, value in case.parameters.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            found.append(JobNumber(name, value, is_parameter=True))
    found += [JobNumber(str(value), value, is_parameter=False) for value in sorted(_constants(job), reverse=True)]
    return tuple(found)


def _constants(job: Job) -> set[int]:
    """Extents above 1 of shapes and blocks; a number beside a parameter (`3 * n`) is a coefficient, and stays."""
    extents: list[Any] = []
    for buffer in _mappings(job.get("buffers")):
        extents += _list(buffer.get("shape"))
    for launch in _list(job.get("launches")):
        if isinstance(launch, dict):
            extents += _list(launch.get("block"))
    return {extent for extent in extents if isinstance(extent, int) and not isinstance(extent, bool) and extent > 1}


def _places(job: Job) -> Iterator[tuple[dict[str, Any], str]]:
    """The parts of a job in which a constant stands: shapes, and launches with those of references."""
    for buffer in _mappings(job.get("buffers")):
        if "shape" in buffer:
            yield buffer, "shape"
    launches = list(_list(job.get("launches")))
    for reference in _mappings(job.get("reference")):
        launches += _list(reference.get("launches"))
    for launch in launches:
        for key in _OF_LAUNCH:
            if isinstance(launch, dict) and key in launch:
                yield launch, key


def _replaced(value: Any, old: int, new: int) -> Any:
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, str):
        return _INTEGER.sub(lambda found: str(new) if int(found[0]) == old else found[0], value)
    if isinstance(value, int) and not isinstance(value, bool) and value == old:
        return new
    return value


def _mappings(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, Mapping):
        return []
    return [item for item in value.values() if isinstance(item, dict)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


NOT_OF_RESULTS = (
    *("agree", "timing", "resources", "known_failing", "tags"),
    *("variants", "revision", "cost", "retries", "fuzz"),
)
"""Keys of a job that judge other things than the results of one case, or need more than one."""
OPTIONAL = (*NOT_OF_RESULTS, "repeat", "schedules", "twins", "inputs", "infeasible", "launch_digests", "limits")
"""Keys of a job that a failure may not need."""
_JUDGING = ("compare", "checks", "reference", "verify")
_PLAIN = ("zeros", "ones", "arange")
_RANDOM = ("uniform", "normal", "choice", "park_miller", "file", "python")
"""Fills whose values mean nothing by themselves; a permutation and integers may be indices."""


def of_one_case(job: Job, case: Case, name: str) -> Job:
    """Return a job that has one case of another job; that its failure is known excuses none of the new job's.

    Args:
        job: the whole job.
        case: one of its cases.
        name: of the new job.
    """
    alone: Job = {"job": name, **copy.deepcopy(job)}
    alone["job"] = name
    alone.pop("known_failing", None)
    if case.parameters:
        alone["parameters"] = {key: [value] for key, value in case.parameters.items()}
    return alone


def without_keys(job: Job, needed: Collection[str], optional: Sequence[str] = OPTIONAL) -> Iterator[tuple[str, Job]]:
    """Each job without one key that may not matter, with the key's name.

    Args:
        job: the job.
        needed: buffers whose judgement must stay.
        optional: keys that may not matter.
    """
    for key in optional:
        if key in job:
            yield key, _without(job, key)
    for key in _JUDGING:
        section = job.get(key)
        if not isinstance(section, dict) or not needed:
            continue
        for buffer in list(section):
            if buffer in needed:
                continue
            others = _without(section, buffer)
            if others:
                yield f"{key}.{buffer}", {**job, key: others}
            else:
                yield f"{key}.{buffer}", _without(job, key)


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def plainer_fills(job: Job, case: Case) -> Iterator[tuple[str, list[tuple[str, Job]]]]:
    """For each buffer of random or stored floats: its name, and the jobs with a plain fill, the plainest first."""
    for name, buffer in case.buffers.items():
        fill = buffer.fill
        is_float = all(part.scalar.is_float for part in dtypes.parse(buffer.dtype).parts)
        if fill is None or fill.kind not in _RANDOM or not is_float or name not in job["buffers"]:
            continue
        changed = []
        fills: list[tuple[str, Any]] = [(word, word) for word in _PLAIN]
        for words, plain in [*fills, *_single_values(fill)]:
            plainer = copy.deepcopy(job)
            plainer["buffers"][name]["fill"] = plain
            changed.append((words, plainer))
        yield name, changed


def _single_values(fill: Fill) -> Iterator[tuple[str, Any]]:
    """Each value of a choice everywhere: the last first, which may be the special one."""
    if fill.kind == "choice" and isinstance(fill.options, Values):
        for value in dict.fromkeys(reversed(fill.options.values)):
            yield f"{value} everywhere", {"value": value}
