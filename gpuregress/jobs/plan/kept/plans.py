"""Cache of the plans of jobs: a job that has not changed is not validated and expanded again.

An entry is found by the job's text, the project, the overrides, the version and the installation. It is taken if every
file that planning read, looked for or did not find is as it was, and every module that planned. It lies in the cache of
programs, which takes nothing that others may write. What cannot be followed is not kept: results of earlier runs,
kernels in Python, large files. An entry holds records as JSON, and nothing that would run.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuregress import __version__
from gpuregress.foundation import read_log
from gpuregress.foundation.document import reader
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import Case, from_json, to_json
from gpuregress.jobs.plan.job_plans.job_plan import CaseOverrides, JobPlan, LabelRequest
from gpuregress.store.project import Project, default_memory
from gpuregress.toolchain import cache
from gpuregress.toolchain.include_scanner import SourceInputs

if TYPE_CHECKING:
    from gpuregress.jobs.revision import Labels

FORMAT = "plan 1"
"""Part of every key; another number where an entry means another thing."""

_LARGEST_ENTRY, _MOST_LAUNCHES = 8 << 20, 20_000
_PLANNERS = ("gpuregress", "pydantic", "pydantic_core", "yaml")
"""The packages that decide what a job means."""
LOADED = time.time()
"""Modules that were changed after it may not be those of this process."""


@float_environment.default()
def of_job(
    path: Path, project: Project, overrides: CaseOverrides, labels: Labels
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Plan the cases of a job, or take those of an earlier run.

    Args:
        path: the job file, absolute.
        project: its folders and settings.
        overrides: from the command line.
        labels: those of this planning.

    Returns:
        The cases and the notes for the user.

    Raises:
        JobErrors: all that is wrong in the file.
    """
    key = _key(path, project, overrides)
    planned = _find(key)
    if planned is None:
        from gpuregress.jobs.plan import case_planning  # noqa: PLC0415 - loads pydantic and the models of jobs

        with read_log.recorded() as log:
            planned = case_planning.of_job(path, project, overrides)
        _keep(key, planned, log)
    return planned.labelled(project, labels)


def _key(path: Path, project: Project, overrides: CaseOverrides) -> str:
    where = (str(path), repr(project), str(default_memory()))
    with_options = (repr(overrides), __version__, sys.version)
    installed = (__file__, *sys.path)  # the modules of an entry are those that are found here
    return cache.digest((FORMAT, *where, *with_options, repr(installed), reader.content(path)))


def _find(key: str) -> JobPlan | None:
    """A plan that is still valid; None where there is none, or where an entry is damaged."""
    try:
        record = cache.load(key)
        if record is None or not _is_current(record):
            return None
        requests = tuple(_request(one) for one in record["requests"])
        cases = tuple(from_json(Case, one) for one in record["cases"])
        return JobPlan(record["name"], cases, requests, tuple(record["notes"]))
    except (StorageError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _is_current(record: Mapping[str, Any]) -> bool:
    """Tell whether all that was planned with is as it was."""
    return (
        _are_current(record["modules"])
        and all(read_log.fingerprint(path) == text for path, text in record["paths"].items())
        and all(read_log.names_fingerprint(path) == text for path, text in record["folders"].items())
    )


def _keep(key: str, planned: JobPlan, log: read_log.ReadLog) -> None:
    """Keep a plan, if all that it depends on is known and it is the same when it is read again."""
    if sum(len(case.launches) for case in planned.cases) > _MOST_LAUNCHES:
        return
    fingerprints, stamps = log.fingerprints(), _modules()
    if fingerprints is None or stamps is None:
        return
    modules = cache.digest(("modules", json.dumps(stamps, sort_keys=True)))
    record = {
        "modules": modules,
        "paths": fingerprints[0],
        "folders": fingerprints[1],
        "name": planned.name,
        "cases": [to_json(case) for case in planned.cases],
        "requests": [_request_record(one) for one in planned.requests],
        "notes": list(planned.notes),
    }
    with contextlib.suppress(StorageError, TypeError, ValueError):
        text = json.dumps(record)
        again = json.loads(text)["cases"] if len(text) <= _LARGEST_ENTRY else []
        if planned.cases == tuple(from_json(Case, one) for one in again):
            if not _are_current(modules):
                cache.store(modules, {"stamps": stamps}, {})
                _are_current.cache_clear()
            cache.store(key, record, {})


def _request_record(request: LabelRequest) -> dict[str, Any]:
    """A request without the contents of its files, which are read when it is taken."""
    sources = [
        {
            "path": str(path),
            "files": [str(file) for file in one.files],
            "structure": one.structure,
            "unknown": one.unknown,
        }
        for path, one in request.sources
    ]
    return {"wanted": request.wanted, "sources": sources}


def _request(record: Mapping[str, Any]) -> LabelRequest:
    sources = []
    for one in record["sources"]:
        files = tuple(Path(file) for file in one["files"])
        contents = tuple(file.read_bytes() for file in files)
        sources.append((Path(one["path"]), SourceInputs(files, contents, one["structure"], one["unknown"])))
    return LabelRequest(record["wanted"], tuple(sources))


def _modules() -> dict[str, str] | None:
    """File → stamp, of the modules that may have planned; None where one was changed while this process ran."""
    stamps = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) if name.partition(".")[0] in _PLANNERS else None
        if path is not None:
            stamp = _loaded_stamp(path)
            if not stamp:
                return None
            stamps[path] = stamp
    return stamps


@functools.cache
def _loaded_stamp(path: str) -> str:
    """The state of a module's file when it was loaded; "" where it may have changed since.

    A process asks once: a later state is not that of the module which plans.
    """
    try:
        changed = os.stat(path).st_ctime > LOADED  # noqa: PTH116 - hundreds at each start
    except OSError:
        return ""
    return "" if changed else _module_stamp(path)


@functools.lru_cache(maxsize=64)
def _are_current(modules: str) -> bool:
    """Tell whether the modules of an entry are as they were; once for all plans that were made with the same ones."""
    record = cache.load(modules)
    return record is not None and all(_module_stamp(path) == stamp for path, stamp in record["stamps"].items())


def _module_stamp(path: str) -> str:
    """The state of a module's file; installers may give every version of it one time of modification."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
