"""Schedules of a case: the order of blocks, warps and lanes, and accesses that only it orders."""

from __future__ import annotations

import functools
import graphlib
import itertools
import re
from collections.abc import Collection, Iterable

from gpuregress.gpu.records import Record, Sparse

FORWARD, REVERSE, LOCKSTEP, ADVERSARIAL = _NAMED = ("forward", "reverse", "lockstep", "adversarial")
BY_WARP = "by-warp"
"""The usual order, run as the other ones are: one warp up to a barrier before the next one begins."""
SHUFFLED = "shuffled:"
FORMS = "forward, reverse, lockstep, adversarial, shuffled:SEED, by-warp, or switches such as blocks:1,0"
WATCHED_SLOWDOWN = 40
"""How much longer launches may take whose accesses are all watched."""
EXPLANATION = ""
"""Stands for a schedule while a difference is explained."""
MOST_SCHEDULES = 64
"""Of `--schedules` and of the key `schedules`."""

BLOCKS, WARPS, THREADS, COPIES = PARTS = ("blocks", "warps", "threads", "copies")
"""The parts of a schedule; `threads` is the order of the lanes in each warp."""
AT_WAIT, AT_ISSUE, AT_ANY_WAIT = "latest", "issue", "wait"
"""When asynchronous copies arrive: when they are waited for, when they are issued, all when any is waited for."""
_WARP = 32
_SWITCH = re.compile(r"(blocks|warps|threads):(\d{1,9}(?:,\d{1,9})+)")
_ARRIVAL = re.compile(rf"{COPIES}:({AT_ISSUE}|{AT_ANY_WAIT})")


class Switch(Record):
    """An exception from the order `by-warp`.

    Attributes:
        part: one of `PARTS`.
        first: the block, warp or thread that runs before the other one, though its number is higher.
        second: the other one.
        arrival: of the part `copies`: when they arrive.
    """

    part: str
    first: int = 0
    second: int = 0
    arrival: str = ""

    def __str__(self) -> str:
        """`blocks:1,0`, `copies:issue`."""
        if self.arrival:
            return f"{self.part}:{self.arrival}"
        return f"{self.part}:{self.first},{self.second}"

    @property
    def words(self) -> str:
        """`block 1 before block 0`."""
        one = self.part[:-1]
        return f"{one} {self.first} before {one} {self.second}"


def named(switches: Iterable[Switch]) -> str:
    """Name the schedule that has these exceptions from `by-warp`."""
    return "+".join(map(str, switches)) or BY_WARP


@functools.lru_cache(64)
def switches_in(name: str) -> tuple[Switch, ...] | None:
    """The exceptions that a name spells; None where it is no such name."""
    if name == BY_WARP:
        return ()
    switches: list[Switch] = []
    for item in name.split("+"):
        arrival, match = _ARRIVAL.fullmatch(item), _SWITCH.fullmatch(item)
        if arrival is not None:
            switches.append(Switch(COPIES, arrival=arrival[1]))
        elif match is not None:
            numbers = [int(number) for number in match[2].split(",")]
            switches += [Switch(match[1], *pair) for pair in itertools.pairwise(numbers)]
        else:
            return None
    return tuple(switches)


def problem(name: str) -> str:
    """Say what is wrong with the name of a schedule, "" if nothing is."""
    if name in _NAMED or re.fullmatch(r"shuffled:(0|[1-9]\d{0,17})", name):
        return ""
    if name.startswith("shuffled"):
        return f"no schedule is called {name!r}: the seed is a whole number of at most 18 digits, such as shuffled:3"
    switches = switches_in(name)
    if switches is None:
        return f"no schedule is called {name!r}: say {FORMS}"
    return _contradiction(name, switches)


def _contradiction(name: str, switches: Collection[Switch]) -> str:
    """Say why no order has these exceptions, "" where one has."""
    for switch in switches:
        if switch.part == THREADS and switch.first // _WARP != switch.second // _WARP:
            threads = f"threads {switch.first} and {switch.second}"
            return f"{name!r}: {threads} are of two warps; say warps:FIRST,SECOND"
    for part in (BLOCKS, WARPS, THREADS):
        order = graphlib.TopologicalSorter[int]()
        for switch in switches:
            if switch.part == part:
                order.add(switch.second, switch.first)
        try:
            order.prepare()
        except graphlib.CycleError:
            return f"{name!r}: no order of the {part} has all of these switches"
    if len({switch.arrival for switch in switches if switch.part == COPIES}) > 1:
        return f"{name!r}: copies arrive at one time; say copies:{AT_ISSUE} or copies:{AT_ANY_WAIT}"
    return ""


def first(count: int) -> tuple[str, ...]:
    """Return the schedules that `--schedules COUNT` runs: the named ones, then shuffled ones with seeds from 1.

    Where several are compared, `by-warp` is one more: `reverse` and `adversarial` invert it, and `forward` may give
    the result of either.
    """
    shuffled = (f"{SHUFFLED}{seed}" for seed in range(1, count + 1))
    names = (*_NAMED, *shuffled)[:count]
    return (*names, BY_WARP) if count > 1 else names


def alone(name: str) -> tuple[str, ...]:
    """Return the schedules that `--schedule NAME` runs: the adversarial one is compared with the one it inverts."""
    return (name, BY_WARP) if name == ADVERSARIAL else (name,)


class Conflict(Sparse):
    """Two accesses to the same bytes that nothing orders but the schedule, one of them a write.

    Attributes:
        part: what orders them: one of `PARTS`; "" for two blocks of a cluster, whose order is not changed.
        earlier: number of the block, warp or thread whose access came first.
        later: that of the other one.
        text: both accesses in words, with element, threads and source lines.
        lines: both source lines.
        memory: the name of the buffer or variable.
    """

    part: str
    earlier: int
    later: int
    text: str
    lines: str = ""
    memory: str = ""


class ConflictSurvey(Sparse):
    """The conflicting accesses of a case's launches, in the order `by-warp`.

    Attributes:
        pairs: of blocks, warps or threads with conflicting accesses, and the asynchronous copies that are not waited
            for.
        unwatched: sentences on what was not watched; empty: all memory was.
        first: the first conflict in words, "" where there is none.
        exchanged: the pairs whose order the adversarial schedule changes: not those of two blocks of a cluster, nor
            those of which the one with the higher number came first already.
    """

    pairs: int
    unwatched: tuple[str, ...] = ()
    first: str = ""
    exchanged: int = 0
