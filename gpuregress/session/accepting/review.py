"""Review of a run: its undecided cases, and the rejection of wrong results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from gpuregress.foundation.errors import BaselineError, NothingToDo, UsageError
from gpuregress.foundation.records import Verdict
from gpuregress.gpu.records import Record
from gpuregress.judge import rejections
from gpuregress.judge.accepted import nearest
from gpuregress.judge.rejections import Rejection
from gpuregress.session.accepting import accept
from gpuregress.session.accepting.case_selection import select_cases
from gpuregress.session.runs import cut_short, results
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.project import Project


class Pending(Record):
    """The undecided cases of a run: the verdicts that differ or are new, in the run's order."""

    run: str
    verdicts: tuple[Verdict, ...]


def pending(project: Project, selectors: Sequence[str] = (), *, run: str | None = None) -> Pending:
    """Find the cases of a run that differ or are new and that nobody has accepted or rejected since.

    Args:
        project: whose.
        selectors: job names, case names, job files or globs; none: all.
        run: the run's name; the last one where not given.

    Raises:
        NothingToDo: there is nothing to decide.
        UsageError: a selector that no case of the run matches.
        StorageError: the run did not end, or its files were edited.
    """
    folder = cut_short.decidable_run(project.runs, run)
    finished = results.read_cases(folder)
    selected = select_cases(results.read_verdicts(folder), finished, selectors)
    rejected, store = rejections.known(project.runs), BaselineStore.of(project)
    undecided = tuple(
        verdict
        for verdict in selected
        if verdict.status in ("differ", "new")
        and (one := finished.get(verdict.case)) is not None
        and one.has_dumps
        and not accept.rejection_of(one, rejected)
        and not _is_accepted(store, one)
    )
    if not undecided:
        raise NothingToDo(f"run {folder.name} left nothing to decide")
    return Pending(folder.name, undecided)


def reject(
    project: Project, selectors: Sequence[str], *, run: str | None = None, why: str = ""
) -> tuple[Rejection, ...]:
    """Reject results of a run: the baselines stay, and these bytes are not accepted any more.

    Args:
        project: whose.
        selectors: job names, case names, job files or globs.
        run: the run's name; the last one where not given.
        why: recorded with it.

    Returns:
        One for each buffer.

    Raises:
        UsageError: a selector that no case of the run matches.
        BaselineError: no case that is meant has results that differ or are new.
        StorageError: no space, no permission.
    """
    folder = cut_short.decidable_run(project.runs, run)
    finished = results.read_cases(folder)
    selected = select_cases(results.read_verdicts(folder), finished, selectors)
    cases = [finished[one.case] for one in selected if one.case in finished]
    new = [rejection for case in cases if case.has_dumps for rejection in _rejections(case, folder.name, why)]
    if not new:
        states = "; ".join(f"{one.case}: {one.status}" for one in selected[:4])
        raise BaselineError(
            f"there is nothing to reject: no such case of run {folder.name} differs or is new ({states})"
        )
    rejections.add(project.runs, new)
    return tuple(new)


def take_back(project: Project, selectors: Sequence[str]) -> tuple[Rejection, ...]:
    """Take rejections back.

    Args:
        project: whose.
        selectors: case or job names.

    Raises:
        UsageError: no rejection of such a case.
        StorageError: no space, no permission.
    """
    rejected = dict.fromkeys(rejection.case for rejection in rejections.load(project.runs))
    selected: set[str] = set()
    for selector in selectors:
        cases = [case for case in rejected if selector in (case, case.partition("/")[0])]
        if not cases:
            raise UsageError(f"{selector} is not rejected; these are: {', '.join(rejected) or 'none'}")
        selected.update(cases)
    return rejections.forget(project.runs, selected)


def _rejections(one: FinishedCase, run: str, why: str) -> Iterator[Rejection]:
    digests = {dump.buffer: dump.digest for dump in one.outcome.dumps}
    when, who = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", accept.user_name()
    for buffer in one.verdict.buffers:
        if buffer.status in ("differ", "new") and buffer.name in digests:
            yield Rejection(one.case.name, buffer.name, digests[buffer.name], one.case.revision, run, when, who, why)


def _is_accepted(store: BaselineStore, one: FinishedCase) -> bool:
    """Whether a baseline with these very bytes exists by now."""
    try:
        accepted = store.load(one.case.name, nearest(one.case, one.device_kind))
    except BaselineError:
        return False
    held = {name: dump.digest for name, dump in accepted.dumps.items()} if accepted else {}
    return all(held.get(dump.buffer) == dump.digest for dump in one.outcome.dumps)
