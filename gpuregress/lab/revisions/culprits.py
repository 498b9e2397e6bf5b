"""Culprits of a night: for each cause of new failures, the commit that a bisection finds."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import NightFailure, RunSummary
from gpuregress.foundation.wording import plural
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import bisect
from gpuregress.lab.revisions.bisect import Bisection, TestedCommit
from gpuregress.report import case_lines, morning
from gpuregress.store.project import Project

MOST_CAUSES = 5


class _TimeIsOver(Exception):
    """The budget of all bisections is used up."""


def lines(project: Project, summary: RunSummary, minutes: int) -> Iterator[str]:
    """Bisect one case of each cause of new failures, at most some causes; describe each in a line.

    Args:
        project: of the night.
        summary: the night.
        minutes: for all bisections together.

    Raises:
        Interrupted: the user asked to stop.
    """
    if summary.changes is None:
        return
    until = time.monotonic() + 60 * minutes
    causes = morning.by_cause(summary.changes.new)
    for failure, *_ in causes[:MOST_CAUSES]:
        yield f"culprit of {failure.case}: {_culprit(project, summary, failure, until)}"
    if len(causes) > MOST_CAUSES:
        yield f"{plural(len(causes) - MOST_CAUSES, 'more cause')} not bisected: at most {MOST_CAUSES} are"


def _culprit(project: Project, summary: RunSummary, failure: NightFailure, until: float) -> str:
    """The commit to blame for a failure, or why it is not known."""
    suspects = failure.suspects
    if suspects is None:
        return "not searched: no commit is known where it passed"
    if suspects.gone:
        return f"not searched: {suspects.good[:7]} or {suspects.bad[:7]} is gone from git"
    if suspects.unknown:
        return f"not searched: {suspects.unknown}"
    if not suspects.commits and suspects.lacking:
        return f"not searched: {suspects.good[:7]} is not in the history of {suspects.bad[:7]}"
    if not suspects.commits:
        return f"not searched: no commit since {suspects.good[:7]}"

    def listen(_tested: TestedCommit) -> None:
        if time.monotonic() > until:
            raise _TimeIsOver

    case, device = case_lines.parts(failure.case)
    options = RunOptions(device or summary.device.partition(":")[0])
    start = time.monotonic()
    if start > until:
        return "not searched: the time is over"
    try:
        found = bisect.bisect(project, case, suspects.good, suspects.bad, options=options, listen=listen)
    except _TimeIsOver:
        return "not found: the time is over"
    except Interrupted:
        raise
    except GpuregressError as error:
        return f"not found: {error}"
    return f"{_commit(found)}, {time.monotonic() - start:.1f} s"


def _commit(found: Bisection) -> str:
    culprit = found.first_bad
    text = f"{culprit.short} {culprit.subject} ({culprit.author}), after {plural(len(found.tested), 'commit')}"
    if found.possible:
        text = f"{text}; or one of {plural(len(found.possible), 'commit')} before it that cannot be run"
    return text
