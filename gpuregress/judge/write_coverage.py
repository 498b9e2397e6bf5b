"""Write coverage of a case: elements never written, NaNs, and buffers left as they were."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.execution.runner import poison
from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import (
    Buffer,
    Case,
    Comparison,
    Dump,
    Figures,
    Outcome,
    UnwrittenElements,
    Verdict,
    WriteSurvey,
)
from gpuregress.foundation.wording import first_names, joined
from gpuregress.gpu.records import replace
from gpuregress.store.dumps import reader

if TYPE_CHECKING:
    from gpuregress.foundation.numeric.ordinals import Mask

_MOST_RANGES = 4
_CHANCE_BITS = 16
"""Poison is attributed to chance if random results contain it in one of 2 to this power buffers, or more often."""
_FEWEST = {1: 4, 2: 3}
"""Element size in bytes → how many elements must hold the poison before chance is ruled out."""
_DERIVED = frozenset(["reference", "twin", "agree"])
"""Expected sides that nobody accepted. All of them may hold poison, too: those of kernels, or NaN of a function."""
_NOTHING_WRITTEN = (
    "nothing was written: it still holds the poison that outputs are filled with; "
    "where that is right, accept it with --unwritten-ok REASON"
)


def remarks(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """Describe what is suspicious about a case's dumps before they become a baseline, a line for each problem.

    Args:
        case: the case that ran.
        outcome: of a run that ended.
    """
    observed, was = outcome.observations.writes, case.initial_buffers
    lines: list[str] = []
    for dump in outcome.dumps:
        lines += _of_buffer(was[dump.buffer], dump, observed)
    return tuple(lines)


def reported(decided: Verdict, case: Case, outcome: Outcome) -> Verdict:
    """Add what is suspicious about a case's dumps to the reason of its verdict, where nobody accepted them.

    A new case has all remarks, for everybody reads them before they accept. A buffer that passes has those on
    unwritten elements; a NaN and an unchanged buffer are in doubt only where no answer confirms them.

    Args:
        decided: the verdict; unchanged where it is a failure.
        case: the case that ran.
        outcome: of its run.
    """
    if decided.status not in ("pass", "new"):
        return decided
    sides = {}
    for buffer in decided.buffers:
        sides[buffer.name] = {compared.against for compared in buffer.comparisons}
    dumps, has_passed = outcome.dumps, decided.status == "pass"
    if has_passed:
        derived = [name for name, against in sides.items() if against & _DERIVED and "baseline" not in against]
        dumps = tuple(dump for dump in dumps if dump.buffer in derived)
    if not dumps:
        return decided
    observed, was = outcome.observations.writes, case.initial_buffers
    told: list[str] = []
    for dump in dumps:
        is_confirmed = has_passed and "reference" in sides[dump.buffer]
        told += _of_buffer(was[dump.buffer], dump, observed, is_confirmed=is_confirmed)
    return replace(decided, reason=joined("; ", decided.reason, *told))


def without_poison(comparisons: Mapping[str, Sequence[Comparison]], outcome: Outcome) -> dict[str, list[Comparison]]:
    """Let no output pass of which nothing was written, except against its baseline, which somebody accepted.

    A trusted kernel or a twin may have left the same elements out, and a function may return NaN.

    Args:
        comparisons: buffer → its comparisons.
        outcome: of the case's run.
    """
    judged = {name: list(compared) for name, compared in comparisons.items()}
    for dump in outcome.dumps:
        compared = judged.get(dump.buffer, [])
        if any(comparison.against == "baseline" for comparison in compared) or not is_empty(outcome, dump):
            continue
        for position, comparison in enumerate(compared):
            if comparison.same and comparison.against in _DERIVED:
                compared[position] = nothing_written(dump, comparison.against)
    return judged


def nothing_written(dump: Dump, against: str) -> Comparison:
    """The failed comparison of an output of which no element was written."""
    return Comparison(
        dump.buffer,
        against,
        "",
        same=False,
        identical=False,
        of=dump.count,
        differing=dump.count,
        message=_NOTHING_WRITTEN,
        figures=Figures(nothing_written=True),
    )


def is_empty(outcome: Outcome, dump: Dump) -> bool:
    """Whether no element of a dump was written; two bytes or less may be a result."""
    unwritten = outcome.observations.writes.unwritten.get(dump.buffer)
    is_chance = dump.count * dtypes.parse(dump.dtype).size <= _CHANCE_BITS // 8
    return _is_all(unwritten) and not is_chance


def wrote_nothing(reached: Verdict) -> bool:
    """Whether a case ran to its end, and no element of any output that it dumps was written."""
    outcome = reached.outcome
    if outcome is None or not outcome.dumps or any(buffer.baseline for buffer in reached.buffers):
        return False
    return all(is_empty(outcome, dump) for dump in outcome.dumps)


def is_idle(outcome: Outcome) -> bool:
    """Whether no dumped buffer was changed: outputs hold the poison, the others their fill."""
    unchanged = outcome.observations.writes.unchanged
    return all(dump.buffer in unchanged or is_empty(outcome, dump) for dump in outcome.dumps)


def unwritten_parts(outcome: Outcome, dump: Dump, *, or_by_chance: bool = False) -> Mask | None:
    """The parts of a dump's elements that still hold the poison; None if every part was written.

    Args:
        outcome: of the case's run; a second one under another poison tells what is chance.
        dump: one of its dumps.
        or_by_chance: whether the elements count that may be results, too.

    Returns:
        Shape (elements, parts of the element type).

    Raises:
        DumpError: the dump does not hold what its header says.
        StorageError: it cannot be read.
    """
    observed, element = outcome.observations, dtypes.parse(dump.dtype)
    unwritten, twice = observed.writes.unwritten.get(dump.buffer), observed.poisons.get(dump.buffer)
    if unwritten and twice is not None:
        unwritten = twice.unwritten
    elif unwritten and not or_by_chance and _by_chance(unwritten, element):
        unwritten = None
    if not unwritten and dump.buffer not in observed.writes.partly:
        return None

    return poison.poisoned_parts(reader.read(Path(dump.path)).array.reshape(-1), element)


def empty(outcome: Outcome) -> tuple[str, ...]:
    """The dumped outputs without any written element."""
    unwritten = outcome.observations.writes.unwritten
    return tuple(dump.buffer for dump in outcome.dumps if _is_all(unwritten.get(dump.buffer)))


def ranges_text(unwritten: UnwrittenElements) -> str:
    """The first few index ranges of unwritten elements: `[8] to [63]`."""
    texts = []
    for first, end in unwritten.ranges:
        text = f"[{first}]"
        if end > first + 1:
            text += f" to [{end - 1}]"
        texts.append(text)
    return first_names(texts, _MOST_RANGES, "stretch")


def _of_buffer(was: Buffer, dump: Dump, observed: WriteSurvey, *, is_confirmed: bool = False) -> Iterator[str]:
    """The lines of one dump.

    Args:
        was: the buffer that its memory was before the first launch.
        dump: of the buffer.
        observed: with the counts.
        is_confirmed: whether an answer has the same NaNs and the same unchanged elements.
    """
    name, total = dump.buffer, math.prod(dump.shape)
    unwritten, nans = observed.unwritten.get(name), observed.nan.get(name, 0)
    if unwritten and _by_chance(unwritten, dtypes.parse(dump.dtype)):
        unwritten = None
    if unwritten or (nans and not is_confirmed):
        line = f"{name}: 0 of {total} elements were never written; {nans} NaN"
        if unwritten:
            where = ranges_text(unwritten)
            line = f"{name}: {unwritten.elements} of {total} elements were never written ({where}); {nans} NaN"
        if was.is_poisoned and nans == total:
            line += ": are they made of what was there before? (--poison twice shows it)"
        yield line
    if name in observed.partly:
        yield f"{name}: {observed.partly[name]} of {total} elements were written in part only"
    if name in observed.unchanged and not is_confirmed:
        whose = "its" if was.name == name else f"{was.name}'s"
        what = "fill" if was.fill is not None else "initial value"
        yield f"{name}: equal to {whose} {what}, no element changed"


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
