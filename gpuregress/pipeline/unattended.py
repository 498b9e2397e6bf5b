"""The nightly run: one at a time, and nothing may vanish unsaid."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from gpuregress import storage
from gpuregress.pipeline import opening
from gpuregress.pipeline.request import Machinery, Request
from gpuregress.project import Project
from gpuregress.records import RunSummary

LOCK = ".nightly.lock"
CASES = "nightly.json"
_VANISHED_CODE = 1


def run(project: Project, request: Request, machinery: Machinery | None = None) -> RunSummary:
    """Runs under the project's lock and compares the cases with those of the last nightly run.

    Args:
        project: whose.
        request: what to run.
        machinery: for tests.

    Raises:
        RunLocked: another nightly run holds the lock.
        GpuregressError: whatever `pipeline.run` raises.
    """
    with storage.lock(project.runs / LOCK):
        summary = opening.run(project, request, machinery=machinery)
        if summary.interrupted or not request.takes_all:
            return summary
        summary = _with_vanished(summary, _before(project.runs / CASES))
        names = {"run": summary.run, "cases": sorted(verdict.case for verdict in summary.verdicts)}
        storage.write_atomic(project.runs / CASES, json.dumps(names, indent=1).encode())
    return summary


def _with_vanished(summary: RunSummary, before: tuple[str, ...]) -> RunSummary:
    here = {verdict.case for verdict in summary.verdicts}
    gone = [f"{name} vanished since the last nightly run" for name in before if name not in here]
    if not gone:
        return summary
    code = summary.exit_code if summary.exit_code in (4, 3, 1) else _VANISHED_CODE
    return dataclasses.replace(summary, notes=(*gone, *summary.notes), exit_code=code)


def _before(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        return tuple(json.loads(storage.read_bytes(path))["cases"])
    except (ValueError, KeyError, TypeError):
        return ()  # cut short by a power cut: this run writes it anew
