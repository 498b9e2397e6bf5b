"""Write coverage of a case: elements never written, NaNs, and buffers left as they were."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

from gpuregress import dtypes
from gpuregress.dtypes import ElementType
from gpuregress.records import Buffer, Case, Dump, Observations, Outcome, UnwrittenElements

_MOST_RANGES = 4
_CHANCE_BITS = 16
"""Poison is attributed to chance if random results contain it in one of 2 to this power buffers, or more often."""
_FEWEST = {1: 4, 2: 3}
"""Element size in bytes → how many elements must hold the poison before chance is ruled out."""


def remarks(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """Describe what is suspicious about a case's dumps before they become a baseline, a line for each problem.

    Args:
        case: the case that ran.
        outcome: of a run that ended; without counts they are taken from its dumps.
    """
    counted = _counted(case, outcome).observations
    was = case.initial_buffers
    return tuple(line for dump in outcome.dumps for line in _of_buffer(was[dump.buffer], dump, counted))


def empty(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """The dumped outputs without any written element."""
    counted = _counted(case, outcome).observations.unwritten
    return tuple(dump.buffer for dump in outcome.dumps if _is_all(counted.get(dump.buffer)))


def ranges_text(unwritten: UnwrittenElements) -> str:
    """The first few index ranges of unwritten elements: `[8] to [63]`."""
    ranges = unwritten.ranges
    shown = [f"[{first}]" if last == first + 1 else f"[{first}] to [{last - 1}]" for first, last in ranges]
    more = f" and {len(ranges) - _MOST_RANGES} more stretches" if len(ranges) > _MOST_RANGES else ""
    return ", ".join(shown[:_MOST_RANGES]) + more


def _of_buffer(was: Buffer, dump: Dump, observed: Observations) -> Iterator[str]:
    """The lines of one dump; `was`: the buffer that its memory was before the first launch."""
    name, total = dump.buffer, math.prod(dump.shape)
    unwritten, nans = observed.unwritten.get(name), (observed.nan or {}).get(name, 0)
    if unwritten and _by_chance(unwritten, dtypes.parse(dump.dtype)):
        unwritten = None
    if unwritten or nans:
        where = f" ({ranges_text(unwritten)})" if unwritten else ""
        is_doubtful = was.is_poisoned and nans == total
        hint = ": are they made of what was there before? (--poison twice tells)" if is_doubtful else ""
        count = unwritten.elements if unwritten else 0
        yield f"{name}: {count} of {total} elements were never written{where}; {nans} NaN{hint}"
    if name in observed.partly:
        yield f"{name}: {observed.partly[name]} of {total} elements were written in part only"
    if name in observed.unchanged:
        whose = "its" if was.name == name else f"{was.name}'s"
        what = f"{whose} fill" if was.fill is not None else f"{whose} initial value"
        yield f"{name}: equal to {what}, no element changed"


def _by_chance(unwritten: UnwrittenElements, element: ElementType) -> bool:
    """Whether the elements that hold the poison may be results: a few narrow integers, none beside another."""
    if any(part.scalar.kind not in ("int", "uint") for part in element.parts):  # no GPU makes this NaN, nor this bool
        return False
    size = element.size
    longest = max(last - first for first, last in unwritten.ranges)
    if _is_all(unwritten) or 256 ** (longest * size) > unwritten.of << _CHANCE_BITS:
        return False
    expected_by_chance = 8 * unwritten.of // int(256**size)
    return unwritten.elements < _FEWEST.get(size, 1) + expected_by_chance


def _is_all(unwritten: UnwrittenElements | None) -> bool:
    return unwritten is not None and unwritten.elements == unwritten.of


def _counted(case: Case, outcome: Outcome) -> Outcome:
    """The outcome with its counts, taken from the dumps for a run of an earlier gpuregress."""
    if outcome.observations.nan is not None or not outcome.dumps:
        return outcome
    from gpuregress.dump import reader  # noqa: PLC0415 - loads numpy, and a run of today has its counts
    from gpuregress.runner import poison  # noqa: PLC0415 - as above

    observed, buffers = outcome.observations, case.initial_buffers
    for dump in outcome.dumps:
        was = buffers[dump.buffer]
        poisoned = was.is_poisoned and case.settings.poison != "none"
        array = reader.read(Path(dump.path)).array
        counts = poison.survey([array], dtypes.parse(dump.dtype), poisoned=poisoned)
        is_unchanged = outcome.inputs.get(was.name) == dump.digest
        observed = counts.added_to(observed, dump.buffer, is_unchanged=is_unchanged)
    return dataclasses.replace(outcome, observations=observed)
