"""Runs of cases as they are in a commit, in a scratch checkout of the project."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import Interrupted, JobErrors, NothingToDo, UsageError
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import selection
from gpuregress.jobs.spec import job_files
from gpuregress.lab.commits.checkout import Checkout
from gpuregress.lab.commits.repository import Repository
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store import project
from gpuregress.store.project import Project


class RunOptions(Record):
    """Options of the runs that a command makes.

    Attributes:
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        timeout: seconds for a case, in place of the jobs' own limit.
        machinery: for tests.
        listen: receives the events of the runs.
    """

    device: str = "auto"
    timeout: float | None = None
    machinery: Machinery | None = None
    listen: Listener = ignore

    def run(self, where: Project, names: Sequence[str]) -> RunSummary:
        """Run cases.

        Raises:
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        request = RunRequest(tuple(names), device=self.device, timeout=self.timeout)
        summary = session.run(where, request, listen=self.listen, machinery=self.machinery)
        if summary.interrupted:
            raise Interrupted("interrupted")
        return summary


class CommitUnusable(Exception):
    """The cases cannot be run as they are in a commit; the message says why, with paths of the commit."""


class CommitRuns:
    """The project as it is in one commit after another.

    Args:
        repository: of the project.
        here: the project in the work tree.
        scratch: a temporary folder.
        options: of the runs.
    """

    def __init__(self, repository: Repository, here: Project, scratch: Path, options: RunOptions) -> None:
        self._here, self._scratch, self._options = here, scratch, options
        self._root = repository.root
        self._checkout = Checkout(repository, scratch)
        self._commit = ""
        self._is_laid = False
        self._notes: dict[str, None] = {}
        self.borrowed: Mapping[str, Path] = {}
        """The files that `run` and `cases` take from the work tree; none: all are the commit's."""

    def cases(self, commit: str, jobs: Collection[str]) -> tuple[Case, ...]:
        """Return the cases of some jobs in a commit; none of a job that is wrong or missing there."""
        cases: list[Case] = []
        with contextlib.suppress(CommitUnusable):
            there = self.switch(commit)
            known = {selection.quick_name(path) for path in job_files.job_files(there.configs)}
            for job in known & set(jobs):
                with contextlib.suppress(JobErrors, NothingToDo, UsageError):
                    cases += plan.make(there, [job]).cases
        return tuple(cases)

    def case_names(self, commit: str, jobs: Collection[str]) -> frozenset[str]:
        """Return the names of `cases`."""
        return frozenset(case.name for case in self.cases(commit, jobs))

    def run(self, commit: str, names: Sequence[str], accepted: Path | None = None) -> RunSummary:
        """Run cases as they are in a commit.

        Args:
            commit: its hash.
            names: of the cases.
            accepted: a folder of baselines in the place of the commit's own for these cases; None: they have none.

        Raises:
            CommitUnusable: the commit has no such case, or its job is wrong.
            Interrupted: the user asked to stop.
            GpuregressError: the errors of `session.run`.
        """
        there = self._with_baselines(self.switch(commit), names, accepted)
        try:
            return self._options.run(there, names)
        except (JobErrors, UsageError, NothingToDo) as error:
            raise CommitUnusable(self.readable(str(error))) from None

    def readable(self, text: str) -> str:
        """The text with paths of the scratch checkout relative to the repository."""
        return text.replace(f"{self._checkout.folder}/", "").replace(f"{self._scratch}/", "")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on files that the checkouts lacked, each once."""
        return tuple(self._notes)

    def switch(self, commit: str) -> Project:
        """Check a commit out; return its project, which stands until the next commit.

        Raises:
            CommitUnusable: it has none.
        """
        if self._commit != commit or self._is_laid:
            self._notes |= dict.fromkeys(self._checkout.switch(commit))
            self._commit, self._is_laid = commit, False
        for path, file in self.borrowed.items():
            self._checkout.lay(path, storage.read_bytes(file))
            self._is_laid = True
        root = self._checkout.folder / self._below(self._here.root)
        there = self._borrowing(root) if self.borrowed else self._own(root)
        there = replace(there, runs=self._here.runs, earlier_runs=self._here.earlier_runs, dumps=self._here.dumps)
        return there.with_runs(self._scratch / f"runs-{commit[:12]}")

    def _borrowing(self, root: Path) -> Project:
        """The project with the folders and settings of the work tree."""
        configs, baselines = (self._moved(folder) for folder in (self._here.configs, self._here.baselines))
        return replace(self._here, root=root, configs=configs, baselines=baselines)

    def _own(self, root: Path) -> Project:
        """The project with its own folders and settings."""
        try:
            there = project.find(root)
        except UsageError:
            there = None
        except JobErrors as error:
            raise CommitUnusable(self.readable(str(error))) from None
        if there is None or there.root != root:
            raise CommitUnusable(f"it has no project in {self._below(self._here.root)}")
        return there

    def _with_baselines(self, there: Project, names: Sequence[str], accepted: Path | None) -> Project:
        if not there.baselines.is_relative_to(self._checkout.folder):
            return replace(there, baselines=accepted or self._scratch / "no-baselines")
        below = there.baselines.relative_to(self._checkout.folder)
        for name in names:
            self._checkout.lay_tree(str(below / name), accepted / name if accepted is not None else None)
        self._is_laid = True
        return there

    def _below(self, path: Path) -> Path:
        """A path of the work tree relative to the repository.

        Raises:
            UsageError: it is outside.
        """
        real = path.resolve()
        if not real.is_relative_to(self._root):
            raise UsageError(f"{path} is outside the git repository {self._root}")
        return real.relative_to(self._root)

    def _moved(self, path: Path) -> Path:
        """A folder of the project in the checkout; one outside the repository stays where it is."""
        return self._checkout.folder / self._below(path) if path.resolve().is_relative_to(self._root) else path


@contextlib.contextmanager
def opened(repository: Repository, here: Project, options: RunOptions) -> Iterator[CommitRuns]:
    """Open a scratch checkout; nothing is left of it when the block is over."""
    with storage.scratch() as scratch:
        yield CommitRuns(repository, here, scratch, options)
