"""Search for a commit that has the source of an accepted result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.records import Baseline, Case
from gpuregress.lab.commits.commit_runs import CommitRuns
from gpuregress.lab.commits.repository import Repository

_MOST_COMMITS = 60


def find(repository: Repository, runs: CommitRuns, case: Case, accepted: Baseline) -> str | None:
    """Return the hash of a commit whose source is the accepted one; None where none of the likely ones is.

    The likely ones are the last commit, the one that the revision's label names, and those that changed the baseline or
    a source.

    Args:
        repository: of the project.
        runs: checks the commits out.
        case: as it is in the work tree.
        accepted: its baseline.
    """
    for commit in dict.fromkeys(_likely(repository, case, accepted)):
        there = {one.name: one for one in runs.cases(commit, [case.job])}
        if case.name in there and there[case.name].source_digest == accepted.made_of.source:
            return commit
    return None


def _likely(repository: Repository, case: Case, accepted: Baseline) -> Iterator[str]:
    for word in ("HEAD", accepted.revision):
        found = repository.resolve(word)
        if found is not None:
            yield found
    for path in (Path(accepted.path), *(Path(source.path) for source in case.sources)):
        yield from last_changes(repository, path)


def last_changes(repository: Repository, path: Path) -> tuple[str, ...]:
    """Return the commits that changed a file, the newest first; at most some dozens."""
    real = path.resolve()
    if not real.is_relative_to(repository.root):
        return ()
    listed = git.answer(
        repository.root,
        "rev-list",
        f"--max-count={_MOST_COMMITS}",
        "HEAD",
        "--",
        str(real.relative_to(repository.root)),
    )
    return tuple((listed or "").split())
