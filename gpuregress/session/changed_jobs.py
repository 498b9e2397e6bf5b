"""Jobs that a change touches: those made of a file that differs from a commit."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import NothingChanged, UsageError
from gpuregress.foundation.records import Case
from gpuregress.foundation.wording import first_names, plural
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan.case_files import CaseFiles
from gpuregress.session import repository
from gpuregress.session.repository import Repository
from gpuregress.store.baselines import manifest
from gpuregress.store.project import Project
from gpuregress.toolchain.python_kernels import local_modules

MERGE_BASE = "merge base"
"""In place of a commit: the last one that the branch has in common with the main branch."""
_MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_MOST_NAMED = 5


class _Changes(Record):
    """The files that differ from a commit.

    Attributes:
        since: the commit in words.
        present: files and folders (of submodules) that are there, relative to the repository's root.
        gone: files that are not there any more, likewise.
        watched: the files whose changes git reports, likewise.
    """

    since: str
    present: frozenset[str]
    gone: frozenset[str]
    watched: frozenset[str]


class ChangedJobs(Record):
    """The cases of the jobs that a change touches.

    Attributes:
        cases: in the order of the plan.
        remark: what was chosen by which commit, and what was left out.
    """

    cases: tuple[Case, ...]
    remark: str


def select(project: Project, cases: Sequence[Case], reference: str) -> ChangedJobs:
    """Select the cases of the jobs that are made of a file that differs from a commit.

    A job of which not all files are known counts as changed. So does every job where the project's settings differ.

    Args:
        project: whose work tree is compared.
        cases: that are planned.
        reference: names a commit; `MERGE_BASE` for the default.

    Raises:
        UsageError: there is no repository, or no such commit.
        NothingChanged: no job is touched.
    """
    found = repository.require(project.root)
    changes = _changes(found, _base(found, project, reference))
    changed = _changed_jobs(project, found, cases, changes)
    jobs = tuple(dict.fromkeys(case.job for case in cases))
    left_out = [job for job in jobs if job not in changed]
    unseen = ""
    commands = project.compile_commands
    if commands is not None and changes.watched.isdisjoint(found.entries_on_the_way(commands)):
        unseen = f"; what changed in {commands.name}, which is not in git, counts for no job"
    if not changed:
        raise NothingChanged(
            f"no file of {plural(len(jobs), 'selected job')} differs from {changes.since}: nothing was run{unseen}"
        )
    remark = f"--changed: {len(changed)} of {plural(len(jobs), 'job')} may differ from {changes.since}"
    if left_out:
        remark += f"; left out: {first_names(left_out, _MOST_NAMED)}{unseen}"
    return ChangedJobs(tuple(case for case in cases if case.job in changed), remark)


def _base(found: Repository, project: Project, reference: str) -> tuple[str, str]:
    """The commit that is compared with, and its name in words."""
    if reference != MERGE_BASE:
        commit = found.resolve(reference)
        if commit is None:
            why = repository.why_unknown(project, reference)
            raise UsageError(f"--changed: {why}; jobs stand before this option, or write --changed=REF")
        return commit, f"{reference} ({commit[:7]})"
    head = found.resolve("HEAD")
    if head is None:
        raise UsageError("--changed: the repository has no commit yet")
    for name in _MAIN_BRANCHES:
        main = found.resolve(name)
        if main is None:
            continue
        bases = found.merge_bases(head, main)
        if bases:
            return bases[0], f"{bases[0][:7]}, which is in {name.removesuffix('/HEAD')}"
        raise UsageError(
            f"--changed: this clone has no commit that HEAD and {name} have in common; "
            "fetch more of the history (`git fetch --unshallow`; fetch-depth: 0 of actions/checkout), or name a commit"
        )
    raise UsageError(
        f"--changed: there is no branch {', '.join(_MAIN_BRANCHES[1:])} to compare with: name a commit, --changed REF"
    )


def _changes(found: Repository, base: tuple[str, str]) -> _Changes:
    commit, words = base
    files = git.work_tree_files(found.root)
    statuses = {**found.changes_between(commit, "HEAD"), **files.changes}
    present = {path for path, is_there in statuses.items() if is_there}
    return _Changes(words, frozenset(present), frozenset(statuses) - present, files.watched)


def _changed_jobs(project: Project, found: Repository, cases: Sequence[Case], changes: _Changes) -> Collection[str]:
    """The jobs that a change touches."""
    touched = _Touched(project, found, changes)
    for path in project.settings_files:
        # A compilation database is written by the build: most are not in git, which the remark says.
        is_touched = touched.differs if path == project.compile_commands else touched.may_differ
        if is_touched(path):
            return {case.job for case in cases}
    collector = CaseFiles([Path(path) for path in changes.gone])
    baselines = {Path(path) for path in _below(changes.present | changes.gone, found, project.baselines)}
    jobs: set[str] = set()
    for case in cases:
        if case.job in jobs:
            continue
        deciding = collector.of(case)
        files = (*deciding.files, project.baselines / case.name / manifest.FILE)
        is_changed = bool(deciding.unknown or deciding.gone) or any(map(touched.may_differ, files))
        if is_changed or any(path.is_relative_to(case.name) for path in baselines):
            jobs.add(case.job)
    return jobs


def _below(paths: Collection[str], found: Repository, folder: Path) -> Iterator[str]:
    """The paths below a folder, relative to it; all are relative to the repository's root before."""
    real = Path(os.path.realpath(folder))
    if not real.is_relative_to(found.root):
        return
    start = f"{real.relative_to(found.root)}/"
    for path in paths:
        if path.startswith(start):
            yield path.removeprefix(start)


class _Touched:
    """The answer for each file; many cases share their files."""

    def __init__(self, project: Project, found: Repository, changes: _Changes) -> None:
        self._repository, self._watched = found, changes.watched
        self._runs = tuple(Path(os.path.realpath(folder)) for folder in (project.runs, project.earlier_runs) if folder)
        self._paths = changes.present | changes.gone
        # A submodule, a repository that is no submodule, or a symbolic link to a folder: all below it has changed.
        folders = [found.root / path for path in changes.present if (found.root / path).is_dir()]
        entries = {entry for folder in folders for entry in found.entries_on_the_way(folder)}
        self._folders = tuple("" if entry == "." else f"{entry}/" for entry in entries)  # ".": the root, so every file
        self._known: dict[Path, bool] = {}

    def differs(self, path: Path) -> bool:
        """Whether a file differs from the commit as git reports it; one outside of the repository does not."""
        entries = self._repository.entries_on_the_way(path)
        return any(entry in self._paths or entry.startswith(self._folders) for entry in entries)

    def may_differ(self, path: Path) -> bool:
        """Whether a file differs from the commit, or may, since git does not watch it.

        What an earlier run has written and what belongs to an installed package does not.
        """
        if path not in self._known:
            self._known[path] = self.differs(path) or self._is_unwatched(path)
        return self._known[path]

    def _is_unwatched(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        if not real.exists() or local_modules.is_installed(real):
            return False
        if any(real.is_relative_to(runs) for runs in self._runs):
            return False
        return not self._watched.issuperset(self._repository.entries_on_the_way(path))
