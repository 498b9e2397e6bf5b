"""Events of a run while it goes on; the listener decides what to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.foundation.records import Verdict


class Planned(Record):
    """The cases are known.

    Attributes:
        cases: the number of verdicts to come.
        run: the run's name.
        device: `cpu`, or `cuda:0, cuda:1`.
        why: how `auto` came to it, "" where the user named it.
    """

    cases: int
    run: str
    device: str
    why: str = ""


class Compiling(Record):
    """A source is about to be compiled or searched in the cache: the `number`th of the run."""

    source: str
    number: int


class Compiled(Record):
    """A source was compiled in this run, not found in the cache.

    Attributes:
        source: the file's name.
        seconds: stage, in words → its wall time.
    """

    source: str
    seconds: Mapping[str, float]


class Started(Record):
    """A worker took a case; the slot has the name of its device."""

    case: str
    slot: str


class Judged(Record):
    """A case has its verdict, the `number`th of the run."""

    verdict: Verdict
    number: int


class Advanced(Record):
    """A command that is no run has done a part of its work.

    Attributes:
        done: parts.
        of: all parts.
        what: the present one, in words.
    """

    done: int
    of: int
    what: str


Event = Planned | Compiling | Compiled | Started | Judged | Advanced
Listener = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Show nothing."""
