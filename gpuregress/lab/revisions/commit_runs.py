"""Runs of cases as they are in a commit, in a scratch checkout of the project.

Git writes nothing: contents come from the object store by `git cat-file`. So the index, the work tree, the references
and the list of work trees stay as they are, and no hook and no filter runs. Only what changed is written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from gpuregress.foundation import git, storage
from gpuregress.foundation.errors import HarnessError, JobErrors, NothingToDo, UsageError
from gpuregress.foundation.records import Baseline, Case, RunSummary, to_json
from gpuregress.foundation.storage import disk_errors
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import selection
from gpuregress.jobs.plan.source_files import SUFFIXES
from gpuregress.jobs.spec import job_files
from gpuregress.lab import experiment
from gpuregress.lab.experiment import RunOptions
from gpuregress.session.repository import Repository, TreeEntry
from gpuregress.store import project
from gpuregress.store.project import Project

_LINK = "120000"
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LARGEST_POINTER = 1024


class Checkout:
    """The files of a commit in a folder of their own; each commit's folder has another name.

    Args:
        repository: whose commits.
        scratch: a temporary folder, which the caller removes.
    """

    def __init__(self, repository: Repository, scratch: Path) -> None:
        self._repository, self._scratch = repository, scratch
        self._present: dict[str, TreeEntry | None] = {}
        self.folder = scratch / "none"
        self.folder.mkdir()

    def switch(self, commit: str) -> tuple[str, ...]:
        """Make the folder hold the files of a commit, and nothing else; return notes on what is missing.

        The folder gets the commit's name, so that nothing which is remembered of a path is taken for another commit's.

        Args:
            commit: its hash.

        Raises:
            HarnessError: git cannot read the commit.
            StorageError: no space.
        """
        entries, notes = self._repository.entries(commit)
        wanted = {path: entry for path, entry in entries.items() if _is_safe(path)}
        with disk_errors(self._scratch):
            folder = self._scratch / commit[:12]
            self.folder = self.folder.rename(folder)
            self._remove(path for path, entry in self._present.items() if entry is None or wanted.get(path) != entry)
            changed = {path: entry for path, entry in wanted.items() if path not in self._present}
            return (*notes, *self._write_all(changed, commit))

    def lay(self, path: str, content: bytes) -> None:
        """Put a file of the work tree over the commit's; the next `switch` takes it away.

        Args:
            path: relative to the repository.
            content: the file's.
        """
        with disk_errors(self._scratch):
            self._remove([path])
            self._new_file(path, content, 0o644)
        self._present[path] = None

    def lay_tree(self, path: str, source: Path | None) -> None:
        """Put a folder in the place of the commit's; None removes it.

        Args:
            path: relative to the repository.
            source: a folder, or None; one that does not exist is none.
        """
        with disk_errors(self._scratch):
            below = [name for name in self._present if name.startswith(f"{path}/")]
            self._remove(below)
            shutil.rmtree(self.folder / path, ignore_errors=True)
        if source is not None:
            for file in sorted(source.rglob("*")):
                if file.is_file():
                    self.lay(f"{path}/{file.relative_to(source)}", file.read_bytes())

    def _remove(self, paths: Iterable[str]) -> None:
        for path in list(paths):
            self._present.pop(path, None)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                (self.folder / path).unlink()
            for parent in PurePosixPath(path).parents:
                if str(parent) == ".":
                    break
                try:
                    (self.folder / parent).rmdir()
                except OSError:
                    break

    def _write_all(self, entries: Mapping[str, TreeEntry], commit: str) -> tuple[str, ...]:
        missing: list[str] = []
        pointers: list[str] = []
        for root in dict.fromkeys(entry.repository for entry in entries.values()):
            with _reader(root) as reader:
                for path, entry in entries.items():
                    if entry.repository != root:
                        continue
                    content = reader.read(entry.name)
                    if content is None:
                        missing.append(path)
                        continue
                    if content.startswith(_POINTER) and len(content) <= _LARGEST_POINTER:
                        real = _large_file(root, content)
                        if real is None:
                            pointers.append(path)
                        else:
                            content = real
                    self._write(path, entry, content)
        return (
            *_told(missing, commit, "not in this clone, which is partial: `git fetch` gets them"),
            *_told(pointers, commit, "in Git LFS and not on this machine: `git lfs fetch` gets them"),
        )

    def _write(self, path: str, entry: TreeEntry, content: bytes) -> None:
        if entry.mode == _LINK:
            self._parent(path)
            (self.folder / path).symlink_to(os.fsdecode(content))
        else:
            self._new_file(path, content, 0o755 if entry.mode == "100755" else 0o644)
        self._present[path] = entry

    def _new_file(self, path: str, content: bytes, mode: int) -> None:
        self._parent(path)
        descriptor = os.open(self.folder / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    def _parent(self, path: str) -> None:
        """Make the folder of a file. Nothing is written through a symbolic link of the commit."""
        parent = (self.folder / path).parent
        parent.mkdir(parents=True, exist_ok=True)
        if parent.resolve() != self.folder.resolve() / parent.relative_to(self.folder):
            raise HarnessError(f"{path} of the commit lies below a symbolic link, and is not written")


def _reader(root: Path) -> git.ObjectReader:
    try:
        return git.ObjectReader(root)
    except OSError as error:
        raise HarnessError(f"git cannot be run: {error.strerror or error}") from None


def _is_safe(path: str) -> bool:
    """Whether a path of a tree stays in its folder and makes no repository there."""
    parts = path.split("/")
    return not any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts)


def _large_file(root: Path, pointer: bytes) -> bytes | None:
    """The content that a pointer of Git LFS stands for, if it is on this machine and whole."""
    fields = dict(line.split(" ", 1) for line in pointer.decode("utf-8", "replace").splitlines() if " " in line)
    kind, _, digest = fields.get("oid", "").partition(":")
    common = git.answer(root, "rev-parse", "--git-common-dir")
    if kind != "sha256" or len(digest) != 64 or not digest.isalnum() or not common:
        return None
    stored = root / common.removesuffix("\n") / "lfs/objects" / digest[:2] / digest[2:4] / digest
    try:
        content = stored.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != digest:
        return None
    return content


def _told(paths: list[str], commit: str, why: str) -> tuple[str, ...]:
    if not paths:
        return ()
    return (f"{first_names(paths)} of {commit[:9]}: {why}",)


def borrowed_files(repository: Repository, cases: Sequence[Case]) -> dict[str, Path]:
    """Path in the repository → file of the work tree, for all that the cases' jobs need besides their own kernels.

    These are the job file, Python functions, data, and the sources of trusted kernels. A kernel that is tested must be
    the commit's.

    Args:
        repository: files outside of it are where the job says, for every commit.
        cases: planned in the work tree.
    """
    named: set[Path] = set()
    own: set[Path] = set()
    for case in cases:
        document = to_json(case)
        trusted = document.pop("reference_kernels", {})
        named |= {path.resolve() for path in experiment.named_files([document, trusted])}
        sources = (path for path in experiment.named_files(document) if path.suffix in SUFFIXES)
        own |= {path.resolve() for path in sources}
    inside = (path for path in sorted(named - own) if path.is_relative_to(repository.root))
    return {str(path.relative_to(repository.root)): path for path in inside}


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
        commands = there.compile_commands
        if commands is not None and not (commands.is_relative_to(root) and commands.is_file()):
            # No commit has it: the work tree's tells the options, and its folders are looked for in the commit.
            if commands.is_relative_to(self._checkout.folder):
                commands = self._root / commands.relative_to(self._checkout.folder)
            there = replace(there, compile_commands=commands, original=self._root, copy=self._checkout.folder)
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


_MOST_COMMITS = 60


def find_accepted(repository: Repository, runs: CommitRuns, case: Case, accepted: Baseline) -> str | None:
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
