"""Texts of kernel sources, for the reports that show what changed since a baseline was accepted.

A run keeps each source text that it meets, by digest, in `runs/.sources`; it is some kilobytes. Where the accepted text
was never met here, as in a fresh clone, git has it: a commit counts if its files have the accepted digest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuregress.foundation import git, storage
from gpuregress.foundation.errors import GpuregressError, StorageError
from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import SOURCE_DIGITS, Case, SourceVersions, from_json, to_json
from gpuregress.gpu.records import Record
from gpuregress.jobs import revision
from gpuregress.toolchain import programs
from gpuregress.toolchain.include_scanner import SourceInputs

FOLDER = ".sources"
_MOST_BYTES = 1 << 20
"""Of a case's sources; larger ones are no text that somebody reads."""
_MOST_KEPT = 2000
_MOST_COMMITS = 60


class KeptSource(Record):
    """A source: its files in the order in which they are reached.

    Attributes:
        structure: see `SourceInputs`.
        files: path, absolute → text.
    """

    structure: str
    files: Mapping[str, str]


class SourceTexts:
    """The kept texts of a project.

    Args:
        runs: its folder of runs.
    """

    def __init__(self, runs: Path) -> None:
        self._folder = runs / FOLDER
        self._seen: set[str] = set()
        self._versions: dict[tuple[str, str], SourceVersions] = {}

    def keep(self, case: Case) -> None:
        """Keep the sources of a case that ran; a disk that refuses is no reason to fail."""
        name = case.source_digest[:SOURCE_DIGITS]
        if not name or name in self._seen:
            return
        self._seen.add(name)
        path = self._folder / f"{name}.json"
        try:
            if path.exists():
                os.utime(path)  # the texts that are used stay
                return
            kept = [_kept(programs.inputs(source)) for source in case.sources]
            text = json_text(to_json(kept), indent=1)
            if len(text) <= _MOST_BYTES:
                self._folder.mkdir(parents=True, exist_ok=True)
                storage.write_atomic(path, text.encode(), durable=False)
                self._forget()
        except (OSError, GpuregressError, UnicodeDecodeError):
            return

    def _forget(self) -> None:
        """Remove the texts that were not used for longest."""
        files = list(self._folder.glob("*.json"))
        if len(files) > _MOST_KEPT:
            for path in sorted(files, key=lambda path: path.stat().st_mtime)[: len(files) - _MOST_KEPT]:
                path.unlink(missing_ok=True)

    def versions(self, entry: Mapping[str, Any]) -> SourceVersions:
        """Find the sources of a case of `results.json`, as they ran and as they were accepted."""
        now = str(entry.get("source", ""))
        accepted = str((entry.get("accepted") or {}).get("source", ""))
        if (now, accepted) not in self._versions:
            self._versions[now, accepted] = self._found(now, accepted)
        return self._versions[now, accepted]

    def _found(self, now: str, accepted: str) -> SourceVersions:
        sources = self._read(now)
        before = self._read(accepted)
        commit = ""
        if sources and accepted and not before:
            commit, before = _from_git(sources, accepted)
        return SourceVersions(_texts(sources), _texts(before), commit)

    def _read(self, name: str) -> tuple[KeptSource, ...]:
        if not name:
            return ()
        try:
            kept = storage.read_json(self._folder / f"{name}.json", "remove it")
            return from_json(tuple[KeptSource, ...], kept)
        except (OSError, StorageError, ValueError):
            return ()


def _kept(inputs: SourceInputs) -> KeptSource:
    texts = [content.decode() for content in inputs.contents]
    return KeptSource(inputs.structure, dict(zip(map(str, inputs.files), texts, strict=True)))


def _texts(sources: tuple[KeptSource, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for source in sources:
        texts |= source.files
    return texts


def _from_git(sources: tuple[KeptSource, ...], accepted: str) -> tuple[str, tuple[KeptSource, ...]]:
    """Find the commit whose files have the accepted digest, if they include each other as they do now."""
    files = list(_texts(sources))
    top = git.answer(Path(files[0]).parent, "rev-parse", "--show-toplevel")
    if top is None:
        return "", ()
    root = Path(os.path.realpath(top.removesuffix("\n")))
    names = {file: os.path.relpath(os.path.realpath(file), root) for file in files}
    for commit in _commits(root, list(names.values())):
        there = _at_commit(root, commit, sources, names)
        if there is None:
            continue
        inputs = [
            SourceInputs(tuple(map(Path, one.files)), tuple(map(_encoded, one.files.values())), one.structure, "")
            for one in there
        ]
        if revision.digest_of_all(inputs).startswith(accepted):
            return commit, there
    return "", ()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _commits(root: Path, names: list[str]) -> Iterator[str]:
    """Yield the last commits that touch some files, the newest first."""
    listed = git.answer(root, "rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--", *names)
    yield from (listed or "").split()


def _at_commit(
    root: Path, commit: str, sources: tuple[KeptSource, ...], names: Mapping[str, str]
) -> tuple[KeptSource, ...] | None:
    """Return the sources as a commit has them; None where it lacks a file, or one is no text."""
    found = []
    for source in sources:
        files = {}
        for file in source.files:
            text = git.answer(root, "cat-file", "blob", f"{commit}:{names[file]}")
            if text is None:
                return None
            files[file] = text
        found.append(KeptSource(source.structure, files))
    return tuple(found)
