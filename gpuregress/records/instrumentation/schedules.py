"""Schedules of a case: the order of blocks, warps and lanes, and what runs under several of them gave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from gpuregress.frozen import dataclass
from gpuregress.records.dumps import Dump
from gpuregress.records.serialization import Sparse

FORWARD, REVERSE, LOCKSTEP = "forward", "reverse", "lockstep"
SHUFFLED = "shuffled:"
SWITCH = "switch"
_NAMED = (FORWARD, REVERSE, LOCKSTEP)
FORMS = "forward, reverse, lockstep or shuffled:SEED"
MOST_SCHEDULES = 64
"""Of `--schedules` and of the key `schedules`."""


BLOCKS, WARPS, LANES, COPIES = PARTS = ("blocks", "warps", "lanes", "copies")
"""The parts of a schedule."""
NOTHING = "nothing"
"""In place of a part: the usual order, run as the others are, one warp up to a barrier before the next one begins."""


def part_of(name: str, part: str) -> str:
    """Name the schedule that is another one in a part, and the usual one otherwise."""
    return f"{name}/{part}"


def switch_of(part: str, number: int) -> str:
    """Name the usual schedule with two neighbours exchanged: blocks, warps or lanes `number` and the one behind it."""
    return f"{SWITCH}/{part}/{number}"


def problem(name: str) -> str:
    """Say what is wrong with the name of a schedule, "" if nothing is."""
    if name in _NAMED or re.fullmatch(r"shuffled:(0|[1-9]\d{0,17})", name):
        return ""
    if name.startswith("shuffled"):
        return f"no schedule is called {name!r}: the seed is a whole number of at most 18 digits, as shuffled:3"
    missing = "there is no adversarial schedule yet" if name == "adversarial" else f"no schedule is called {name!r}"
    return f"{missing}: say {FORMS}"


def first(count: int) -> tuple[str, ...]:
    """Return the schedules that `--schedules COUNT` runs: the named ones, then shuffled ones with seeds from 1."""
    shuffled = (f"{SHUFFLED}{seed}" for seed in range(1, count + 1))
    return (*_NAMED, *shuffled)[:count]


@dataclass(frozen=True, slots=True)
class ScheduleRun(Sparse):
    """The results of a case under a further schedule.

    Attributes:
        name: of the schedule.
        digests: dumped buffer → digest of its bytes.
        dumps: dumped buffer → its dump, where it is not the first run's.
        fault: what went wrong under this schedule only, "" if nothing did.
        switches: dumped buffer → the smallest change of the order that is known to be enough for it to differ.
        accesses: those that may be responsible, in words.
    """

    name: str
    digests: Mapping[str, str] = field(default_factory=dict)
    dumps: Mapping[str, Dump] = field(default_factory=dict)
    fault: str = ""
    switches: Mapping[str, str] = field(default_factory=dict)
    accesses: tuple[str, ...] = ()
