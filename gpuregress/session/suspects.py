"""Suspects of a night's new failures: commits since the last passing night that touch the case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import (
    Case,
    EarlierVerdict,
    NightChanges,
    NightFailure,
    RunSummary,
    Suspect,
    Suspects,
)
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan.case_files import CaseFiles, DecidingFiles
from gpuregress.judge.nights import EarlierNights, last_night_before
from gpuregress.session import repository
from gpuregress.session.repository import Commit, Repository
from gpuregress.store.project import Project

_MOST_NAMED = 5


class _Range(Record):
    """The commits between a good and a bad one.

    Attributes:
        commits: those that lead to the bad one and not to the good one.
        lacking: how many lead to the good one and not to the bad one.
        files: a collector, which knows the files that are gone since the good one.
    """

    commits: tuple[Commit, ...]
    lacking: int
    files: CaseFiles


class SuspectSearch:
    """The suspects of the failures of one night; each question is put to git once.

    Args:
        project: of the night.
        found: its repository.
        summary: the night.
        cases: name → what ran.
    """

    def __init__(self, project: Project, found: Repository, summary: RunSummary, cases: Mapping[str, Case]) -> None:
        self._project, self._repository, self._summary, self._cases = project, found, summary, cases
        self._ranges: dict[str, _Range | None] = {}
        self._touching: dict[tuple[str, tuple[str, ...]], tuple[Commit, ...]] = {}
        self._locations = {verdict.case: verdict.location for verdict in summary.verdicts}
        self._submodules: frozenset[str] | None = None
        self._changes: frozenset[str] | None = None
        self._known: dict[str, bool] = {}

    def of(self, failure: NightFailure, earlier: EarlierNights) -> Suspects | None:
        """Return the suspects of a failure; None where no earlier commit is known."""
        before = last_night_before(failure, earlier)
        if before is None or not before.commit:
            return None
        lost = ""
        if not self._is_known(before.commit):
            known_night = self._last_known(failure.case, earlier)
            if known_night is not None:
                lost, before = before.commit, known_night
        suspects = Suspects(before.commit, self._summary.commit, dirty=before.dirty or self._summary.dirty, lost=lost)
        try:
            between = self._range(before.commit)
            if between is None:
                return replace(suspects, gone=True)
            deciding = self._deciding_files(failure.case, between.files)
            paths = self._paths(deciding)
            touching = self._commits(before.commit, paths)
            uncommitted = self._uncommitted(paths)
        except UsageError as error:
            return replace(suspects, unknown=str(error))
        return replace(
            suspects,
            commits=len(between.commits),
            authors=len({commit.author for commit in between.commits}),
            touching=tuple(Suspect(commit.hash, commit.author, commit.subject) for commit in touching[:_MOST_NAMED]),
            others=len(touching[_MOST_NAMED:]),
            lacking=between.lacking,
            perhaps=deciding.unknown,
            uncommitted=uncommitted,
        )

    def _is_known(self, commit: str) -> bool:
        """Whether the repository has a commit, given its full hash."""
        if commit not in self._known:
            self._known[commit] = self._repository.resolve(commit) is not None
        return self._known[commit]

    def _last_known(self, case: str, earlier: EarlierNights) -> EarlierVerdict | None:
        """The last passing night of a case whose commit the repository still has; None where there is none."""
        for night in earlier.trend(case):
            if night.verdict == "pass" and night.commit and self._is_known(night.commit):
                return night
        return None

    def _uncommitted(self, paths: Sequence[str]) -> tuple[str, ...]:
        """The paths that are other than in tonight's commit, at most some."""
        if not self._summary.dirty:
            return ()
        if self._changes is None:
            self._changes = frozenset(git.work_tree_files(self._repository.root).changes)
        return tuple(path for path in paths if path in self._changes)[:_MOST_NAMED]

    def touches(self, name: str, earlier: EarlierNights) -> bool:
        """Tell whether a file of a case may have changed since the last night; where git cannot tell, it may have."""
        last = earlier.last.get(name)
        if last is None or not last.commit:
            return False
        if last.dirty or self._summary.dirty:
            return True
        try:
            between = self._range(last.commit)
            if between is None:
                return True
            return bool(self._commits(last.commit, self._paths(self._deciding_files(name, between.files))))
        except UsageError:
            return True

    def _range(self, good: str) -> _Range | None:
        """The commits since a good one; None where the repository has one of the two ends no more."""
        if good not in self._ranges:
            bad = self._summary.commit
            found = None
            if self._is_known(good) and self._is_known(bad):
                changes = self._repository.changes_between(good, bad)
                found = _Range(
                    commits=self._repository.commits_after(good, bad),
                    lacking=len(self._repository.commits_after(bad, good)),
                    files=CaseFiles([Path(path) for path, is_there in changes.items() if not is_there]),
                )
            self._ranges[good] = found
        return self._ranges[good]

    def _commits(self, good: str, paths: tuple[str, ...]) -> tuple[Commit, ...]:
        if not paths:
            return ()
        key = (good, paths)
        if key not in self._touching:
            self._touching[key] = self._repository.commits_after(good, self._summary.commit, paths)
        return self._touching[key]

    def _deciding_files(self, name: str, collector: CaseFiles) -> DecidingFiles:
        """The files of a case and the project's settings; of a case that is gone, all jobs."""
        files = {*self._project.settings_files, self._project.baselines / name}
        case = self._cases.get(name)
        if case is not None:
            deciding = collector.of(case)
            return replace(deciding, files=deciding.files | files)
        location = self._locations.get(name)
        files.add(self._project.configs if location is None else Path(location.file))
        return DecidingFiles(frozenset(files))

    def _paths(self, deciding: DecidingFiles) -> tuple[str, ...]:
        """What a commit must touch to touch one of the files, relative to the repository."""
        paths = {str(path) for path in deciding.gone}
        for file in deciding.files:
            paths.update(self._repository.entries_on_the_way(file))
        return tuple(sorted({self._submodule_of(path) or path for path in paths}))

    def _submodule_of(self, path: str) -> str:
        """The submodule that holds a file: a commit touches it as a whole; "" where none does."""
        if self._submodules is None:
            self._submodules = self._repository.submodules()
        for submodule in self._submodules:
            if path.startswith(f"{submodule}/"):
                return submodule
        return ""


def opened(project: Project, summary: RunSummary, cases: Iterable[Case]) -> SuspectSearch | None:
    """Return a search in the project's repository; None where there is none.

    Args:
        project: of the night.
        summary: the night, of a commit.
        cases: that it planned.
    """
    if not summary.commit:
        return None
    found = repository.find(project.root)
    if found is None:
        return None
    return SuspectSearch(project, found, summary, {case.name: case for case in cases})


def with_suspects(changes: NightChanges, search: SuspectSearch, earlier: EarlierNights) -> NightChanges:
    """Add the suspects of the failures that are new or have changed.

    Args:
        changes: what a night found.
        search: among its commits.
        earlier: the nights before it.
    """
    return replace(
        changes,
        new=tuple(replace(failure, suspects=search.of(failure, earlier)) for failure in changes.new),
        changed=tuple(replace(failure, suspects=search.of(failure, earlier)) for failure in changes.changed),
    )
