"""Runs of an experiment: cases that a command runs to learn something, and keeps nothing of.

`mutate`, `fuzz`, `shrink`, `bisect`, `diff`, `audit`, `accuracy` and `calibrate` run cases here. The results go to a
scratch folder, so that the project's runs and baselines stay as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gpuregress.foundation.errors import Interrupted, StorageError, UsageError
from gpuregress.foundation.records import Case, RunSummary, from_json, to_json
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import Plan
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

R = TypeVar("R", bound=Record)
_LONGEST_PATH = 4096


class RunOptions(Record):
    """How the runs of an experiment are made.

    Attributes:
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        timeout: seconds for a case, in place of the jobs' own limit.
        listen: receives the events of the runs.
    """

    device: str = "auto"
    timeout: float | None = None
    listen: Listener = ignore

    def run(self, project: Project, cases: Plan | Sequence[str], **options: Any) -> RunSummary:
        """Run cases to their end.

        Args:
            project: with a scratch folder for its runs; see `scratch_project`.
            cases: planned already, or selectors.
            options: further fields of the request.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        request = RunRequest(device=self.device, timeout=self.timeout, **options)
        summary = session.run(project, cases, request, listen=self.listen)
        if summary.interrupted:
            raise Interrupted("interrupted")
        return summary


CPU = RunOptions("cpu")


def scratch_project(project: Project, runs: Path, baselines: Path | None = None) -> Project:
    """Return a project whose runs go to a scratch folder.

    Args:
        project: whose jobs and kernels.
        runs: the scratch folder.
        baselines: a folder in place of the project's baselines; None: results are compared with the project's.
    """
    scratch = project.with_runs(runs)
    if baselines is None:
        return scratch
    return replace(scratch, baselines=baselines, dumps="")


def limited(case: Case, timeout: float | None) -> Case:
    """Return a planned case with another time limit; None: its own."""
    if timeout is None:
        return case
    return replace(case, limits=replace(case.limits, timeout=timeout))


def by_job(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Group planned cases by the names of their jobs."""
    jobs: dict[str, list[Case]] = {}
    for case in cases:
        jobs.setdefault(case.job, []).append(case)
    return jobs


def require_launches(cases: Iterable[Case], command: str) -> None:
    """Refuse cases that run a whole program, for a command that changes or watches launches.

    Args:
        cases: planned.
        command: its name.

    Raises:
        UsageError: names the jobs.
    """
    jobs = dict.fromkeys(case.job for case in cases if case.program is not None)
    if jobs:
        raise UsageError(f"{command} needs jobs with launches; of a whole program: {first_names(list(jobs))}")


def recalled(kind: type[R], key: str) -> R | None:
    """Return the result of an earlier experiment from the cache; None where there is none, or it cannot be read.

    Args:
        kind: of the result.
        key: of the cache; "" where not all that decides the result can be known.
    """
    record = cache.load(key) if key else None
    if record is None:
        return None
    try:
        return from_json(kind, record["result"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def remember(key: str, result: Record) -> None:
    """Keep a result in the cache; one that cannot be written costs the next experiment time and nothing else."""
    if key:
        with contextlib.suppress(StorageError):
            cache.store(key, {"result": to_json(result)}, {})


def named_files(record: Any) -> Iterator[Path]:
    """Yield the files that the JSON form of a case names by absolute paths: functions, inputs, references, sources.

    A Python function is `/abs/module.py:function`, an array of a file `/abs/x.npz:name`.
    """
    if isinstance(record, dict):
        record = list(record.values())
    if isinstance(record, list):
        for item in record:
            yield from named_files(item)
    elif isinstance(record, str) and record.startswith("/") and len(record) <= _LONGEST_PATH:
        for text in (record, record.rpartition(":")[0]):
            if text and Path(text).is_file():
                yield Path(text)
