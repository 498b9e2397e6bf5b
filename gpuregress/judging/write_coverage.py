"""What a case's kernels wrote of their buffers: elements never written, NaNs, and fills that were left as they were."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuregress import dtypes
from gpuregress.dtypes import ElementType
from gpuregress.records import Buffer, Case, Dump, Outcome

_MOST_RANGES = 4
_CHANCE_BITS = 16
"""A stretch of poison is chance where results give it to one buffer of 2 to this power, or to more."""
_FEWEST = {1: 4, 2: 3}
"""Element size in bytes → how many elements must hold the poison before chance is ruled out."""


def remarks(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """What must be known of a case's dumps before they become a baseline; a line each buffer, none for a sound one.

    Args:
        case: what was run.
        outcome: of a run that ended; one without counts is counted now, from its dumps.
    """
    counted = _counted(case, outcome)
    was = case.initial_buffers
    return tuple(line for dump in outcome.dumps for line in _of_buffer(was[dump.buffer], dump, counted))


def empty(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """The dumped outputs of which no element was written."""
    counted = _counted(case, outcome).extra.get("unwritten", {})
    return tuple(dump.buffer for dump in outcome.dumps if _is_all(counted.get(dump.buffer)))


def places(unwritten: Mapping[str, Any]) -> str:
    """`[8] to [63]`: where the elements are that hold the poison, the first few stretches."""
    ranges = unwritten["ranges"]
    shown = [f"[{first}]" if last == first + 1 else f"[{first}] to [{last - 1}]" for first, last in ranges]
    more = f" and {len(ranges) - _MOST_RANGES} more stretches" if len(ranges) > _MOST_RANGES else ""
    return ", ".join(shown[:_MOST_RANGES]) + more


def _of_buffer(was: Buffer, dump: Dump, outcome: Outcome) -> Iterator[str]:
    """The lines of one dump; `was`: the buffer that its memory was before the first launch."""
    name, total = dump.buffer, math.prod(dump.shape)
    told = {what: outcome.extra.get(what, {}).get(name) for what in ("unwritten", "partly", "nan")}
    unwritten, nans = told["unwritten"], told["nan"] or 0
    if unwritten and _by_chance(unwritten, dtypes.parse(dump.dtype)):
        unwritten = None
    if unwritten or nans:
        where = f" ({places(unwritten)})" if unwritten else ""
        is_doubtful = was.is_poisoned and nans == total
        hint = ": are they made of what was there before? (--poison twice tells)" if is_doubtful else ""
        count = unwritten["elements"] if unwritten else 0
        yield f"{name}: {count} of {total} elements were never written{where}; {nans} NaN{hint}"
    if told["partly"]:
        yield f"{name}: {told['partly']} of {total} elements were written in part only"
    if name in outcome.extra.get("unchanged", ()):
        whose = "its" if was.name == name else f"{was.name}'s"
        what = f"{whose} fill" if was.fill is not None else f"{whose} initial value"
        yield f"{name}: equal to {what}, no element changed"


def _by_chance(unwritten: Mapping[str, Any], element: ElementType) -> bool:
    """Whether so few narrow integers hold the poison's bytes, none beside another, that they may be results."""
    if any(part.scalar.kind not in ("int", "uint") for part in element.parts):  # no GPU makes this NaN, nor this bool
        return False
    size = element.size
    longest = max(last - first for first, last in unwritten["ranges"])
    if _is_all(unwritten) or 256 ** (longest * size) > unwritten["of"] << _CHANCE_BITS:
        return False
    return bool(unwritten["elements"] < _FEWEST.get(size, 1) + 8 * unwritten["of"] // 256**size)


def _is_all(unwritten: Mapping[str, Any] | None) -> bool:
    return unwritten is not None and bool(unwritten["elements"] == unwritten["of"])


def _counted(case: Case, outcome: Outcome) -> Outcome:
    """The outcome with its counts, from the dumps where the run took none (one of an earlier gpuregress)."""
    if "nan" in outcome.extra or not outcome.dumps:
        return outcome
    from gpuregress.dump import reader  # noqa: PLC0415 - loads numpy, and a run of today has its counts
    from gpuregress.runner import poison  # noqa: PLC0415 - as above

    extra: dict[str, Any] = {"nan": {}, "unwritten": {}, "partly": {}, "unchanged": []}
    buffers = case.initial_buffers
    for dump in outcome.dumps:
        was = buffers[dump.buffer]
        poisoned = was.is_poisoned and case.settings.poison != "none"
        array = reader.read(Path(dump.path)).array
        for what, value in poison.survey([array], dtypes.parse(dump.dtype), poisoned=poisoned).items():
            extra[what][dump.buffer] = value
        if outcome.inputs.get(was.name) == dump.digest:
            extra["unchanged"].append(dump.buffer)
    return dataclasses.replace(outcome, extra={**outcome.extra, **extra})
