"""Bisection of a project's commits: the first one whose result is not that of a good one.

The order of the commits, merges included, is that of `git bisect`. Each commit is checked out in a scratch folder, run
once, and judged by its job's rules against the result of the good commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gpuregress.foundation.errors import GpuregressError, Interrupted, NothingToDo, UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import NightFailure, RunSummary, Verdict
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import commit_runs
from gpuregress.lab.revisions.commit_runs import CommitRuns, CommitUnusable
from gpuregress.report import case_lines, morning
from gpuregress.session import accepting, repository
from gpuregress.session.repository import Commit, Repository
from gpuregress.store.project import Project

State = Literal["good", "bad", "skip"]
Measure = Literal["result", "instructions"]
"""What makes a commit bad: its result differs, or it executes more instructions on the CPU device."""
_BAD = ("differ", "fault", "timeout")
_TERMS = accepting.Terms(why="bisect: the good commit", unwritten_ok="bisect")
_MOST_STEPS_ASIDE = 3


class TestedCommit(Record):
    """A commit that was run.

    Attributes:
        commit: the commit.
        state: `skip`: it cannot be judged.
        reason: why, one line; "" for a good one.
        seconds: for checkout, compilation and run.
        verdicts: against the result of the good commit; none where it cannot be judged.
    """

    commit: Commit
    state: State
    reason: str
    seconds: float
    verdicts: tuple[Verdict, ...] = ()


class Bisection(Record):
    """The result of a bisection.

    Attributes:
        cases: that were compared.
        good: the commit whose result counts as right.
        bad: the commit whose result differs.
        first_bad: the first commit whose result differs; the first known one where commits before it were skipped.
        possible: skipped commits that may be the first bad one; none: it is found.
        changed: the files that `first_bad` changed.
        verdicts: of the cases that `first_bad` breaks.
        tested: every commit that was run, in that order.
        notes: on the job that was used, and on files that are missing.
    """

    cases: tuple[str, ...]
    good: Commit
    bad: Commit
    first_bad: Commit
    possible: tuple[Commit, ...]
    changed: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    tested: tuple[TestedCommit, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where the commit is found, 1 where it may be one of several."""
        return 1 if self.possible else 0


def bisect(
    project: Project,
    selector: str,
    good: str,
    bad: str,
    *,
    this_job: bool = False,
    by: Measure = "result",
    options: RunOptions | None = None,
    listen: Callable[[TestedCommit], None] = lambda _tested: None,
) -> Bisection:
    """Find the first commit whose result is not that of a good one.

    Args:
        project: whose work tree names the cases.
        selector: a case, a job or a glob; a commit is bad if one of the cases is.
        good: a commit whose result is right.
        bad: a commit whose result is not.
        this_job: run every commit with the job of the work tree, not with its own.
        by: what makes a commit bad.
        options: of the runs.
        listen: receives each commit that was run.

    Raises:
        UsageError: no such commit or case; `good` is not good, or cannot be run.
        NothingToDo: the result of `bad` is that of `good`.
        Interrupted: the user asked to stop.
        GpuregressError: the errors of `session.run`.
    """
    found = repository.require(project.root)
    good_commit = found.commit(_hash(found, project, good))
    goal = _Commits(found, good_commit, found.commit(_hash(found, project, bad)))
    cases = plan.make(project, [selector]).cases
    with StopSignal() as stop, commit_runs.opened(found, project, options or RunOptions()) as runs:
        agree = any(case.settings.agree for case in cases)
        search = _Search(
            runs=runs,
            goal=goal,
            stop=stop,
            listen=listen,
            names=tuple(case.name for case in cases),
            agree=agree,
            by=by,
        )
        jobs = {case.job for case in cases}
        if this_job or not search.have_cases(jobs):
            runs.borrowed = commit_runs.borrowed_files(found, cases)
            search.notes.append(_job_note(project, cases[0].path, this_job=this_job))
        return search.run()


class _Commits(Record):
    """The commits between which the first bad one is searched."""

    repository: Repository
    good: Commit
    bad: Commit


@dataclass(slots=True)
class _Search:
    """The state of a search: what was tested, and the result of the good commit.

    `agree` tells that cases are also compared with each other.
    """

    runs: CommitRuns
    goal: _Commits
    stop: StopSignal
    listen: Callable[[TestedCommit], None]
    names: tuple[str, ...]
    agree: bool
    by: Measure
    notes: list[str] = field(default_factory=list)
    tested: list[TestedCommit] = field(default_factory=list)
    accepted: Path | None = None

    def have_cases(self, jobs: Iterable[str]) -> bool:
        """Whether both ends have all of the cases."""
        jobs = set(jobs)
        names = set(self.names)
        return all(names <= self.runs.case_names(end.hash, jobs) for end in (self.goal.good, self.goal.bad))

    def run(self) -> Bisection:
        self._accept_good()
        bad = self._test(self.goal.bad.hash)
        if bad.state != "bad":
            _refuse_bad_end(bad, self.goal, self.by)
        if not self.agree:  # cases that must agree with others are not judged without them
            self.names = tuple(verdict.case for verdict in bad.verdicts if _bad_reason(verdict, self.by))
        goods = self._start()
        first, possible = self._halve(goods)
        tested = next(entry for entry in self.tested if entry.commit.hash == first)
        return Bisection(
            cases=self.names,
            good=self.goal.good,
            bad=self.goal.bad,
            first_bad=tested.commit,
            possible=tuple(self.goal.repository.commit(name) for name in possible),
            changed=self.goal.repository.changed_files(first),
            verdicts=tuple(verdict for verdict in tested.verdicts if _bad_reason(verdict, self.by)),
            tested=tuple(self.tested),
            notes=(*self.notes, *self.runs.notes),
        )

    def _accept_good(self) -> None:
        """Run the good commit; its result is what the others are compared with."""
        commit = self.goal.good
        start = time.perf_counter()
        try:
            summary = self.runs.run(commit.hash, self.names)
        except CommitUnusable as error:
            raise UsageError(f"the good commit {commit} cannot be run: {error}") from None
        # The other commits are compared with its counts; there are none that these could be compared with.
        verdicts = [replace(verdict, timing=None) for verdict in summary.verdicts]
        state, reason = _judged(verdicts, self.by)
        if state == "skip" and self.by == "instructions":
            raise UsageError(f"the good commit {commit} cannot be compared with: {self.runs.readable(reason)}")
        if state != "good":
            raise UsageError(f"the good commit {commit} is not good: {self.runs.readable(reason)}")
        self.names = tuple(verdict.case for verdict in summary.verdicts if verdict.status != "skip")
        self.accepted = _accept(summary)
        self._add(TestedCommit(commit, "good", "", time.perf_counter() - start, summary.verdicts))

    def _start(self) -> list[str]:
        """Return the commits that are known to be good: of ends on different branches, also their base."""
        repository, good, bad = self.goal.repository, self.goal.good.hash, self.goal.bad.hash
        if repository.is_ancestor(good, bad):
            return [good]
        if repository.is_ancestor(bad, good):
            raise UsageError(f"{self.goal.bad.short} comes before {self.goal.good.short}: name the good commit first")
        bases = repository.merge_bases(good, bad)
        if not bases:
            raise UsageError(f"{self.goal.good.short} and {self.goal.bad.short} have no history in common")
        for base in bases:
            if self._test(base).state == "bad":
                raise UsageError(
                    f"the result differs already at {repository.commit(base)}, from which both branches start: "
                    f"something after it made {self.goal.good.short} good, which a bisection cannot find"
                )
        return [good, *(base for base in bases if self._state(base) == "good")]

    def _halve(self, goods: list[str]) -> tuple[str, tuple[str, ...]]:
        """Test the commits that halve the rest; return the first bad one, and the skipped ones that may be it."""
        first = self.goal.bad.hash
        skips = 0
        while True:
            between = self.goal.repository.between(goods, first)
            untested = [commit for commit in between if commit != first and self._state(commit) is None]
            if not untested:
                return first, tuple(commit for commit in between if self._state(commit) == "skip")
            # After a commit that cannot be judged, one further away: its neighbours seldom compile either.
            position = len(untested) * min(skips, _MOST_STEPS_ASIDE) // (_MOST_STEPS_ASIDE + 2)
            tested = self._test(untested[position])
            skips = skips + 1 if tested.state == "skip" else 0
            if tested.state == "bad":
                first = tested.commit.hash
            elif tested.state == "good":
                goods.append(tested.commit.hash)

    def _state(self, commit: str) -> State | None:
        for entry in self.tested:
            if entry.commit.hash == commit:
                return entry.state
        return None

    def _test(self, name: str) -> TestedCommit:
        """Run a commit, once."""
        self.stop.check()
        commit = self.goal.repository.commit(name)
        start = time.perf_counter()
        verdicts: tuple[Verdict, ...] = ()
        try:
            summary = self.runs.run(name, self.names, self.accepted)
            verdicts = tuple(self._readable(verdict) for verdict in summary.verdicts)
            state, reason = _judged(verdicts, self.by)
        except CommitUnusable as error:
            state = "skip"
            reason = str(error).partition("\n")[0]
        return self._add(TestedCommit(commit, state, reason, time.perf_counter() - start, verdicts))

    def _add(self, tested: TestedCommit) -> TestedCommit:
        self.tested.append(tested)
        self.listen(tested)
        return tested

    def _readable(self, verdict: Verdict) -> Verdict:
        """The verdict without paths of the scratch folder, which is gone when it is read."""
        return replace(
            verdict,
            reason=self.runs.readable(verdict.reason),
            notes=tuple(self.runs.readable(note) for note in verdict.notes),
            buffers=tuple(replace(buffer, dump="", baseline="") for buffer in verdict.buffers),
        )


def _judged(verdicts: Sequence[Verdict], by: Measure) -> tuple[State, str]:
    """The state of a commit: bad if one case is; it cannot be judged if one is an error, or all were skipped."""
    for verdict in verdicts:
        reason = _bad_reason(verdict, by)
        if reason:
            return "bad", reason
    for verdict in verdicts:
        reason = _unknown_reason(verdict, by)
        if reason:
            return "skip", reason
    if verdicts and all(verdict.status == "skip" for verdict in verdicts):
        return "skip", _status_line(verdicts[0])
    return "good", ""


def _bad_reason(verdict: Verdict, by: Measure) -> str:
    """Why a case makes its commit bad; "" if it does not."""
    if by == "instructions":
        timing = verdict.timing
        if timing is not None and timing.measure == "instructions" and timing.status == "slower":
            return f"{verdict.case}: {timing.message}"
        return ""
    if verdict.status in _BAD:
        return _status_line(verdict)
    return ""


def _unknown_reason(verdict: Verdict, by: Measure) -> str:
    """Why a case cannot be judged: it was not run to its end, or its instructions cannot be compared; "" if it can."""
    if verdict.status == "error":
        return _status_line(verdict)
    if by == "result" or verdict.status == "skip":
        return ""
    if verdict.status in ("fault", "timeout"):
        return _status_line(verdict)
    if verdict.timing is not None and verdict.timing.status == "unclear":
        return f"{verdict.case}: {verdict.timing.message}"
    if verdict.outcome is None or not verdict.outcome.observations.instruments.instructions:
        return f"{verdict.case}: its instructions are not counted"
    return ""


def _status_line(verdict: Verdict) -> str:
    return f"{verdict.status} {verdict.case}: {verdict.reason}"


def _accept(summary: RunSummary) -> Path:
    """Make the results of a run baselines in the scratch folder; return the folder of baselines."""
    runs = Path(summary.folder).parent
    folder = runs.with_name("good-baselines")
    there = Project(runs.parent, runs.parent, folder, runs)
    if any(verdict.outcome is not None and verdict.outcome.dumps for verdict in summary.verdicts):
        accepting.accept(there, terms=_TERMS)
    return folder


def _hash(repository_: Repository, project: Project, word: str) -> str:
    found = repository_.resolve(word)
    if found is None:
        raise UsageError(f"{repository.why_unknown(project, word)} (in {repository_.root})")
    return found


def _refuse_bad_end(tested: TestedCommit, goal: _Commits, by: Measure) -> None:
    """Raise the error of a bad end that is not bad."""
    if tested.state == "skip":
        what = "cannot be compared with the good one" if by == "instructions" else "cannot be judged"
        raise UsageError(f"the bad commit {tested.commit} {what}: {tested.reason}")
    if by == "instructions":
        raise NothingToDo(
            f"{goal.bad} executes no more instructions than {goal.good}: no commit between them is to blame"
        )
    raise NothingToDo(f"the result of {goal.bad} is that of {goal.good}: there is no bad commit between them")


def _job_note(project: Project, path: str, *, this_job: bool) -> str:
    job = path.removeprefix(f"{project.root}/")
    why = "" if this_job else "not both ends have this case: "
    return f"{why}every commit is run with {job} as it is now in the work tree"


# --- culprits of a night ----------------------------------------------------------------------------------------------
# For each cause of new failures, the commit that a bisection finds.


MOST_CAUSES = 5


class _TimeIsOver(Exception):
    """The budget of all bisections is used up."""


def culprits(project: Project, summary: RunSummary, minutes: int) -> Iterator[str]:
    """Bisect one case of each cause of new failures, at most some causes; describe each in a line.

    Args:
        project: of the night.
        summary: the night.
        minutes: for all bisections together.

    Raises:
        Interrupted: the user asked to stop.
    """
    if summary.changes is None:
        return
    until = time.monotonic() + 60 * minutes
    causes = morning.by_cause(summary.changes.new)
    for failure, *_ in causes[:MOST_CAUSES]:
        yield f"culprit of {failure.case}: {_culprit(project, summary, failure, until)}"
    if len(causes) > MOST_CAUSES:
        yield f"{plural(len(causes) - MOST_CAUSES, 'more cause')} not bisected: at most {MOST_CAUSES} are"


def _culprit(project: Project, summary: RunSummary, failure: NightFailure, until: float) -> str:
    """The commit to blame for a failure, or why it is not known."""
    suspects = failure.suspects
    if suspects is None:
        return "not searched: no commit is known where it passed"
    if suspects.gone:
        return f"not searched: {suspects.good[:7]} or {suspects.bad[:7]} is gone from git"
    if suspects.unknown:
        return f"not searched: {suspects.unknown}"
    if not suspects.commits and suspects.lacking:
        return f"not searched: {suspects.good[:7]} is not in the history of {suspects.bad[:7]}"
    if not suspects.commits:
        return f"not searched: no commit since {suspects.good[:7]}"

    def listen(_tested: TestedCommit) -> None:
        if time.monotonic() > until:
            raise _TimeIsOver

    case, device = case_lines.parts(failure.case)
    options = RunOptions(device or summary.device.partition(":")[0])
    start = time.monotonic()
    if start > until:
        return "not searched: the time is over"
    try:
        found = bisect(project, case, suspects.good, suspects.bad, options=options, listen=listen)
    except _TimeIsOver:
        return "not found: the time is over"
    except Interrupted:
        raise
    except GpuregressError as error:
        return f"not found: {error}"
    return f"{_commit(found)}, {time.monotonic() - start:.1f} s"


def _commit(found: Bisection) -> str:
    culprit = found.first_bad
    text = f"{culprit.short} {culprit.subject} ({culprit.author}), after {plural(len(found.tested), 'commit')}"
    if found.possible:
        text = f"{text}; or one of {plural(len(found.possible), 'commit')} before it that cannot be run"
    return text
