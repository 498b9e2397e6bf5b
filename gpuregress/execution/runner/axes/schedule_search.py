"""Search for the fewest switches of a schedule that are enough for a difference."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from msgspec import field

from gpuregress.foundation.records import SM_90, Case, Conflict
from gpuregress.gpu import schedules
from gpuregress.gpu.records import MutableRecord, Record
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
    failing, parts = list(changes), 2
    while len(failing) > 1:
        size = -(-len(failing) // parts)
        starts = range(0, len(failing), size)
        pieces = [failing[start : start + size] for start in starts]
        candidates = list(pieces)
        # Of two pieces, each is the complement of the other.
        if len(pieces) > 2:
            candidates += [failing[:start] + failing[start + size :] for start in starts]
        for candidate in candidates:
            answer = fails(candidate)
            if answer is None:
                return failing
            if answer:
                parts = 2 if len(candidate) <= size else max(len(pieces) - 1, 2)
                failing = candidate
                break
        else:
            if size == 1:
                return failing
            parts = min(len(failing), 2 * len(pieces))
    return failing


MOST_TRIALS, _MOST_SECONDS = 200, 10.0
"""Runs of a case in search of fewer switches, and the time after which no other one begins."""
_MOST_TOLD = 4


class Smallest(Record):
    """The smallest change of the order that is known to be enough.

    Attributes:
        words: it in words.
        name: the schedule that has it alone.
    """

    words: str
    name: str
    switches: tuple[Switch, ...] = ()

    def explains(self, conflict: Conflict) -> bool:
        """Whether the switches exchange the two accesses of a conflict."""
        for switch in self.switches:
            if switch.part == conflict.part:
                ends = (switch.second, switch.first)
                if switch.part == schedules.COPIES or (conflict.earlier, conflict.later) == ends:
                    return True
        return False


class ScheduleSearch(MutableRecord):
    """The search in one case.

    Attributes:
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
        chains = [schedule.chain(part, self._count(part)) for part in schedules.PARTS]
        whole = list(itertools.chain.from_iterable(chains))
        for switches in (_inverted(schedule, conflicts), *chains, whole):
            if switches and self._differs(schedules.named(switches), buffer):
                return self._fewest(switches, buffer)
        return None

    def _fewest(self, switches: Sequence[Switch], buffer: str) -> Smallest:
        fewest = smallest(switches, lambda tried: self._differs(schedules.named(tried), buffer))
        parts = {switch.part for switch in fewest}
        if len(fewest) > 1 and len(parts) == 1 and schedules.COPIES not in parts:
            # A chain of switches may stand for the exchange of its two ends.
            ends = Switch(fewest[0].part, fewest[0].first, fewest[-1].second)
            if ends.first > ends.second and self._differs(schedules.named([ends]), buffer):
                fewest = [ends]
        words = f"{_words(fewest)} is enough"
        if self._is_over and len(fewest) > 1:
            words += f" ({self.trials} runs tried; fewer switches may be)"
        return Smallest(words, schedules.named(fewest), tuple(fewest))

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
        if part == schedules.BLOCKS:
            return max(math.prod(launch.grid) for launch in self.case.launches)
        return max(math.prod(launch.block) for launch in self.case.launches)


def _exchanges(conflicts: Iterable[Conflict]) -> dict[Switch, None]:
    """The switches for the conflicts of blocks, warps and lanes that run in the usual order."""
    switches: dict[Switch, None] = {}
    for conflict in conflicts:
        if conflict.part not in ("", schedules.COPIES) and conflict.later > conflict.earlier:
            switches[Switch(conflict.part, conflict.later, conflict.earlier)] = None
    return switches


def _inverted(schedule: NamedSchedule, conflicts: Collection[Conflict]) -> list[Switch]:
    """The switches for the conflicts whose accesses a schedule exchanges."""
    inverted = []
    exchanges = sorted(_exchanges(conflicts), key=lambda switch: (switch.first, switch.second))
    for part in schedules.PARTS:
        switches = [switch for switch in exchanges if switch.part == part]
        if switches:
            ranks = _ranks(schedule, part, 1 + switches[-1].first)
            inverted += [switch for switch in switches if ranks[switch.first] < ranks[switch.second]]
    return [*inverted, *schedule.chain(schedules.COPIES, 1)]


def _ranks(schedule: NamedSchedule, part: str, count: int) -> dict[int, int]:
    """The place of each block, warp or thread in the order."""
    if part == schedules.BLOCKS:
        order = schedule.blocks(count) or range(count)
    else:
        size = SM_90.warp_size if part == schedules.WARPS else 1
        order = list(dict.fromkeys(int(number) // size for number in schedule.threads(count * size)))
    return {number: rank for rank, number in enumerate(order)}


def adversary(conflicts: Iterable[Conflict]) -> list[Switch]:
    """Return the switches that exchange all conflicting accesses, with copies that arrive as early as they can."""
    return [*_exchanges(conflicts), Switch(schedules.COPIES, arrival=schedules.AT_ISSUE)]


def _words(switches: Sequence[Switch]) -> str:
    runs = [switch.words for switch in switches if switch.part != schedules.COPIES]
    if not runs:
        return "the arrival of the asynchronous copies"
    words = f"running {' and '.join(runs)}"
    if len(runs) > _MOST_TOLD:
        parts = {switch.part for switch in switches}
        names = [part for part in schedules.PARTS[:-1] if part in parts]
        words = f"the order of the {' and '.join(names)} ({len(runs)} switches)"
    if len(runs) < len(switches):
        words += ", with another arrival of the asynchronous copies,"
    return words
