"""Suspects of a night's new failures: commits since the last passing night that touch the case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuregress.foundation.records import Case, NightChanges, NightFailure, RunSummary, Suspect, Suspects
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan.case_files import CaseFiles
from gpuregress.judge.nights import EarlierNights, last_night_before
from gpuregress.session import repository
from gpuregress.session.repository import Commit, Repository
from gpuregress.store.project import Project

_MOST_NAMED = 5


class _Search:
    """The suspects of the failures of one night; each question is put to git once.

    Args:
        project: of the night.
        found: its repository.
        summary: the night.
        cases: name → what ran.
    """

    def __init__(self, project: Project, found: Repository, summary: RunSummary, cases: Mapping[str, Case]) -> None:
        self._project, self._repository, self._summary, self._cases = project, found, summary, cases
        self._files = CaseFiles()
        self._ranges: dict[str, tuple[Commit, ...] | None] = {}
        self._touching: dict[tuple[str, tuple[str, ...]], tuple[Commit, ...]] = {}
        self._locations = {verdict.case: verdict.location for verdict in summary.verdicts}

    def of(self, failure: NightFailure, earlier: EarlierNights) -> Suspects | None:
        """Return the suspects of a failure; None where no earlier commit is known."""
        before = last_night_before(failure, earlier)
        if before is None or not before.commit:
            return None
        bad = self._summary.commit
        suspects = Suspects(before.commit, bad, dirty=before.dirty or self._summary.dirty)
        everything = self._range(before.commit)
        if everything is None:
            return replace(suspects, gone=True)
        touching = self._commits(before.commit, self._paths(failure.case))
        return replace(
            suspects,
            commits=len(everything),
            authors=len({commit.author for commit in everything}),
            touching=tuple(Suspect(commit.hash, commit.author, commit.subject) for commit in touching[:_MOST_NAMED]),
            others=len(touching[_MOST_NAMED:]),
        )

    def _range(self, good: str) -> tuple[Commit, ...] | None:
        """The commits since a good one; None where the repository has one of the two ends no more."""
        if good not in self._ranges:
            bad = self._summary.commit
            found = None
            if self._repository.resolve(good) is not None and self._repository.resolve(bad) is not None:
                found = self._repository.commits_after(good, bad)
            self._ranges[good] = found
        return self._ranges[good]

    def _commits(self, good: str, paths: tuple[str, ...]) -> tuple[Commit, ...]:
        if not paths:
            return ()
        key = (good, paths)
        if key not in self._touching:
            self._touching[key] = self._repository.commits_after(good, self._summary.commit, paths)
        return self._touching[key]

    def _paths(self, name: str) -> tuple[str, ...]:
        """The files of a case relative to the repository; of a case that is gone, all jobs."""
        case = self._cases.get(name)
        files = {*self._project.settings_files, self._project.baselines / name}
        if case is not None:
            files |= self._files.of(case).files
        else:
            location = self._locations.get(name)
            files.add(self._project.configs if location is None else Path(location.file))
        return tuple(sorted({path for file in files for path in self._repository.entries_on_the_way(file)}))


def with_suspects(
    project: Project, summary: RunSummary, changes: NightChanges, earlier: EarlierNights, cases: Iterable[Case]
) -> NightChanges:
    """Add the suspects of the failures that are new or have changed.

    Args:
        project: of the night.
        summary: the night, of a commit.
        changes: what it found.
        earlier: the nights before it.
        cases: that it planned.
    """
    if not summary.commit or not (changes.new or changes.changed):
        return changes
    found = repository.find(project.root)
    if found is None:
        return changes
    search = _Search(project, found, summary, {case.name: case for case in cases})
    return replace(
        changes,
        new=tuple(replace(failure, suspects=search.of(failure, earlier)) for failure in changes.new),
        changed=tuple(replace(failure, suspects=search.of(failure, earlier)) for failure in changes.changed),
    )
