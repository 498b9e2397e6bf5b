"""Simplifications of a job that change no size: keys that are not needed, and plain inputs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Case, Fill, Values
from gpuregress.lab.shrinking.numbers import Job

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
    alone: Job = {"job": name, **copy.deepcopy({key: value for key, value in job.items() if key != "job"})}
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
            yield key, {name: value for name, value in job.items() if name != key}
    for key in _JUDGING:
        for buffer in list(job.get(key, ())) if isinstance(job.get(key), dict) and needed else ():
            if buffer not in needed:
                rest = {name: value for name, value in job[key].items() if name != buffer}
                yield f"{key}.{buffer}", _with(job, key, rest)


def _with(job: Job, key: str, value: dict[str, Any]) -> Job:
    changed = {**job, key: value}
    if not value:
        del changed[key]
    return changed


def plainer_fills(job: Job, case: Case) -> Iterator[tuple[str, list[tuple[str, Job]]]]:
    """For each buffer of random or stored floats: its name, and the jobs with a plain fill, the plainest first."""
    for name, buffer in case.buffers.items():
        fill = buffer.fill
        is_float = all(part.scalar.is_float for part in dtypes.parse(buffer.dtype).parts)
        if fill is None or fill.kind not in _RANDOM or not is_float or name not in job["buffers"]:
            continue
        changed = []
        for words, plain in (*((word, word) for word in _PLAIN), *_single_values(fill)):
            plainer = copy.deepcopy(job)
            plainer["buffers"][name]["fill"] = plain
            changed.append((words, plainer))
        yield name, changed


def _single_values(fill: Fill) -> Iterator[tuple[str, Any]]:
    """Each value of a choice everywhere: the last first, which may be the special one."""
    if fill.kind == "choice" and isinstance(fill.options, Values):
        for value in dict.fromkeys(reversed(fill.options.values)):
            yield f"{value} everywhere", {"value": value}
