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
        before, said = _before(project.runs / CASES) if request.takes_all else ((), ())
        request = dataclasses.replace(request, kind="nightly", expected=before)
        summary = opening.run(project, request, machinery=machinery)
        if not summary.interrupted and request.takes_all:
            names = {"run": summary.run, "cases": sorted(verdict.case for verdict in summary.verdicts)}
            storage.write_atomic(project.runs / CASES, json.dumps(names, indent=1).encode())
    return dataclasses.replace(summary, notes=(*said, *summary.notes)) if said else summary


def _before(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cases of the last nightly run, and what must be said about them."""
    if not path.is_file():
        return (), ()
    try:
        return tuple(json.loads(storage.read_bytes(path))["cases"]), ()
    except (ValueError, KeyError, TypeError):
        return (), (f"{path} was cut short or edited: whether a case vanished since the last nightly run is not known",)
