"""Selection of a run's cases by name, job, job file or glob; for `accept`, `review` and `reject`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Verdict
from gpuregress.session.runs.results import FinishedCase

_MOST_NAMED = 8


def select_cases(
    verdicts: Sequence[Verdict], finished: Mapping[str, FinishedCase], selectors: Sequence[str]
) -> tuple[Verdict, ...]:
    """The verdicts of the selected cases; all where there are no selectors.

    Args:
        verdicts: of the run.
        finished: its cases that ran, by name.
        selectors: job names, case names, job files or globs.

    Raises:
        UsageError: a selector that no case of the run matches.
    """
    if not selectors:
        return tuple(verdicts)
    selected: dict[str, Verdict] = {}
    for selector in selectors:
        matching = {one.case: one for one in verdicts if _matches(one, finished.get(one.case), selector)}
        if not matching:
            names = ", ".join(one.case for one in verdicts[:_MOST_NAMED]) or "none"
            raise UsageError(f"no case of that run is called {selector!r}; it ran: {names}")
        selected |= matching
    return tuple(selected.values())


def _matches(verdict: Verdict, finished: FinishedCase | None, selector: str) -> bool:
    if selector in (verdict.case, verdict.job) or fnmatchcase(verdict.case, selector):
        return True
    return finished is not None and Path(selector).absolute() == Path(finished.case.path)
