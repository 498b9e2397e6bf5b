"""Acceptance, review and rejection of the results of a run."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import BaselineError, Interrupted, NothingToDo, StorageError, UsageError
from gpuregress.foundation.records import Verdict
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record
from gpuregress.judge import case_comparisons, rejections, write_coverage
from gpuregress.judge.accepted import nearest
from gpuregress.judge.rejections import Rejection
from gpuregress.session import missing_cases
from gpuregress.session.runs import cut_short, results, run_folders
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store.baselines import AcceptBatch, Acceptor, BaselineStore
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project

_MOST_NAMED = 8


def select_cases(
    verdicts: Sequence[Verdict], finished: Mapping[str, FinishedCase], selectors: Sequence[str]
) -> tuple[Verdict, ...]:
    """The verdicts of the selected cases; all where there are no selectors.

    Args:
        finished: its cases that ran, by name.
        selectors: job names, case names, job files or globs.

    Raises:
        UsageError: a selector that no case of the run matches.
    """
    if not selectors:
        return tuple(verdicts)
    selected: dict[str, Verdict] = {}
    for selector in selectors:
        is_known = False
        for verdict in verdicts:
            if _matches(verdict, finished.get(verdict.case), selector):
                selected[verdict.case] = verdict
                is_known = True
        if not is_known:
            names = ", ".join(verdict.case for verdict in verdicts[:_MOST_NAMED]) or "none"
            raise UsageError(f"no case of that run is called {selector!r}; it ran: {names}")
    return tuple(selected.values())


def _matches(verdict: Verdict, finished: FinishedCase | None, selector: str) -> bool:
    if selector in (verdict.case, verdict.job) or fnmatchcase(verdict.case, selector):
        return True
    return finished is not None and Path(selector).absolute() == Path(finished.case.path)


COMMON = "common"
"""Accept for every architecture and device."""

BATCH = 256
"""Cases that reach the disk together."""

_OTHER_SCHEDULE = "it ran with --schedule {}: a baseline has the results of the usual order; run it without the option"
_OVERRIDDEN = "{} has a value of --set that its job does not have; write it into `parameters` of the job to accept it"
_UNDO = "`gpuregress reject --undo CASE` takes that back"


class AcceptedCase(Record):
    """A case whose dumps became the baseline.

    Attributes:
        case: its name.
        revision: now accepted.
        before: that of the baseline before, "" if there was none.
        buffers: what was accepted.
        kind: the architecture or device whose baseline it is, "" for the common one.
        remarks: elements that were never written or are NaN, one line each.
    """

    case: str
    revision: str
    before: str
    buffers: tuple[str, ...]
    kind: str = ""
    remarks: tuple[str, ...] = ()


class RefusedCase(Record):
    """A case that was not accepted, and why."""

    case: str
    reason: str


class AcceptResult(Record):
    """The result of an accept.

    Attributes:
        run: the run's name.
        accepted: the new baselines.
        refused: the cases that cannot be accepted.
        left: the cases that were rejected before and not named now.
    """

    run: str
    accepted: tuple[AcceptedCase, ...]
    refused: tuple[RefusedCase, ...]
    left: tuple[RefusedCase, ...] = ()


class Terms(Record):
    """The terms of an accept.

    Attributes:
        why: recorded with it.
        kind: an architecture or device to accept for, or `common`; None: the baseline that the run was compared with.
        unwritten_ok: why an output of which nothing was written is right; "" refuses one.
    """

    why: str = ""
    kind: str | None = None
    unwritten_ok: str = ""


DEFAULT_TERMS = Terms()


class _Candidates(Record):
    """The selected cases of a run: acceptable, refused, or rejected before."""

    acceptable: tuple[FinishedCase, ...]
    refused: tuple[RefusedCase, ...]
    left: tuple[RefusedCase, ...]


def accept(
    project: Project,
    selectors: Sequence[str] = (),
    terms: Terms = DEFAULT_TERMS,
    *,
    run: str | None = None,
    new_only: bool = False,
    confirm: Callable[[Sequence[FinishedCase]], None] = lambda _differing: None,
    listen: Callable[[int, int], None] = lambda _done, _of: None,
) -> AcceptResult:
    """Make a run's dumps the baselines.

    Args:
        selectors: job names, case names, job files or globs; none: every case that differs or has no baseline.
        terms: why, for whom, and what is tolerated.
        run: the run's name; the last one where not given.
        new_only: only cases without a baseline.
        confirm: receives the cases that differ, where nobody named them; raises where they are not to be accepted.
        listen: receives the number of cases that are done, and of all.

    Raises:
        NothingToDo: nothing differs and nothing is new.
        BaselineError: all selected cases are refused.
        UsageError: a selector that no case of the run matches.
        StorageError: no space, no permission.
        RunLocked: another process is accepting.
        Interrupted: ^C, after some of the cases were accepted; the message has their number.
    """
    folder = cut_short.decidable_run(project.runs, run)
    candidates = _candidates(project, folder, selectors, new_only=new_only)
    differing = [candidate for candidate in candidates.acceptable if candidate.verdict.status == "differ"]
    if differing and not selectors and not new_only:
        confirm(differing)
    acceptance = _Acceptance(project, folder.name, terms, new_only=new_only)
    acceptance.accept_all(candidates.acceptable, listen)
    refused = (*candidates.refused, *acceptance.refused)
    is_of_use = bool(acceptance.accepted) or not (refused or candidates.left)
    is_listed = is_of_use and _expect(project, folder, [accepted_case.case for accepted_case in acceptance.accepted])
    if not acceptance.accepted:
        _nothing_accepted(folder, refused, candidates.left, is_listed=is_listed)
    return AcceptResult(folder.name, tuple(acceptance.accepted), refused, candidates.left)


def _expect(project: Project, folder: Path, accepted: Collection[str]) -> bool:
    """Let nights expect the accepted cases, and of the newest run all that ran; return whether that is new."""
    is_newest = folder == run_names.latest(project.runs)
    ran = []
    for name, candidate in results.read_cases(folder).items():
        is_of_job = not (candidate.verdict.infeasible or candidate.case.settings.overridden)
        if is_of_job and (is_newest or name in accepted):
            ran.append(candidate.case)
    if not ran:
        return False
    return missing_cases.accept(project, BaselineStore.of(project, project.runs / run_folders.ACCEPTING), ran)


def _candidates(project: Project, folder: Path, selectors: Sequence[str], *, new_only: bool) -> _Candidates:
    finished = results.read_cases(folder)
    acceptable: list[FinishedCase] = []
    refused: list[RefusedCase] = []
    rejected: list[RefusedCase] = []
    known = rejections.known(project.runs)
    store = BaselineStore.of(project)
    for verdict in select_cases(results.read_verdicts(folder), finished, selectors):
        candidate = finished.get(verdict.case)
        if candidate is None or not candidate.has_dumps:
            if verdict.status not in ("pass", "skip"):  # neither meant to fail, nor left out
                refused.append(RefusedCase(verdict.case, f"it ended with {verdict.headline}"))
        elif verdict.known is not None and not selectors:
            rejected.append(RefusedCase(verdict.case, f"is {verdict.reason}; name it to accept it"))
        elif new_only and _has_baseline(store, candidate):
            continue
        elif selectors or new_only or verdict.status != "pass" or not verdict.baseline_revision:
            if rejection := rejection_of(candidate, known):
                rejected.append(RefusedCase(verdict.case, f"it was {rejection}; {_UNDO}"))
            elif candidate.case.settings.overridden:
                names = ", ".join(candidate.case.settings.overridden)
                refused.append(RefusedCase(verdict.case, _OVERRIDDEN.format(names)))
            elif schedule := candidate.outcome.observations.schedule:
                refused.append(RefusedCase(verdict.case, _OTHER_SCHEDULE.format(schedule)))
            else:
                acceptable.append(candidate)
    if selectors:
        return _Candidates(tuple(acceptable), (*refused, *rejected), ())
    return _Candidates(tuple(acceptable), tuple(refused), tuple(rejected))


def _has_baseline(store: BaselineStore, candidate: FinishedCase) -> bool:
    """Tell whether a case had a baseline in its run, or has one since then."""
    if candidate.verdict.baseline_revision:
        return True
    try:
        return store.load(candidate.case.name, nearest(candidate.case, candidate.device_kind)) is not None
    except BaselineError:  # a damaged one
        return True


def rejection_of(candidate: FinishedCase, rejected: Mapping[tuple[str, str, str], str]) -> str:
    """Who rejected a case's results, when and why, in words; "" where nobody did."""
    for dump in candidate.outcome.dumps:
        rejection = rejected.get((candidate.case.name, dump.buffer, dump.digest), "")
        if rejection:
            return rejection
    return ""


class _Acceptance:
    """The accepting of a run's cases; those of a batch reach the disk together."""

    def __init__(self, project: Project, run: str, terms: Terms, *, new_only: bool = False) -> None:
        self._store = BaselineStore.of(project, project.runs / run_folders.ACCEPTING)
        self._who = user_name(project.root)
        self._run = run
        self._terms = terms
        self._new_only = new_only
        self._uncommitted: list[AcceptedCase] = []
        self.accepted: list[AcceptedCase] = []
        self.refused: list[RefusedCase] = []

    def accept_all(self, cases: Sequence[FinishedCase], listen: Callable[[int, int], None]) -> None:
        try:
            with self._store.accepting() as batch:
                for number, candidate in enumerate(cases, 1):
                    # Only under the lock does nobody else accept.
                    if not (self._new_only and _has_baseline(self._store, candidate)):
                        try:
                            self._uncommitted.append(self._stage(batch, candidate))
                        except BaselineError as error:
                            self.refused.append(RefusedCase(candidate.case.name, str(error)))
                    # Flushing each case by itself would take minutes for 10,000 cases.
                    if len(batch) >= BATCH or number == len(cases):
                        batch.commit()
                        self.accepted += self._uncommitted
                        self._uncommitted.clear()
                        listen(number, len(cases))
        except StorageError as error:
            if done := self._progress(len(cases)):
                raise StorageError(f"{error}; {done}") from error
            raise
        except KeyboardInterrupt:
            if done := self._progress(len(cases)):
                raise Interrupted(f"interrupted; {done}") from None
            raise

    def _progress(self, count: int) -> str:
        """The cases that are accepted although the others failed, in words; "" where there are none."""
        names = [accepted_case.case for accepted_case in self.accepted]
        names += [accepted_case.case for accepted_case in self._uncommitted if self._is_committed(accepted_case)]
        if not names:
            return ""
        done = f"{len(names)} of {count} cases"
        return f"{first_names(names, 1)} had been accepted before that ({done}), the rest is as it was"

    def _is_committed(self, accepted_case: AcceptedCase) -> bool:
        """Whether a case of a batch that was cut off has its new baseline."""
        try:
            history = self._store.histories(accepted_case.case).get(accepted_case.kind, ())
        except BaselineError:
            return False
        return bool(history) and history[-1].run == self._run

    def _stage(self, batch: AcceptBatch, candidate: FinishedCase) -> AcceptedCase:
        empty = write_coverage.empty(candidate.outcome)
        if empty and not self._terms.unwritten_ok:
            raise BaselineError(
                f"nothing of {', '.join(empty)} was written: it still holds the poison that outputs are filled with; "
                "where that is right, say why: --unwritten-ok REASON"
            )
        compare = candidate.case.compare
        watched = [name for name in compare if case_comparisons.has_tolerance(compare[name])]
        anew = [name for name in _buffers_that_differ(candidate.verdict) if name in watched]
        kind = self._kind(candidate)
        acceptor = Acceptor(self._who, self._terms.why, self._run, self._terms.unwritten_ok if empty else "")
        batch.add(candidate.case, candidate.outcome, candidate.made_of, acceptor, drift=watched, anew=anew, arch=kind)
        return AcceptedCase(
            case=candidate.case.name,
            revision=candidate.case.revision,
            before=candidate.verdict.baseline_revision,
            buffers=tuple(dump.buffer for dump in candidate.outcome.dumps),
            kind=kind,
            remarks=write_coverage.remarks(candidate.case, candidate.outcome),
        )

    def _kind(self, candidate: FinishedCase) -> str:
        """The architecture or device whose baseline changes: the named one, else the nearest one that exists."""
        wanted = self._terms.kind
        if wanted == COMMON:
            return ""
        own = nearest(candidate.case, candidate.device_kind)
        if wanted is None:
            existing = self._store.kinds(candidate.case.name)
            for kind in own:
                if kind in existing:
                    return kind
            return ""
        if wanted not in own:
            device = candidate.device_kind or "no device"
            raise BaselineError(f"it ran on {device}, compiled for {own[-1]}: it says nothing of {wanted}")
        return wanted


def _buffers_that_differ(verdict: Verdict) -> Iterator[str]:
    """The buffers that differ from their baseline, as the user saw: accepting them is a new beginning."""
    for buffer in verdict.buffers:
        if any(compared.against in ("baseline", "first") and not compared.same for compared in buffer.comparisons):
            yield buffer.name


def _nothing_accepted(
    folder: Path, refused: Sequence[RefusedCase], left: Sequence[RefusedCase], *, is_listed: bool
) -> None:
    if not refused and left:
        but = "what was rejected or is known to fail"
        raise NothingToDo(f"run {folder.name} left nothing to accept but {but}: {left[0].case} {left[0].reason}")
    if not refused:
        message = f"run {folder.name} left nothing to accept: every case it ran is as its baseline"
        if is_listed:
            message += "; nightly runs expect its cases from now on (baselines/cases.yaml)"
        raise NothingToDo(message)
    first = refused[0]
    if len(refused) == 1:
        raise BaselineError(f"{first.case} is not accepted: {first.reason}")
    raise BaselineError(f"none of {len(refused)} cases is accepted; {first.case}: {first.reason}")


def obsolete(project: Project, present: Sequence[str]) -> tuple[str, ...]:
    """The baselines whose case is gone.

    Args:
        present: every case of every job.
    """
    cases = set(present)
    return tuple(name for name in BaselineStore.of(project).case_names() if name not in cases)


def user_name(root: Path) -> str:
    """The user's name as git has it for the project's commits, else of the login; "" where neither is known."""
    name = git.answer(root, "config", "user.name")
    if name is not None and name.strip():
        return git.legible(name).strip()
    try:
        return git.legible(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return ""


class Pending(Record):
    """The undecided cases of a run: the verdicts that differ or are new, in the run's order."""

    run: str
    verdicts: tuple[Verdict, ...]


def pending(project: Project, selectors: Sequence[str] = (), *, run: str | None = None) -> Pending:
    """Find the cases of a run that differ or are new and that nobody has accepted or rejected since.

    Args:
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
    rejected = rejections.known(project.runs)
    store = BaselineStore.of(project)
    undecided = []
    for verdict in selected:
        candidate = finished.get(verdict.case)
        if verdict.status not in ("differ", "new") or candidate is None or not candidate.has_dumps:
            continue
        if verdict.overridden:  # it cannot be accepted
            continue
        if not rejection_of(candidate, rejected) and not _is_accepted(store, candidate):
            undecided.append(verdict)
    if not undecided:
        raise NothingToDo(f"run {folder.name} left nothing to decide")
    return Pending(folder.name, tuple(undecided))


def reject(
    project: Project, selectors: Sequence[str], *, run: str | None = None, why: str = ""
) -> tuple[Rejection, ...]:
    """Reject results of a run: the baselines stay, and these bytes are not accepted any more.

    Args:
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
    who = user_name(project.root)
    new: list[Rejection] = []
    for verdict in selected:
        candidate = finished.get(verdict.case)
        if candidate is not None and candidate.has_dumps:
            new += _rejections(candidate, folder.name, why, who)
    if not new:
        states = "; ".join(f"{verdict.case}: {verdict.status}" for verdict in selected[:4])
        raise BaselineError(
            f"there is nothing to reject: no such case of run {folder.name} differs or is new ({states})"
        )
    rejections.add(project.runs, new)
    return tuple(new)


def take_back(project: Project, selectors: Sequence[str]) -> tuple[Rejection, ...]:
    """Take rejections back.

    Args:
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


def _rejections(candidate: FinishedCase, run: str, why: str, who: str) -> Iterator[Rejection]:
    digests = {dump.buffer: dump.digest for dump in candidate.outcome.dumps}
    when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    for buffer in candidate.verdict.buffers:
        if buffer.status in ("differ", "new") and buffer.name in digests:
            yield Rejection(
                case=candidate.case.name,
                buffer=buffer.name,
                digest=digests[buffer.name],
                revision=candidate.case.revision,
                run=run,
                when=when,
                who=who,
                why=why,
            )


def _is_accepted(store: BaselineStore, candidate: FinishedCase) -> bool:
    """Whether a baseline with these very bytes exists by now."""
    try:
        accepted = store.load(candidate.case.name, nearest(candidate.case, candidate.device_kind))
    except BaselineError:
        return False
    if accepted is None:
        return False
    digests = {name: dump.digest for name, dump in accepted.dumps.items()}
    return all(digests.get(dump.buffer) == dump.digest for dump in candidate.outcome.dumps)
