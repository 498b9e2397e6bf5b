"""Repository of a project: commits by name, their order, their files."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import HarnessError, StorageError, UsageError
from gpuregress.gpu.records import Record
from gpuregress.session.runs import history_entry
from gpuregress.store.history import Reader
from gpuregress.store.project import Project

_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_LABEL = re.compile(r"g([0-9a-f]{4,64})")
_REFERENCES = ("refs/heads", "refs/tags", "refs/remotes")
_MOST_NAMED = 5
_MOST_COMMITS = 1000
_MOST_LINKS = 40  # of Linux (path_resolution(7)): beyond, there is a loop
_FORM = "--format=%H%x00%h%x00%an%x00%aI%x00%s"


class Commit(Record):
    """A commit.

    Attributes:
        hash: its full name.
        short: its abbreviated name.
        author: who wrote it.
        date: when, ISO 8601.
        subject: the first line of its message.
    """

    hash: str
    short: str
    author: str
    date: str
    subject: str

    def __str__(self) -> str:
        """`3f2a9c1 2026-11-20 Sum in double`."""
        return f"{self.short} {self.date[:10]} {self.subject}"


class TreeEntry(Record):
    """A file of a commit.

    Attributes:
        mode: `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
        name: the hash of its content, or of the submodule's commit.
        repository: the root of the work tree whose repository holds the content.
    """

    mode: str
    name: str
    repository: Path


class Repository(Record):
    """A git repository with a work tree.

    Attributes:
        root: the folder of its work tree, without symbolic links.
    """

    root: Path

    def resolve(self, word: str) -> str | None:
        """Return the hash of the commit that a word names; None if it names none.

        Args:
            word: a branch, a tag, a hash, `HEAD~2`, or a revision label such as `g3f2a9c1`.

        Raises:
            UsageError: it names several.
        """
        if not word or word.startswith("-") or "\0" in word or "\n" in word:
            return None
        self._refuse_ambiguous_reference(word)
        found = self._commit_named(word)
        label = _LABEL.fullmatch(word)
        if found is None and label is not None:
            found = self._commit_named(label[1])
        if found is None and _PREFIX.fullmatch(word):
            self._refuse_ambiguous_prefix(word)
        return found

    def _commit_named(self, word: str) -> str | None:
        named = git.answer(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}")
        if not named:
            return None
        return named.strip() or None

    def _refuse_ambiguous_reference(self, word: str) -> None:
        listed = git.answer(
            self.root, "for-each-ref", "--format=%(refname)", *(f"{folder}/{word}" for folder in _REFERENCES)
        )
        exact = [name for name in (listed or "").splitlines() if name.partition("/")[2].partition("/")[2] == word]
        if len(exact) > 1:
            raise UsageError(f"git knows several commits as {word!r}: write {' or '.join(exact)}")

    def _refuse_ambiguous_prefix(self, prefix: str) -> None:
        listed = git.answer(self.root, "rev-parse", f"--disambiguate={prefix}") or ""
        names = [name for name in listed.split() if self._commit_named(name) == name]
        if len(names) > 1:
            shown = ", ".join(str(self.commit(name)) for name in names[:_MOST_NAMED])
            raise UsageError(f"{prefix!r} begins the hash of {len(names)} commits: {shown}")

    def commit(self, name: str) -> Commit:
        """Return the facts of a commit.

        Raises:
            HarnessError: git cannot read it.
        """
        text = git.answer(self.root, "log", "-1", _FORM, "--no-show-signature", "--end-of-options", name, "--")
        commits = _commits(git.legible(text or ""))
        if not commits:
            raise HarnessError(f"git cannot read the commit {name}")
        return commits[0]

    def commits_after(self, first: str, last: str, paths: Sequence[str] = ()) -> tuple[Commit, ...]:
        """Return the commits that lead to `last` and not to `first`, the newest first.

        Args:
            first: a hash.
            last: a hash.
            paths: relative to the root; only commits that touch one of them. None: all commits.

        Raises:
            UsageError: git cannot list them, as in a partial clone.
        """
        form = (_FORM, f"--max-count={_MOST_COMMITS}", "--no-show-signature", "--end-of-options")
        task = f"list the commits {first[:7]}..{last[:7]}"
        return _commits(git.legible(self._text(task, "log", *form, f"{first}..{last}", "--", *paths)))

    def changed_files(self, name: str) -> tuple[str, ...]:
        """Return the files that a commit changed, against its first parent."""
        form = ("-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-ext-diff", "--no-textconv")
        parent = self._commit_named(f"{name}^1")
        trees = (parent, name) if parent else (name,)
        listed = git.answer(self.root, "diff-tree", *form, "--end-of-options", *trees)
        return tuple(path for path in (listed or "").split("\0") if path)

    def changes_between(self, first: str, second: str) -> dict[str, bool]:
        """Return the files that differ between two commits, and whether the second one has them.

        Raises:
            UsageError: git cannot compare them, as in a partial clone.
        """
        form = ("-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv")
        submodules = "--ignore-submodules=none"  # also those that .gitmodules says to ignore
        task = f"compare the commits {first[:7]} and {second[:7]}"
        fields = self._text(task, "diff-tree", *form, submodules, "--end-of-options", first, second).split("\0")
        return {path: status != "D" for status, path in zip(fields[::2], fields[1::2], strict=False)}

    def _text(self, task: str, command: str, *arguments: str) -> str:
        """Return what a git command writes; `task` says what it is for."""
        reply = git.ask(self.root, command, *arguments)
        if reply is None:
            raise UsageError(f"git cannot {task}: it cannot be run, or takes too long")
        if reply.code != 0:
            why = reply.message.rpartition("\n")[2].removeprefix("fatal: ")
            raise UsageError(f"git cannot {task}: {why}; `git fetch` may get what this clone lacks")
        return reply.text

    def entries_on_the_way(self, path: Path) -> tuple[str, ...]:
        """Return each symbolic link on the way to a file, and the file that it leads to.

        Args:
            path: absolute.

        Returns:
            Paths relative to the root; those outside of it are left out.
        """
        entries: list[Path] = []
        folder = Path(path.anchor)
        names = list(reversed(path.parts[1:]))
        while names:
            name = names.pop()
            if name == "..":
                folder = folder.parent
                continue
            entry = folder / name
            if not entry.is_symlink() or len(entries) == _MOST_LINKS:
                folder = entry
                continue
            entries.append(entry)
            target = entry.readlink()
            if target.is_absolute():
                folder = Path(target.anchor)
                names += reversed(target.parts[1:])
            else:
                names += reversed(target.parts)
        entries.append(folder)
        return tuple(str(entry.relative_to(self.root)) for entry in entries if entry.is_relative_to(self.root))

    def submodules(self) -> frozenset[str]:
        """Return the folders of the submodules of the work tree, relative to the root.

        Raises:
            UsageError: git cannot list them.
        """
        listed = self._text("list the submodules", "ls-files", "-z", "--stage")
        return frozenset(line.partition("\t")[2] for line in listed.split("\0") if line.startswith("160000 "))

    def is_ancestor(self, first: str, second: str) -> bool:
        """Tell whether the first commit is the second one, or comes before it."""
        reply = git.ask(self.root, "merge-base", "--is-ancestor", first, second)
        return reply is not None and reply.code == 0

    def merge_bases(self, first: str, second: str) -> tuple[str, ...]:
        """Return the last commits from which both were made."""
        return tuple((git.answer(self.root, "merge-base", "--all", first, second) or "").split())

    def between(self, goods: Sequence[str], bad: str) -> tuple[str, ...]:
        """Return the commits that lead to `bad` and to none of the others, those that halve them best first.

        The order is that of `git bisect`. The last one is not always `bad`, which is always among them.

        Raises:
            HarnessError: git cannot list them.
        """
        listed = git.answer(self.root, "rev-list", "--bisect-all", bad, "--not", *goods)
        if listed is None:
            raise HarnessError(f"git cannot list the commits that lead to {bad}")
        return tuple(line.split()[0] for line in listed.splitlines() if line)

    def entries(self, name: str) -> tuple[dict[str, TreeEntry], tuple[str, ...]]:
        """Return the files of a commit, with those of submodules that are checked out here.

        Returns:
            Path → its entry, and a note for each submodule whose files are not here.

        Raises:
            HarnessError: git cannot list them.
        """
        listed = git.answer(self.root, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", name)
        if listed is None:
            raise HarnessError(f"git cannot list the files of the commit {name}")
        files: dict[str, TreeEntry] = {}
        notes: list[str] = []
        for line in filter(None, listed.split("\0")):
            facts, _, path = line.partition("\t")
            mode, _, content = facts.split()
            if mode != "160000":
                files[path] = TreeEntry(mode, content, self.root)
                continue
            inner = _submodule(self.root / path, content)
            if inner is None:
                notes.append(f"the submodule {path} at {content[:9]} is not in this clone: its files are missing")
                continue
            below, more = inner.entries(content)
            files |= {f"{path}/{name}": entry for name, entry in below.items()}
            notes += (f"in {path}: {note}" for note in more)
        return files, tuple(notes)


def _commits(text: str) -> tuple[Commit, ...]:
    """Read commits that git wrote in `_FORM`, a line each."""
    commits = []
    for line in text.split("\n"):
        fields = line.split("\0")
        if len(fields) == len(Commit.__struct_fields__):
            commits.append(Commit(*fields))
    return tuple(commits)


def why_unknown(project: Project, word: str) -> str:
    """Describe a commit that git does not know: it may be one of a past run that is gone.

    Args:
        project: whose history is asked.
        word: that should name a commit.
    """
    text = f"git knows no commit {word!r}"
    label = _LABEL.fullmatch(word)
    prefix = label[1] if label is not None else word
    path = project.runs / history_entry.FILE
    if not _PREFIX.fullmatch(prefix) or not path.is_file():
        return text
    with contextlib.suppress(sqlite3.Error, StorageError), contextlib.closing(Reader.open(path)) as history:
        for run in history.all_runs():
            if run.imported or not run.commit.startswith(prefix):
                continue
            if git.lacks_commit(project.root, run.commit):
                why = "it is gone from this repository (after a rebase and `git gc`?)"
                return f"{text}: {why}; run {run.run} was of it"
            return f"{text}: run {run.run} was of it, and this clone is shallow; `git fetch --unshallow` gets the rest"
    return text


def find(folder: Path) -> Repository | None:
    """Return the repository whose work tree holds a folder; None without git, or outside of any."""
    top = git.answer(folder, "rev-parse", "--show-toplevel")
    if not top or not top.strip():
        return None
    return Repository(Path(os.path.realpath(top.removesuffix("\n"))))


def require(folder: Path) -> Repository:
    """Return the repository whose work tree holds a folder.

    Raises:
        UsageError: there is none; the message has git's own words.
    """
    found = find(folder)
    if found is None:
        raise UsageError(why_none(folder))
    return found


def why_none(folder: Path) -> str:
    """The reason why there is no repository, in git's own words."""
    reply = git.ask(folder, "rev-parse", "--show-toplevel")
    why = "git cannot be run" if reply is None else reply.message.removeprefix("fatal: ").partition("\n")[0]
    return f"{folder} is in no git repository that can be read: {why}"


def _submodule(folder: Path, commit: str) -> Repository | None:
    """The repository of a submodule that is checked out and has the commit; None otherwise."""
    if not (folder / ".git").exists():
        return None
    submodule = find(folder)
    if submodule is None or submodule.root != Path(os.path.realpath(folder)) or submodule.resolve(commit) != commit:
        return None
    return submodule
