"""Series of a case's results: the present run of failures, the last pass, flakiness."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpuregress.records import PastResult

FAILING = frozenset(("differ", "new", "fault", "timeout", "error"))
"""Statuses that fail a night."""


@dataclass(frozen=True, slots=True)
class Flakiness:
    """The changes between passing and failing of one case while its source stayed the same.

    Attributes:
        results: that passed or failed.
        failures: of them.
        flips: neighbours of one revision of which one passed and the other failed.
    """

    results: int
    failures: int
    flips: int

    @property
    def is_flaky(self) -> bool:
        """Tell whether it went from one to the other and back without a change of the source."""
        return self.flips >= 2


def is_failing(result: PastResult) -> bool:
    """Tell whether a result fails a night."""
    return result.verdict in FAILING


def device_kind(device: str) -> str:
    """Return `cuda` of `cuda:3`: cases move between the cards of a host."""
    return device.partition(":")[0]


def failing_since(newest_first: Iterable[PastResult]) -> PastResult | None:
    """Return the first result of the present unbroken series of failures; skips do not break it.

    Args:
        newest_first: the results of one case.
    """
    first = None
    for result in newest_first:
        if result.verdict == "pass":
            break
        if is_failing(result):
            first = result
    return first


def last_pass(newest_first: Iterable[PastResult]) -> PastResult | None:
    """Return the newest result that passed."""
    return next((result for result in newest_first if result.verdict == "pass"), None)


def flakiness(newest_first: Sequence[PastResult]) -> Flakiness:
    """Count the changes between passing and failing of one case within each revision of its source."""
    decided = [result for result in newest_first if result.verdict == "pass" or is_failing(result)]
    flips = sum(
        is_failing(one) != is_failing(other) and one.revision == other.revision
        for one, other in itertools.pairwise(decided)
    )
    return Flakiness(len(decided), sum(map(is_failing, decided)), flips)
