"""Shrinking of a failing case to the smallest job that fails in the same way.

What decides is what the job itself says of a correct result: a reference, checks, a fault. Where only the accepted
baseline says it, the accepted source, found in git, is run on the smaller inputs.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.errors import HarnessError, NothingToDo, UsageError
from gpuregress.foundation.escapes import one_line, visible
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.jobs.spec import load, templates
from gpuregress.jobs.spec.expressions import ExpressionError, Parameters
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.lab import experiment
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import commit_runs
from gpuregress.lab.shrinking import simpler_jobs, trials
from gpuregress.lab.shrinking.reduction import Reduction
from gpuregress.lab.shrinking.simpler_jobs import Job
from gpuregress.lab.shrinking.trials import Failure, JobFolder, Trial, Trials
from gpuregress.session import repository
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.project import Project

_NEEDS_FILE = (
    "only the accepted baseline shows that the result is wrong: the results of the accepted source are written beside "
    "the smaller job, so name its file with -o F"
)
LIMIT_S = 120.0
"""Seconds after which no further candidates are run."""


class Shrunk(Record):
    """The smallest job that was found.

    Attributes:
        case: that was shrunk.
        text: the job, YAML.
        path: where it was written; None: nowhere.
        failure: how it fails, one line.
        changes: what is smaller or plainer, one line each.
        trials: jobs that were run.
        seconds: for all of them.
        stopped: why the search ended early, "" where nothing smaller fails.
    """

    case: str
    text: str
    path: Path | None
    failure: str
    changes: tuple[str, ...]
    trials: int
    seconds: float
    stopped: str = ""


class ShrinkRequest(Record):
    """A request to shrink a case.

    Attributes:
        selector: of exactly one case.
        target: the file to write; None: none.
        limit_s: seconds for the search.
        options: of the runs.
    """

    selector: str
    target: Path | None = None
    limit_s: float = LIMIT_S
    options: RunOptions = field(default_factory=RunOptions)


def shrink(project: Project, request: ShrinkRequest, listen: Callable[[str], None] = lambda _line: None) -> Shrunk:
    """Find the smallest job on which a case still fails, and write it.

    ^C ends the search; the smallest job so far is the result.

    Args:
        project: whose.
        request: which case.
        listen: receives a line for each step.

    Raises:
        NothingToDo: the case passes.
        UsageError: not one case; nothing judges a smaller one; the file is already there.
        StorageError: the file cannot be written.
        GpuregressError: the errors of `session.run`.
    """
    start = time.monotonic()
    _check_target(request.target)
    case = _one_case(project, request.selector)
    with StopSignal() as stop, storage.scratch() as scratch:
        failed, kind = _failure(project, case, request.options, scratch)
        listen(f"{case.name} fails: {failed.message}")
        here = JobFolder(project, Path(case.path), request.options, scratch / "runs")
        alone = simpler_jobs.of_one_case(_document(Path(case.path)), case, f"{case.job}-shrunk")
        with _started(_Start(project, case, failed, kind, here, stop), alone) as (trials, first):
            _check_room(first, request.target)
            search = Reduction(trials, first, first.failure or failed, start + request.limit_s, listen)
            search.run()
            return _written(case, search, trials, request, time.monotonic() - start)


def _check_target(target: Path | None) -> None:
    """Raise UsageError where a file cannot be written, before a search whose result would be lost."""
    if target is None:
        return
    if target.exists():
        raise UsageError(f"{target} already exists and was not changed; name another file with -o")
    folder = target.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        why = "there is no such folder" if not folder.is_dir() else "no permission"
        raise UsageError(f"{target} cannot be written, {why}: {folder}")
    if target.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{target} would not be a job: the name of a job's file ends with .yaml")


def _one_case(project: Project, selector: str) -> Case:
    cases = plan.make(project, [selector]).cases
    if len(cases) != 1:
        shown = ", ".join(case.name for case in cases[:3])
        raise UsageError(f"{selector!r} means {len(cases)} cases: name one of them, such as {shown}")
    return cases[0]


def _document(path: Path) -> Job:
    data: Job = load.load_file(path).document.data
    return data


def _failure(project: Project, case: Case, options: RunOptions, scratch: Path) -> tuple[Failure, str]:
    """Run the case as it is; return the kind of its failure, and the kind of device, `cpu` or `cuda`.

    A failure that the job knows is one like any other here.
    """
    planned = Plan((experiment.limited(case.with_settings(known_failing=None), options.timeout),))
    summary = options.run(experiment.scratch_project(project, scratch / "first"), planned)
    verdict: Verdict | None = next((one for one in summary.verdicts if one.case == case.name), None)
    failed = trials.failure_of(case, verdict)
    if failed is not None and (failed.sides or failed.status != "differ"):
        device = verdict.outcome.device if verdict is not None and verdict.outcome is not None else None
        return failed, "cuda" if device is not None and device.name.startswith("cuda") else "cpu"
    status, reason = (verdict.status, verdict.reason) if verdict is not None else ("error", "it was not run")
    if status == "pass":
        raise NothingToDo(f"{case.name} passes: there is no failure to keep")
    if status == "new":
        raise NothingToDo(f"{case.name} does not fail: it has no baseline, and no reference or check that fails")
    raise UsageError(f"{case.name} cannot be shrunk: {status}: {reason}")


class _Start(Record):
    """What a search starts from: the case, its failure, the kind of device, and where candidates are run."""

    project: Project
    case: Case
    failed: Failure
    kind: str
    here: JobFolder
    stop: StopSignal


@contextlib.contextmanager
def _started(start: _Start, alone: Job) -> Iterator[tuple[Trials, Trial]]:
    """Yield the trials that reproduce the failure, and the first of them.

    Raises:
        UsageError: none does.
    """
    failed, here = start.failed, start.here
    own = failed.without_baseline()
    if own is not None:
        trials = Trials(here, here.runs.parent, start.stop)
        (first,) = trials.run([alone])
        if own.is_same(first.failure):
            yield trials, replace(first, failure=replace(own, message=failed.message))
            return
    with _trusted(start) as trusted:
        if trusted is None:
            raise UsageError(_nothing_judges(start.case, failed))
        trials = Trials(here, here.runs.parent, start.stop, trusted)
        (first,) = trials.run([alone])
        if not failed.is_same(first.failure):
            raise UsageError(_nothing_judges(start.case, failed))
        yield trials, replace(first, failure=failed)


@contextlib.contextmanager
def _trusted(start: _Start) -> Iterator[JobFolder | None]:
    """Yield the project with the accepted source, from git; None where it cannot be had."""
    project, case, here = start.project, start.case, start.here
    accepted = AcceptedDumps(BaselineStore.of(project), start.kind).baseline(case)
    found = repository.find(project.root)
    if accepted is None or found is None:
        yield None
        return
    with commit_runs.opened(found, project, here.options) as runs:
        commit = commit_runs.find_accepted(found, runs, case, accepted)
        if commit is None:
            yield None
            return
        there = runs.switch(commit)
        path = there.root / Path(case.path).resolve().relative_to(project.root.resolve())
        yield JobFolder(there, path, here.options, here.runs.with_name("trusted-runs"))


def _nothing_judges(case: Case, failed: Failure) -> str:
    return (
        f"{case.name} fails ({one_line(failed.message)}), but nothing judges a smaller case: the job has no reference "
        "or check that fails, and git has no commit with the accepted source. Add a reference: or checks: to the job "
        "(`agree` needs more than one case)"
    )


def _written(case: Case, search: Reduction, trials: Trials, request: ShrinkRequest, seconds: float) -> Shrunk:
    changes = tuple(f"{name}: {before} → {after}" for name, (before, after) in search.changes.items())
    target = request.target
    job = search.job
    if target is not None:
        names = {**search.case.parameters, "seed": search.case.seed}
        job = moved(job, Path(case.path).parent, target.absolute().parent, names)
        job = _with_expected(job, search.best, target)
    text = "".join(f"{line}\n" for line in _head(case, search, changes)) + yaml_writer.write(job)
    if target is not None:
        storage.write_atomic(target.absolute(), text.encode())
    return Shrunk(
        case=case.name,
        text=text,
        path=target,
        failure=search.failure.message,
        changes=changes,
        trials=trials.count,
        seconds=seconds,
        stopped=search.stopped,
    )


def _check_room(first: Trial, target: Path | None) -> None:
    """Raise UsageError where the results of the accepted revision cannot be written beside the job."""
    if first.expected and target is None:
        raise UsageError(_NEEDS_FILE)
    if target is None:
        return
    for path in _expected_files(first, target).values():
        if path.exists():
            raise UsageError(f"{path} already exists and was not changed; name another file with -o")


def _expected_files(trial: Trial, target: Path) -> dict[str, Path]:
    """Buffer → the file beside the job that gets its accepted result, for the buffers that differ from it."""
    sides = trial.failure.sides if trial.failure is not None else ()
    names = [name for name, against in sides if against == "baseline" and name in trial.expected]
    return {name: target.absolute().with_name(f"{target.stem}.{name}.txt") for name in names}


def _with_expected(job: Job, best: Trial, target: Path) -> Job:
    """Write the accepted revision's results beside the job; return the job with them as references."""
    files = _expected_files(best, target)
    for name, path in files.items():
        storage.copy_file(best.expected[name], path)
    references = {**(job.get("reference") or {}), **{name: path.name for name, path in files.items()}}
    return {**job, "reference": references} if files else job


def _head(case: Case, search: Reduction, changes: tuple[str, ...]) -> Iterator[str]:
    yield f"# The smallest job found by `gpuregress shrink` that fails like {case.name}:"
    yield f"# {visible(one_line(search.failure.message))}"
    for change in changes:
        yield f"# {visible(one_line(change))}"
    if search.stopped:
        yield f"# A smaller one may exist: {search.stopped}."


def moved(job: Job, old: Path, new: Path, names: Parameters | None = None) -> Job:
    """Return a job for another folder: relative paths of files that exist lead to them from there, too.

    Args:
        job: the job.
        old: the folder that its paths are relative to.
        new: the other one.
        names: parameter → value, of the expressions in the names of files.
    """
    if old.resolve() == new.resolve():
        return job
    changed: Job = _moved(job, _Move(old, new, names or {}), "")
    return changed


class _Move(Record):
    """The folders of a job that is moved, and the values of its parameters."""

    old: Path
    new: Path
    names: Parameters

    def is_file(self, path: str) -> bool:
        """Tell whether a path leads to a file or folder from the old folder; `{n}` is the parameter's value."""
        try:
            real = templates.fill(path, self.names, strict=False)
            return not Path(real).is_absolute() and (self.old / real).exists()
        except (ExpressionError, OSError, ValueError):
            return False


def _moved(value: Any, move: _Move, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _moved(item, move, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, move, key) for item in value]
    if not isinstance(value, str) or not ("/" in value or "." in value or key == "include"):
        return value
    path, colon, member = value.rpartition(":") if ".py:" in value or ".npz:" in value else (value, "", "")
    return f"{os.path.relpath(move.old / path, move.new)}{colon}{member}" if move.is_file(path) else value


def check_written(project: Project, done: Shrunk, options: RunOptions) -> None:
    """Run the written job as a user would, in a scratch folder.

    Raises:
        HarnessError: it does not fail.
    """
    if done.path is None:
        return
    with storage.scratch() as scratch:
        where = replace(project.with_runs(scratch / "runs"), baselines=scratch / "baselines")
        summary = options.run(where, [str(done.path)])
    if all(one.status in ("pass", "new", "skip") for one in summary.verdicts):
        raise HarnessError(f"{done.path} was written and does not fail by itself; please report it with the job")
