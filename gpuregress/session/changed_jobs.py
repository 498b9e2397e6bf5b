"""Jobs that a change touches: those made of a file that differs from a commit."""

from __future__ import annotations

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
from gpuregress.store.project import SETTINGS_FILE, Project

MERGE_BASE = "merge base"
"""In place of a commit: the last one that the branch has in common with the main branch."""
_MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_SETTINGS_FILES = (SETTINGS_FILE, "pyproject.toml")
_MOST_NAMED = 5


class _Changes(Record):
    """The files that differ from a commit.

    Attributes:
        since: the commit in words.
        present: files and folders (of submodules) that are there, relative to the repository's root.
        gone: files that are not there any more, likewise.
    """

    since: str
    present: frozenset[str]
    gone: frozenset[str]


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

    A job of which not all files can be told counts as changed. So does every job where the project's settings differ.

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
    if not changed:
        raise NothingChanged(
            f"no file of {plural(len(jobs), 'selected job')} differs from {changes.since}: nothing was run"
        )
    remark = f"--changed: {len(changed)} of {plural(len(jobs), 'job')} may differ from {changes.since}"
    if left_out:
        remark += f"; left out: {first_names(left_out, _MOST_NAMED)}"
        commands = project.compile_commands
        if commands is not None and not _is_in_git(found, commands):
            remark += f"; what changed in {commands.name}, which is not in git, counts for no job"
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
    statuses = {**found.changes_between(commit, "HEAD"), **git.work_tree_changes(found.root)}
    present = {path for path, is_there in statuses.items() if is_there}
    return _Changes(words, frozenset(present), frozenset(statuses) - present)


def _changed_jobs(project: Project, found: Repository, cases: Sequence[Case], changes: _Changes) -> Collection[str]:
    """The jobs that a change touches."""
    touched = _Touched(found, changes)
    settings = [project.root / name for name in _SETTINGS_FILES]
    if project.compile_commands is not None:
        settings.append(project.compile_commands)
    if any(touched.is_changed(path) for path in settings):
        return {case.job for case in cases}
    collector = CaseFiles([Path(path) for path in changes.gone])
    baselines = {Path(path) for path in _below(changes.present | changes.gone, found.relative(project.baselines))}
    jobs: set[str] = set()
    for case in cases:
        if case.job in jobs:
            continue
        deciding = collector.of(case)
        is_changed = bool(deciding.unknown) or deciding.names_gone or any(map(touched.is_changed, deciding.files))
        if is_changed or any(path.is_relative_to(case.name) for path in baselines):
            jobs.add(case.job)
    return jobs


def _is_in_git(found: Repository, path: Path) -> bool:
    relative = found.relative(path)
    return relative is not None and bool(git.answer(found.root, "ls-files", "--", relative))


def _below(paths: Collection[str], folder: str | None) -> Iterator[str]:
    """The paths below a folder, relative to it."""
    if folder is None:
        return
    for path in paths:
        if path.startswith(f"{folder}/"):
            yield path.removeprefix(f"{folder}/")


class _Touched:
    """The answer for each file; many cases share their files."""

    def __init__(self, found: Repository, changes: _Changes) -> None:
        self._repository = found
        self._paths = changes.present | changes.gone
        self._folders = tuple(f"{path}/" for path in changes.present if (found.root / path).is_dir())
        self._known: dict[Path, bool] = {}

    def is_changed(self, path: Path) -> bool:
        """Whether a file differs from the commit; one outside of the repository does not."""
        if path not in self._known:
            relative = self._repository.relative(path)
            self._known[path] = relative is not None and (relative in self._paths or relative.startswith(self._folders))
        return self._known[path]
