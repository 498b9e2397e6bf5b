"""Accuracy of cases: each runs beside itself in higher precision on the CPU device."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.errors import Interrupted, UsageError
from gpuregress.foundation.records import Case, Instruments, ResultAccuracy, Verdict
from gpuregress.gpu.records import Sparse, replace
from gpuregress.jobs import plan
from gpuregress.session import session
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store.project import Project

_SLOWER = 20
"""A case may take so many times its time limit: it runs once for each source line, and more slowly."""
_MOST_LEFT = 5
"""Cases without an accuracy that a message names."""


class CaseAccuracy(Sparse):
    """The accuracy of a case.

    Attributes:
        case: its name.
        accuracy: what was found.
    """

    case: str
    accuracy: ResultAccuracy


class AccuracyResults(Sparse):
    """The accuracy of the cases that were asked for.

    Attributes:
        version: of this document.
        cases: in the order of the plan.
        left: case → why it has no accuracy.
    """

    version: int
    cases: tuple[CaseAccuracy, ...]
    left: dict[str, str] = field(default_factory=dict)


def accuracy(project: Project, selectors: Sequence[str], machinery: Machinery | None = None) -> AccuracyResults:
    """Find the accuracy of cases; nothing of the project is changed.

    Args:
        project: whose.
        selectors: cases, jobs, files or globs.
        machinery: for tests.

    Raises:
        UsageError: none of them runs on the CPU device and has a floating-point result.
        Interrupted: ^C.
        GpuregressError: the errors of `session.run`.
    """
    cases = tuple(map(watched, plan.make(project, list(selectors)).cases))
    machinery = replace(machinery or Machinery(), planner=lambda *_arguments, **_options: plan.Plan(cases))
    with tempfile.TemporaryDirectory(prefix="gpuregress-accuracy-") as scratch:
        summary = session.run(
            project.with_runs(Path(scratch)), RunRequest(device="cpu", kind="nightly"), machinery=machinery
        )
    if summary.interrupted:
        raise Interrupted("interrupted")
    left = {verdict.case: why for verdict in summary.verdicts if (why := _why_left(verdict))}
    found = tuple(_found(verdict) for verdict in summary.verdicts if verdict.case not in left)
    if not found and left:
        raise UsageError("; ".join(f"{case} {why}" for case, why in itertools.islice(left.items(), _MOST_LEFT)))
    return AccuracyResults(1, found, left)


def watched(case: Case) -> Case:
    """Return a case as it runs beside itself in higher precision, without anything else."""
    settings = replace(
        case.settings, timing=None, twins=None, cost={}, schedules=(), instruments=Instruments(accuracy=True)
    )
    limits = replace(case.limits, timeout=_SLOWER * case.limits.timeout)
    return replace(case, settings=settings, limits=limits, repeat=1, seeds=(), variants=None)


def _found(verdict: Verdict) -> CaseAccuracy:
    found = verdict.outcome.observations.instruments.accuracy if verdict.outcome is not None else None
    return CaseAccuracy(verdict.case, found or ResultAccuracy())


def _why_left(verdict: Verdict) -> str:
    """Why a case has no accuracy; empty: it has one."""
    outcome = verdict.outcome
    if outcome is None or outcome.state != "done":
        return f"has no results to compare: {verdict.headline}"
    found = outcome.observations.instruments.accuracy
    if found is None or not found.buffers:
        return "has no result of a floating-point type (float16, bfloat16, float32, float64)"
    return ""
