"""Search for the fewest switches of a schedule that are enough for a difference."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpuregress.foundation.records import SM_90, Case, Conflict
from gpuregress.gpu import schedules
from gpuregress.gpu.records import Record
from gpuregress.gpu.schedule_names import NamedSchedule
from gpuregress.gpu.schedules import Switch

# Delta debugging: a smallest subset of changes that is enough for a failure.
# The algorithm is `ddmin` of Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
_Change = TypeVar("_Change")


def smallest(changes: Sequence[_Change], fails: Callable[[Sequence[_Change]], bool | None]) -> list[_Change]:
    """Return a subset that fails, and of which no change can be left out.

    Args:
        changes: all of them, which fail together.
        fails: whether a subset fails; None: no more subsets are tried, and the smallest one so far is returned.
    """
    left, parts = list(changes), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        pieces = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[one for other in pieces if other is not piece for one in other] for piece in pieces]
        for candidate in pieces if len(pieces) < 3 else [*pieces, *rests]:
            answer = fails(candidate)
            if answer is None:
                return left
            if answer:
                parts = 2 if len(candidate) <= size else max(len(pieces) - 1, 2)
                left = candidate
                break
        else:
            if size == 1:
                return left
            parts = min(len(left), 2 * len(pieces))
    return left


MOST_TRIALS, _MOST_SECONDS = 200, 10.0
"""Runs of a case in search of fewer switches, and the time after which no other one begins."""
_MOST_TOLD = 4


class Smallest(Record):
    """The smallest change of the order that is known to be enough.

    Attributes:
        words: it in words.
        name: the schedule that has it alone.
        switches: its switches.
    """

    words: str
    name: str
    switches: tuple[Switch, ...] = ()

    def explains(self, conflict: Conflict) -> bool:
        """Whether the switches exchange the two accesses of a conflict."""
        return any(
            conflict.part == one.part
            and (one.part == schedules.COPIES or (conflict.earlier, conflict.later) == (one.second, one.first))
            for one in self.switches
        )


@dataclass(slots=True)
class ScheduleSearch:
    """The search in one case.

    Attributes:
        case: the case.
        differing: the buffers that differ from the first run's under a schedule.
        trials: the runs so far.
    """

    case: Case
    differing: Callable[[str], Collection[str]]
    trials: int = 0
    _ends: float = field(default_factory=lambda: time.monotonic() + _MOST_SECONDS)
    _tried: dict[str, Collection[str]] = field(default_factory=dict)

    def smallest(self, schedule: NamedSchedule, buffer: str, conflicts: Collection[Conflict]) -> Smallest | None:
        """Return the smallest change that is enough for a buffer to differ; None where none was found.

        Args:
            schedule: one under which it differs.
            buffer: its name.
            conflicts: the accesses that only the schedule orders.
        """
        if schedule.is_in_step:
            return None
        if self._differs(schedules.BY_WARP, buffer):
            words = "running each warp up to a barrier before the next one begins is enough"
            return Smallest(words, schedules.BY_WARP)
        for switches in (list(_inverted(schedule, conflicts)), *self._parts(schedule), self._chain(schedule)):
            if switches and self._differs(schedules.named(switches), buffer):
                return self._fewest(switches, buffer)
        return None

    def _parts(self, schedule: NamedSchedule) -> Iterator[list[Switch]]:
        for part in schedules.PARTS:
            yield schedule.chain(part, self._count(part))

    def _chain(self, schedule: NamedSchedule) -> list[Switch]:
        return [switch for part in self._parts(schedule) for switch in part]

    def _fewest(self, switches: Sequence[Switch], buffer: str) -> Smallest:
        found = smallest(switches, lambda tried: self._differs(schedules.named(tried), buffer))
        parts = {one.part for one in found}
        if len(found) > 1 and len(parts) == 1 and schedules.COPIES not in parts:
            # A chain of switches may stand for the exchange of its two ends.
            ends = Switch(found[0].part, found[0].first, found[-1].second)
            if ends.first > ends.second and self._differs(schedules.named([ends]), buffer):
                found = [ends]
        cut = f" ({self.trials} runs tried; fewer switches may be)" if self._is_over and len(found) > 1 else ""
        return Smallest(f"{_words(found)} is enough{cut}", schedules.named(found), tuple(found))

    @property
    def _is_over(self) -> bool:
        return self.trials >= MOST_TRIALS or time.monotonic() >= self._ends

    def _differs(self, name: str, buffer: str) -> bool | None:
        """Whether a buffer differs under a schedule; None where no other one is tried."""
        if name not in self._tried:
            if self._is_over:
                return None
            self.trials += 1
            self._tried[name] = self.differing(name)
        return buffer in self._tried[name]

    def _count(self, part: str) -> int:
        """The number of blocks, or of threads, of the launch that has the most."""
        shapes = (one.grid if part == schedules.BLOCKS else one.block for one in self.case.launches)
        return max(math.prod(shape) for shape in shapes)


def _exchangeable(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """The conflicts of blocks, warps and lanes that run in the usual order."""
    return (one for one in conflicts if one.part not in ("", schedules.COPIES) and one.later > one.earlier)


def _inverted(schedule: NamedSchedule, conflicts: Collection[Conflict]) -> Iterator[Switch]:
    """The switches for the conflicts whose accesses a schedule exchanges."""
    ordered = list(_exchangeable(conflicts))
    for part in schedules.PARTS:
        pairs = sorted({(one.later, one.earlier) for one in ordered if one.part == part})
        ranks = _ranks(schedule, part, 1 + pairs[-1][0]) if pairs else {}
        yield from (Switch(part, *pair) for pair in pairs if ranks[pair[0]] < ranks[pair[1]])
    yield from schedule.chain(schedules.COPIES, 1)


def _ranks(schedule: NamedSchedule, part: str, count: int) -> dict[int, int]:
    """The place of each block, warp or thread in the order."""
    if part == schedules.BLOCKS:
        return {number: rank for rank, number in enumerate(schedule.blocks(count) or range(count))}
    size = SM_90.warp_size if part == schedules.WARPS else 1
    order = dict.fromkeys(int(number) // size for number in schedule.threads(count * size))
    return {number: rank for rank, number in enumerate(order)}


def adversary(conflicts: Iterable[Conflict]) -> list[Switch]:
    """Return the switches that exchange all conflicting accesses, with copies that arrive as early as they can."""
    pairs = dict.fromkeys(Switch(one.part, one.later, one.earlier) for one in _exchangeable(conflicts))
    return [*pairs, Switch(schedules.COPIES, arrival=schedules.AT_ISSUE)]


def _words(switches: Sequence[Switch]) -> str:
    if [one.part for one in switches] == [schedules.COPIES]:
        return "the arrival of the asynchronous copies"
    runs = [one.words for one in switches if one.part != schedules.COPIES]
    copies = ", with another arrival of the asynchronous copies," if len(runs) < len(switches) else ""
    if len(runs) > _MOST_TOLD:
        parts = [part for part in schedules.PARTS[:-1] if any(one.part == part for one in switches)]
        return f"the order of the {' and '.join(parts)} ({len(runs)} switches){copies}"
    return f"running {' and '.join(runs)}{copies}"
