"""Sides of a comparison of two revisions: kept dumps, a git commit that is run, or the work tree."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome, Verdict
from gpuregress.foundation.storage import find_dump
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import commit_runs
from gpuregress.lab.revisions.commit_runs import CommitRuns, CommitUnusable
from gpuregress.session import repository
from gpuregress.session.repository import Repository
from gpuregress.session.runs import results
from gpuregress.store import remote
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import run_names
from gpuregress.store.dumps.files import split_name
from gpuregress.store.project import Project

BASELINE = "baseline"
"""The word for what is accepted, whatever its revision is."""


def find_dumps(project: Project, case: Case, revision: str) -> dict[str, Path]:
    """Buffer → its dump of a revision: in the baselines, else in the newest run that has one.

    Args:
        project: whose baselines and runs.
        case: the case.
        revision: a label, or BASELINE.

    Raises:
        BaselineError: the baseline was cut short or edited.
        DumpError: a dump of a run was.
        StorageError: the journal of its run was.
    """
    if revision == BASELINE:
        return accepted(BaselineStore.of(project), case.name)
    dumps: dict[str, Path] = {}
    store = BaselineStore.of(project)
    kept = store.find(case.name, revision)
    if kept:
        store.load(case.name)  # verifies what is accepted
    for folder in _folders(project, case):
        for name in _buffers(case, folder):
            path = _find_dump(folder, name, revision)
            if name not in dumps and name not in kept and path is not None:
                results.verify_dump(path, case.name, project.runs)
                dumps[name] = path
    return {**dumps, **kept}


def accepted(store: BaselineStore, case: str) -> dict[str, Path]:
    """Buffer → its accepted dump.

    Raises:
        BaselineError: the baseline was cut short or edited.
    """
    baseline = store.load(case)
    if baseline is None:
        return {}
    return {name: remote.local(dump) for name, dump in baseline.dumps.items()}


def revisions(project: Project, case: Case) -> Iterator[str]:
    """The labels of all dumps of a case; one that has several is repeated."""
    for folder in (project.baselines.joinpath(*case.name.split("/")), *_folders(project, case)):
        if folder.is_dir():
            for path in folder.iterdir():
                named = split_name(path.name)
                if named and path.is_file() and named[0] in _buffers(case, folder):
                    yield named[1]


def _buffers(case: Case, folder: Path) -> Collection[str]:
    """The buffers whose dumps are looked for in a folder: of a program, those that have one there."""
    if case.program is None:
        return case.buffers
    named = [split_name(path.name) for path in folder.glob("*")]
    return tuple(dict.fromkeys(name[0] for name in named if name is not None))


def _folders(project: Project, case: Case) -> Iterator[Path]:
    for run in reversed(run_names.every(project.runs)):
        yield run.joinpath("dumps", *case.name.split("/"))


def _find_dump(folder: Path, buffer: str, revision: str) -> Path | None:
    try:
        path = find_dump(folder, buffer, revision)
        return path if path.is_file() else None
    except (OSError, ValueError):  # a word that is no file's name
        return None


WORK_TREE = "worktree"
"""The word for the files of the project as they are, committed or not."""


class SidesRequest(Record):
    """A request for the results of two revisions.

    Attributes:
        project: whose baselines, runs and work tree.
        cases: as planned in the work tree.
        this_job: run commits with the jobs of the work tree, not with their own.
        options: of the runs.
    """

    project: Project
    cases: Sequence[Case]
    this_job: bool
    options: RunOptions

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cases."""
        return tuple(case.name for case in self.cases)


class Side(Record):
    """The results of one revision.

    Attributes:
        word: as the user named it.
        kept: case → buffer → dump, for a revision whose dumps are kept.
        verdicts: case → the verdict on its run, for one that was run.
        is_kept: its dumps are kept.
        notes: for the user.
    """

    word: str
    kept: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    is_kept: bool = True
    notes: tuple[str, ...] = ()

    def dumps(self, case: str) -> Mapping[str, Path]:
        """Buffer → dump of a case; a reference's dump is none."""
        outcome = self.outcome(case)
        if outcome is not None and outcome.state == "done":
            return {dump.buffer: Path(dump.path) for dump in outcome.dumps}
        return self.kept.get(case, {})

    def outcome(self, case: str) -> Outcome | None:
        """The outcome of a case that was run; None for one that was not."""
        verdict = self.verdicts.get(case)
        if verdict is None:
            return None
        return verdict.outcome

    def failure(self, case: str) -> Verdict | None:
        """The verdict on a case that has no dumps although it was run."""
        verdict = self.verdicts.get(case)
        if verdict is None or verdict.status == "skip":
            return None
        outcome = verdict.outcome
        if outcome is not None and outcome.state == "done" and outcome.dumps:
            return None
        return verdict


@contextlib.contextmanager
def opened(request: SidesRequest, words: tuple[str, str]) -> Iterator[tuple[Side, Side]]:
    """Find or make the results of two revisions; what was made is gone when the block is over.

    A label whose dumps are kept comes before a git commit of that name.

    Args:
        request: of which cases.
        words: the revisions.

    Raises:
        UsageError: git takes a word for several commits; a commit that cannot be run.
        Interrupted: the user asked to stop.
        GpuregressError: the errors of `session.run`.
    """
    found = repository.find(request.project.root)
    sides: dict[str, Side] = {}
    commits: dict[str, str] = {}
    unknown: list[str] = []
    for word in dict.fromkeys(words):
        side = _kept(request, word, found)
        commit = _commit(word, found) if side is None else None
        if side is not None:
            sides[word] = side
        elif commit:
            commits[word] = commit
        elif word != WORK_TREE:
            unknown.append(word)
    with StopSignal() as stop, storage.scratch() as scratch, contextlib.ExitStack() as held:
        if unknown:  # nothing can be compared, so nothing is run
            for word in unknown:
                sides[word] = Side(word, notes=(_why_unknown(request, word, found),))
            first, second = [sides.get(word, Side(word)) for word in words]
            yield first, second
            return
        if found is not None and commits:
            runs = held.enter_context(commit_runs.opened(found, request.project, request.options))
            sides |= _run_commits(request, runs, found, commits, stop)
        if WORK_TREE in words and WORK_TREE not in sides:
            stop.check()
            sides[WORK_TREE] = _run_work_tree(request, scratch)
        yield sides[words[0]], sides[words[1]]


def _kept(request: SidesRequest, word: str, found: Repository | None) -> Side | None:
    """The kept dumps of a label; None where no case has any."""
    dumps = {case.name: find_dumps(request.project, case, word) for case in request.cases}
    if not any(dumps.values()):
        if word == BASELINE:
            return Side(word)
        return None
    notes: tuple[str, ...] = ()
    if found is not None and word != BASELINE and _is_reference(found, word):
        notes = (f"{word} names both kept dumps and a git commit: the dumps were used",)
    return Side(word, dumps, notes=notes)


def _is_reference(found: Repository, word: str) -> bool:
    """Whether git knows a word that is no label of its own making, such as g3f2a9c1."""
    try:
        commit = found.resolve(word)
    except UsageError:
        return True
    return commit is not None and not commit.startswith(word.removeprefix("g"))


def _why_unknown(request: SidesRequest, word: str, found: Repository | None) -> str:
    if found is None:
        return repository.why_none(request.project.root)
    return repository.why_unknown(request.project, word)


def _commit(word: str, found: Repository | None) -> str | None:
    if found is None or word == WORK_TREE:
        return None
    return found.resolve(word)


def _run_work_tree(request: SidesRequest, scratch: Path) -> Side:
    """Run the work tree as it is."""
    where = request.project.with_runs(scratch / "runs")
    summary = request.options.run(where, request.names)
    return Side(WORK_TREE, verdicts={verdict.case: verdict for verdict in summary.verdicts}, is_kept=False)


def _run_commits(
    request: SidesRequest, runs: CommitRuns, found: Repository, hashes: Mapping[str, str], stop: StopSignal
) -> dict[str, Side]:
    """Run the commits; a case that one of them lacks is run with the job of the work tree in all of them."""
    lacking: dict[str, str] = {}  # case → the revision that lacks it
    if request.this_job:
        lacking = dict.fromkeys(request.names, "")
    else:
        jobs = {case.job for case in request.cases}
        for word, commit in hashes.items():
            there = runs.case_names(commit, jobs)
            lacking |= {name: word for name in request.names if name not in there}
    borrowed = commit_runs.borrowed_files(found, [case for case in request.cases if case.name in lacking])
    verdicts: dict[str, dict[str, Verdict]] = {word: {} for word in hashes}
    own = tuple(name for name in request.names if name not in lacking)
    for files, names in (({}, own), (borrowed, tuple(lacking))):
        runs.borrowed = files
        if not names:
            continue
        for word, commit in hashes.items():
            stop.check()
            verdicts[word] |= _run(runs, word, commit, names)
    sides: dict[str, Side] = {}
    for word in hashes:
        notes = (*_lacking_notes(word, lacking), *runs.notes)
        sides[word] = Side(word, verdicts=verdicts[word], is_kept=False, notes=notes)
    return sides


def _run(runs: CommitRuns, word: str, commit: str, names: Sequence[str]) -> dict[str, Verdict]:
    try:
        summary = runs.run(commit, names)
    except CommitUnusable as error:
        raise UsageError(f"{word} cannot be run: {error}") from None
    verdicts: dict[str, Verdict] = {}
    for verdict in summary.verdicts:
        notes = tuple(runs.readable(note) for note in verdict.notes)
        verdicts[verdict.case] = replace(verdict, reason=runs.readable(verdict.reason), notes=notes)
    return verdicts


def _lacking_notes(word: str, lacking: Mapping[str, str]) -> tuple[str, ...]:
    names = [name for name, of in lacking.items() if of == word]
    if not names:
        return ()
    return (f"{word} lacks {first_names(names)}: run with the job of the work tree",)
