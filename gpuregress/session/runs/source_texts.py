"""Texts of kernel sources, for the reports that show what changed since a baseline was accepted.

A run keeps each source text that it meets, by digest, in `runs/.sources`; it is some kilobytes. Where the accepted text
was never met here, as in a fresh clone, git has it: a commit counts if its files have the accepted digest. A text that
has another digest than its name says is never shown: a file may be saved while the run compiles it. So nothing is shown
of a source whose files do not tell all that it reads, for its digest is that of the compiled program, too.
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
_MOST_READ = 5000
"""Files of commits that one page reads."""


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
        self._committed: dict[str, bytes | None] = {}  # COMMIT:PATH → content
        self._contents: dict[bytes, bytes] = {}  # each content once: most commits leave most files as they are

    def keep(self, case: Case) -> None:
        """Keep the sources of a case that ran; a disk that refuses is no reason to fail."""
        name = case.source_digest[:SOURCE_DIGITS]
        if not name or name in self._seen:
            return
        self._seen.add(name)
        path = self._folder / f"{name}.json"
        try:
            if self._read(name):
                os.utime(path)  # the texts that are used stay
                return
            inputs = [programs.inputs(source) for source in case.sources]
            if not revision.digest_of_all(inputs).startswith(name):
                return
            kept = [_kept(one) for one in inputs]
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
            commit, before = self._from_git(sources, accepted)
        return SourceVersions(_texts(sources), _texts(before), commit)

    def _read(self, name: str) -> tuple[KeptSource, ...]:
        if not name:
            return ()
        try:
            kept = storage.read_json(self._folder / f"{name}.json", "remove it")
            sources = from_json(tuple[KeptSource, ...], kept)
        except (OSError, StorageError, ValueError):
            return ()
        return sources if _have_digest(sources, name) else ()

    def _from_git(self, sources: tuple[KeptSource, ...], accepted: str) -> tuple[str, tuple[KeptSource, ...]]:
        """Find the commit whose files have the accepted digest, if they include each other as they do now."""
        texts = _texts(sources)
        first_path, *_ = texts
        top = git.answer(Path(first_path).parent, "rev-parse", "--show-toplevel")
        if top is None:
            return "", ()
        root = Path(os.path.realpath(top.removesuffix("\n")))
        names = {}
        for file in texts:
            name = os.path.relpath(os.path.realpath(file), root)
            if not name.startswith(".."):  # a file outside is the same for every commit
                names[file] = name
        try:
            with git.ObjectReader(root) as reader:
                for commit in _commits(root, list(names.values())):
                    there = self._at_commit(reader, commit, sources, names)
                    if there is not None and _have_digest(there, accepted):
                        return commit, there
        except OSError:
            pass  # there is no git
        return "", ()

    def _at_commit(
        self, reader: git.ObjectReader, commit: str, sources: tuple[KeptSource, ...], names: Mapping[str, str]
    ) -> tuple[KeptSource, ...] | None:
        """Return the sources as a commit has them; None where it lacks a file, or too many were read."""
        found = []
        for source in sources:
            files = dict(source.files)
            for file in source.files:
                if file not in names:
                    continue
                content = self._committed_file(reader, f"{commit}:{names[file]}")
                if content is None:
                    return None
                files[file] = content.decode("utf-8", "surrogateescape")
            found.append(KeptSource(source.structure, files))
        return tuple(found)

    def _committed_file(self, reader: git.ObjectReader, name: str) -> bytes | None:
        if name not in self._committed:
            if len(self._committed) >= _MOST_READ:
                return None
            content = reader.read(name)
            self._committed[name] = None if content is None else self._contents.setdefault(content, content)
        return self._committed[name]


def _kept(inputs: SourceInputs) -> KeptSource:
    texts = [content.decode() for content in inputs.contents]
    return KeptSource(inputs.structure, dict(zip(map(str, inputs.files), texts, strict=True)))


def _texts(sources: tuple[KeptSource, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for source in sources:
        texts |= source.files
    return texts


def _have_digest(sources: tuple[KeptSource, ...], digest: str) -> bool:
    """Whether texts are those of a digest, or of the beginning of one."""
    inputs = []
    for source in sources:
        contents = tuple(map(_encoded, source.files.values()))
        inputs.append(SourceInputs(tuple(map(Path, source.files)), contents, source.structure, ""))
    return revision.digest_of_all(inputs).startswith(digest)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _commits(root: Path, names: list[str]) -> Iterator[str]:
    """Yield the last commits that touch some files, the newest first."""
    listed = git.answer(root, "rev-list", f"--max-count={_MOST_COMMITS}", "HEAD", "--", *names)
    yield from (listed or "").split()
