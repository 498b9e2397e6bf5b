"""Scratch checkout: the files of one commit after another in a temporary folder.

Git writes nothing: contents come from the object store by `git cat-file`. So the index, the work tree, the references
and the list of work trees stay as they are, and no hook and no filter runs. Only what changed is written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from gpuregress.foundation import git
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.storage import disk_errors
from gpuregress.lab.commits.repository import Repository, TreeEntry

_LINK = "120000"
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LARGEST_POINTER = 1024
_MOST_NAMED = 3


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
                        pointers += [path] if real is None else []
                        content = content if real is None else real
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
    return content if hashlib.sha256(content).hexdigest() == digest else None


def _told(paths: list[str], commit: str, why: str) -> tuple[str, ...]:
    if not paths:
        return ()
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return (f"{', '.join(paths[:_MOST_NAMED])}{more} of {commit[:9]}: {why}",)
