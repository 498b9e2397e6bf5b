"""Queries to git that run no program which a repository names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record

_SECONDS = 20
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
}
"""Settings in which a repository may name a program; on the command line they override its own."""


_FIELDS_BEFORE_PATH = {"1": 7, "u": 9}
"""Kind of a line of `git status --porcelain=v2` → the fields between it and the path."""


class Reply(Record):
    """The end of a git command.

    Attributes:
        code: its exit status.
        output: what it wrote to stdout.
        message: what it wrote to stderr.
    """

    code: int
    output: bytes
    message: str

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 survive in file names."""
        return self.output.decode("utf-8", "surrogateescape")


class WorkTreeState(Record):
    """The commit that a work tree is of.

    Attributes:
        commit: its full hash, "" without git, without a repository, or before the first commit.
        branch: its name, "" for a detached head.
        is_dirty: whether tracked files are other ones than the commit's.
    """

    commit: str = ""
    branch: str = ""
    is_dirty: bool = False


def work_tree_state(folder: Path) -> WorkTreeState:
    """Find out which commit is checked out.

    Filters of the repository are turned off. So a file that one changes, as git-lfs does, counts as changed where git
    cannot tell by its time and size.

    Args:
        folder: in the work tree.
    """
    if not _has_repository(folder):
        return WorkTreeState()
    text = _status(folder, "--branch", "--untracked-files=no", "--ignore-submodules=dirty")
    if text is None:
        return WorkTreeState()
    lines = text.splitlines()
    head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
    commit, branch = head.get("branch.oid", ""), head.get("branch.head", "")
    if commit == "(initial)":
        commit = ""
    is_dirty = any(not line.startswith("#") for line in lines)
    return WorkTreeState(commit, "" if branch == "(detached)" else legible(branch), is_dirty and bool(commit))


class WorkTreeFiles(Record):
    """The files of a work tree and of the submodules that are checked out in it, relative to its root.

    Attributes:
        changes: path → whether it is there, for all that is other than in the commit, also what git does not know yet.
            A submodule of another commit, and a repository that is no submodule, are folders.
        watched: the files whose changes git reports: those of the index.
    """

    changes: Mapping[str, bool]
    watched: frozenset[str]


def work_tree_files(root: Path) -> WorkTreeFiles:
    """Compare the files of a work tree with its commit.

    Git is run in each submodule by itself: `git status` would run there the filters that the submodule's settings name.

    Args:
        root: of the work tree.

    Raises:
        UsageError: git cannot compare them.
    """
    status = _status(root, "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    listed = answer(root, "ls-files", "-z", "-v", "--stage")
    if status is None or listed is None:
        raise UsageError(f"git cannot compare the files of {root} with their commit; `git status` there may show why")
    changes = _changes(status)
    watched: set[str] = set()
    submodules: list[str] = []
    for line in filter(None, listed.split("\0")):
        facts, _, path = line.partition("\t")
        tag, mode, *_ = facts.split(" ")
        if mode == "160000":
            submodules.append(path)
        elif tag == "H":  # others: `git update-index --assume-unchanged` and the like, which hide changes
            watched.add(path)
    for path in submodules:
        if not _is_work_tree(root / path):
            continue
        inner = work_tree_files(root / path)
        changes |= {f"{path}/{name}": is_there for name, is_there in inner.changes.items()}
        watched.update(f"{path}/{name}" for name in inner.watched)
    return WorkTreeFiles(changes, frozenset(watched))


def _changes(status: str) -> dict[str, bool]:
    """Read what `git status --porcelain=v2 -z` writes: path → whether it is there."""
    changes: dict[str, bool] = {}
    for line in status.split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "?":
            changes[rest.rstrip("/")] = True  # a repository that is no submodule ends with a slash
        elif kind in _FIELDS_BEFORE_PATH:
            *facts, path = rest.split(" ", _FIELDS_BEFORE_PATH[kind])
            changes[path] = "D" not in facts[0]
    return changes


def _is_work_tree(folder: Path) -> bool:
    """Whether a folder is the root of a work tree that git can read."""
    if not (folder / ".git").exists():
        return False
    top = answer(folder, "rev-parse", "--show-toplevel")
    return top is not None and Path(os.path.realpath(top.removesuffix("\n"))) == Path(os.path.realpath(folder))


def _status(folder: Path, *options: str) -> str | None:
    """Return what `git status` writes, with the repository's filters turned off: they are programs."""
    pattern = r"^filter\..*\.(clean|process|required)$"
    named = ask(folder, "config", "--null", "--name-only", "--get-regexp", pattern)
    if named is None or named.code > 1:  # 1: there is none
        return None
    filters = [name for name in named.text.split("\0") if name]
    off = [f"{name}={'false' if name.endswith('.required') else ''}" for name in filters]
    return answer(folder, "status", "--porcelain=v2", "--no-renames", *options, settings=off)


def answer(folder: Path, command: str, *arguments: str, settings: Sequence[str] = ()) -> str | None:
    """Run a git command and return its output; None without git, without a repository, or after an error.

    Args:
        folder: where it works.
        command: plumbing, or `log` without a difference: what reads the index would run filters.
        arguments: its own. Paths come after `--`.
        settings: of git, `name=value`, beside those that name no program.
    """
    reply = ask(folder, command, *arguments, settings=settings)
    return reply.text if reply is not None and reply.code == 0 else None


def legible(text: str) -> str:
    """A name or subject that git returned, for a record: bytes that are no UTF-8, as of Latin-1, are replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def ask(folder: Path, command: str, *arguments: str, settings: Sequence[str] = ()) -> Reply | None:
    """Run a git command; None without git, or where it does not end in time. The arguments are those of `answer`."""
    try:
        done = subprocess.run(
            [*_start(folder, settings), command, *arguments],
            capture_output=True,
            check=False,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return Reply(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())


def lacks_commit(folder: Path, commit: str) -> bool:
    """Tell whether a repository had a commit once and has it no more, as after `git commit --amend` and `git gc`.

    A shallow clone lacks many commits that are not gone.

    Args:
        folder: in the work tree.
        commit: the hash of a commit that was checked out here.
    """
    shallow = answer(folder, "rev-parse", "--is-shallow-repository")
    if shallow is None or shallow.strip() != "false":
        return False
    reply = ask(folder, "cat-file", "-e", f"{commit}^{{commit}}")
    return reply is not None and reply.code != 0


class ObjectReader:
    """A `git cat-file --batch` that stays open: contents as they are stored, without filters.

    A context manager.

    Args:
        folder: in the repository.

    Raises:
        OSError: there is no git.
    """

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [*_start(folder), "cat-file", "--batch"],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # ^C ends the reader after what it reads for
        )

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End git."""
        self._process.kill()
        self._process.communicate()

    def read(self, name: str) -> bytes | None:
        """Return the content of an object; None where this clone lacks it.

        Args:
            name: its hash, or `COMMIT:PATH`.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if "\n" in name:
            return None
        try:
            self._process.stdin.write(f"{name}\n".encode("utf-8", "surrogateescape"))
            self._process.stdin.flush()
            head = self._process.stdout.readline().split()
            if len(head) != 3:
                return None
            size = int(head[2])
            content = self._process.stdout.read(size + 1)
        except (OSError, ValueError):
            return None
        return content[:-1] if len(content) == size + 1 else None


def _has_repository(folder: Path) -> bool:
    """Whether git could find a work tree here; its processes take longer than a look at each parent."""
    real = folder.resolve()
    return any((parent / ".git").exists() for parent in (real, *real.parents))


def _start(folder: Path, settings: Sequence[str] = ()) -> list[str]:
    all_settings = (*(f"{name}={text}" for name, text in _SETTINGS.items()), *settings)
    words = [word for setting in all_settings for word in ("-c", setting)]
    return ["git", "--no-pager", "--literal-pathspecs", *words, "-C", str(folder)]


def _environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
