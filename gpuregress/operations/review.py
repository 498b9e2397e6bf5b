"""What a run left to be decided, one case after another, and the rejecting of what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gpuregress.baselines import BaselineStore
from gpuregress.errors import BaselineError, NothingToDo, UsageError
from gpuregress.judging import rejections
from gpuregress.judging.accepted import nearest
from gpuregress.judging.rejections import Rejection
from gpuregress.operations import accept
from gpuregress.project import Project
from gpuregress.records import Verdict
from gpuregress.session.runs import cut_short, results
from gpuregress.session.runs.results import FinishedCase


@dataclass(frozen=True, slots=True)
class Pending:
    """What is to be decided: the run, and the verdicts that differ or are new, in the run's order."""

    run: str
    verdicts: tuple[Verdict, ...]


def pending(project: Project, selectors: Sequence[str] = (), *, run: str | None = None) -> Pending:
    """The cases of a run that differ or are new and that nobody has accepted or rejected since.

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
    ran = results.read_cases(folder)
    entries = accept.selected(results.document(folder)["cases"], ran, selectors)
    rejected, store = rejections.known(project.runs), BaselineStore(project.baselines)
    found = []
    for entry in entries:
        one = ran.get(entry["case"])
        if entry["verdict"] not in ("differ", "new") or one is None or not accept.has_results(one):
            continue
        if not accept.is_rejected(one, rejected) and not _is_accepted(store, one):
            found.append(one.verdict)
    if not found:
        raise NothingToDo(f"run {folder.name} left nothing to decide")
    return Pending(folder.name, tuple(found))


def reject(
    project: Project, selectors: Sequence[str], *, run: str | None = None, why: str = ""
) -> tuple[Rejection, ...]:
    """Finds results of a run wrong: the baselines stay, and these bytes are not accepted any more.

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
    ran = results.read_cases(folder)
    entries = accept.selected(results.document(folder)["cases"], ran, selectors)
    new: list[Rejection] = []
    for entry in entries:
        one = ran.get(entry["case"])
        if one is not None and accept.has_results(one):
            new += _rejections(one.verdict, one, folder.name, why)
    if not new:
        said = "; ".join(f"{entry['case']}: {entry['verdict']}" for entry in entries[:4])
        raise BaselineError(f"there is nothing to reject: no such case of run {folder.name} differs or is new ({said})")
    rejections.add(project.runs, new)
    return tuple(new)


def take_back(project: Project, selectors: Sequence[str]) -> tuple[Rejection, ...]:
    """Takes rejections back.

    Args:
        project: whose.
        selectors: case or job names.

    Raises:
        UsageError: no rejection of such a case.
        StorageError: no space, no permission.
    """
    there = dict.fromkeys(rejection.case for rejection in rejections.load(project.runs))
    meant: set[str] = set()
    for selector in selectors:
        cases = [case for case in there if selector in (case, case.partition("/")[0])]
        if not cases:
            raise UsageError(f"{selector} is not rejected; these are: {', '.join(there) or 'none'}")
        meant.update(cases)
    return rejections.forget(project.runs, meant)


def _rejections(verdict: Verdict, one: FinishedCase, run: str, why: str) -> Iterator[Rejection]:
    digests = {dump.buffer: dump.digest for dump in one.outcome.dumps}
    when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    for buffer in verdict.buffers:
        if buffer.status in ("differ", "new") and buffer.name in digests:
            revision, who = one.case.revision, accept.who()
            yield Rejection(verdict.case, buffer.name, digests[buffer.name], revision, run, when, who, why)


def _is_accepted(store: BaselineStore, one: FinishedCase) -> bool:
    """Whether a baseline with these very bytes is there by now."""
    device = one.outcome.device.name.partition(":")[0] if one.outcome.device is not None else ""
    try:
        accepted = store.load(one.case.name, nearest(one.case, device))
    except BaselineError:
        return False
    held = {name: dump.digest for name, dump in accepted.dumps.items()} if accepted else {}
    return all(held.get(dump.buffer) == dump.digest for dump in one.outcome.dumps)
