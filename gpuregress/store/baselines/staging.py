"""Atomic replacement of a folder of accepted dumps, and its verified loading."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.errors import BaselineError
from gpuregress.foundation.records import Baseline, Dump
from gpuregress.foundation.storage import (
    SUFFIX,
    compressed_path,
    copy_file,
    digest_file,
    disk_errors,
    dump_name,
    find_dump,
    is_compressed,
    read_bytes,
    split_name,
    sync_all,
    write_beside,
)
from gpuregress.gpu.records import MutableRecord, replace
from gpuregress.store import remote
from gpuregress.store.baselines.manifest import AGAIN, FILE, Manifest, ManifestEntry, parse, render

FIRST = "first"

_STAGED = ".gpuregress-new-"


# --- loading ----------------------------------------------------------------------------------------------------------


def load_steadily(folder: Path, case: str, arch: str, dumps: str = "") -> Baseline:
    """Load a baseline, again if it was replaced meanwhile."""
    before = read_bytes(folder / FILE)
    try:
        return load(folder, case, arch, dumps)
    except BaselineError:
        if read_bytes(folder / FILE) == before:
            raise
        return load(folder, case, arch, dumps)


def load(folder: Path, case: str, arch: str, url: str = "") -> Baseline:
    """Load a baseline and verify its dumps; those that are only in the remote folder are verified when fetched.

    Raises:
        BaselineError: a file of it was cut short, edited, or is gone.
    """
    document = parse(read_bytes(folder / FILE), folder / FILE)
    return Baseline(
        case=case,
        path=str((folder / FILE).absolute()),
        revision=document.revision,
        made_of=document.made_of,
        dumps={buffer: _whole(folder, buffer, entry, url) for buffer, entry in document.dumps.items()},
        history=document.history,
        first={buffer: _whole_first(folder, buffer, document, url) for buffer in document.first},
        arch=arch,
        launch_digests=document.launch_digests,
        timings=document.timings,
    )


def document_in(folder: Path) -> Manifest | None:
    """Load the manifest of a folder; None if there is none."""
    path = folder / FILE
    if not os.path.lexists(path):
        return None
    return parse(read_bytes(path), path)


def document_if_whole(folder: Path) -> Manifest | None:
    """Load the manifest of a folder; None also if it is damaged, for all of it is replaced."""
    with contextlib.suppress(BaselineError):
        return document_in(folder)
    return None


def _whole(folder: Path, buffer: str, entry: ManifestEntry, url: str = "") -> Dump:
    """Verify the file of a dump, under its own name or, after a kill, still under the hidden one."""
    dump = Dump(
        buffer=buffer, path="", dtype=entry.dtype, shape=entry.shape, digest=entry.digest, text_digest=entry.text_digest
    )
    named = folder / dump_name(buffer, entry.revision)
    compressed = compressed_path(named)
    for path in (named, compressed, _staged(folder, buffer, entry)):
        if path.is_file() and digest_file(path) == entry.text_digest:
            return replace(dump, path=str(path.absolute()))
    if url:  # what is beside baseline.yaml is left of an accept before the dumps moved
        return remote.described(url, dump, entry.revision)
    if compressed.exists():
        named = compressed
    if not named.exists():
        raise BaselineError(
            f"{named}: missing, though {FILE} beside it names it; {AGAIN}, or set `folders: dumps` if it is kept there"
        )
    raise BaselineError(f"{named}: cut short or edited since it was accepted; {AGAIN}")


def _whole_first(folder: Path, buffer: str, document: Manifest, url: str = "") -> Dump:
    entry = document.first[buffer]
    if document.dumps.get(buffer) != entry:
        folder = folder / FIRST
    return _whole(folder, buffer, entry, url)


def dumps_in(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """List every dump in a folder, accepted or not: its buffer, revision and path."""
    if not folder.is_dir():
        return
    with disk_errors(folder, "read"):
        paths = sorted(folder.iterdir())
    for path in paths:
        named = split_name(path.name)
        if named and path.is_file():
            yield (*named, path)


# --- accepting --------------------------------------------------------------------------------------------------------


class StagedChange(MutableRecord):
    """A staged replacement of one folder: its new files are written under hidden names.

    Attributes:
        folder: the folder.
        document: what it will hold.
        files: every new file.
        names: buffer → the name of its accepted dump's file, of those beside `baseline.yaml`.
        uploads: dumps that the remote folder must have before: here, and there.
        renames: what `commit` renames, `baseline.yaml` first: from then on the new manifest is valid.
    """

    folder: Path
    document: Manifest
    files: list[Path] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    uploads: list[tuple[Dump, Dump]] = field(default_factory=list)
    renames: list[tuple[Path, Path]] = field(default_factory=list)

    def is_pending(self) -> bool:
        """Tell whether the old manifest is still in place."""
        return self.renames[0][0].exists()

    def discard(self) -> None:
        """Remove the new files."""
        for path in self.files:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def stage(folder: Path, old: Manifest | None, new: Manifest, dumps: Mapping[str, Dump], url: str = "") -> StagedChange:
    """Write the new contents of a folder beside the old ones, not flushed.

    Raises:
        BaselineError: a dump was changed since the run wrote it.
        StorageError: no space, no permission.
    """
    change = StagedChange(folder, new)
    try:
        for buffer, dump in dumps.items():
            if url:
                _upload(change, dump, new.dumps[buffer], url)
            else:
                _copy_in(change, dump, new.dumps[buffer], old)
        for buffer, entry in new.first.items():
            if old is not None and new.dumps.get(buffer) != entry:
                if url:
                    _upload_first(change, buffer, old, entry, url)
                else:
                    _keep_first(change, buffer, entry)
        written = write_beside(folder / FILE, render(new))
    except BaseException:
        change.discard()
        raise
    change.files.append(written)
    change.renames.insert(0, (written, folder / FILE))
    return change


def commit(root: Path, changes: Sequence[StagedChange]) -> None:
    """Put staged folders in place: a kill at any moment leaves each of them old or new.

    The new files are on disk, and remote dumps are uploaded, before the first rename: no `baseline.yaml` names what a
    power cut could take, or what is not there.

    Args:
        root: the folder of all baselines; new folders below it are put on disk, too.
        changes: of different folders.

    Raises:
        StorageError: the disk fails.
        BaselineError: a dump could not be uploaded.
    """
    files: list[Path] = []
    uploads: list[tuple[Dump, Dump]] = []
    for change in changes:
        files += change.files
        uploads += change.uploads
    parents: set[Path] = set()
    for path in files:
        parents.update(parent for parent in path.parents if parent.is_relative_to(root))
    try:
        remote.upload_all(uploads)
        sync_all(files, parents)
        for change in changes:
            for source, target in change.renames:
                with disk_errors(target):
                    source.replace(target)
    except BaseException:
        for change in changes:
            if change.is_pending():
                change.discard()
        raise
    sync_all((), {change.folder for change in changes})
    for change in changes:
        with disk_errors(change.folder):
            _tidy(change)


def _copy_in(change: StagedChange, dump: Dump, entry: ManifestEntry, old: Manifest | None) -> None:
    """Copy a dump beside the accepted ones; under a hidden name if its own is in use."""
    source, plain = Path(dump.path), change.folder / dump_name(dump.buffer, entry.revision)
    if digest_file(source) != dump.text_digest:
        raise BaselineError(f"{source}: changed since the run wrote it; run the case again")
    compressed = compressed_path(plain)
    for target in (plain, compressed):
        change.names[dump.buffer] = target.name
        if target.is_file() and not target.is_symlink() and digest_file(target) == entry.text_digest:
            return
    target = new = compressed if source.name.endswith(SUFFIX) else plain
    change.names[dump.buffer] = target.name
    if old is not None and dump.buffer in old.dumps and old.dumps[dump.buffer].revision == entry.revision:
        new = _staged(change.folder, dump.buffer, entry)
        change.renames.append((new, target))
    copy_file(source, new, durable=False)
    change.files.append(new)


def _upload(change: StagedChange, dump: Dump, entry: ManifestEntry, url: str) -> None:
    if digest_file(Path(dump.path)) != dump.text_digest:
        raise BaselineError(f"{dump.path}: changed since the run wrote it; run the case again")
    change.uploads.append((dump, remote.described(url, dump, entry.revision)))


def _upload_first(change: StagedChange, buffer: str, old: Manifest, entry: ManifestEntry, url: str) -> None:
    """Upload the first accepted dump, if it is still beside `baseline.yaml`."""
    folder = change.folder
    if old.dumps.get(buffer) != entry:
        folder = folder / FIRST
    kept = _whole(folder, buffer, entry, url)
    if not kept.remote:
        change.uploads.append((kept, remote.described(url, kept, entry.revision)))


def _keep_first(change: StagedChange, buffer: str, entry: ManifestEntry) -> None:
    kept = find_dump(change.folder / FIRST, buffer, entry.revision)
    # A file of that name may be left of a first dump before this one, where the label stayed and the dump did not.
    if not kept.is_file() or digest_file(kept) != entry.text_digest:
        source = Path(_whole(change.folder, buffer, entry).path)
        kept = change.folder / FIRST / dump_name(buffer, entry.revision)
        if is_compressed(source):
            kept = compressed_path(kept)
        copy_file(source, kept, durable=False)
        change.files.append(kept)


def first_dumps(
    old: Manifest | None, entries: Mapping[str, ManifestEntry], drift: Collection[str], anew: Collection[str]
) -> dict[str, ManifestEntry]:
    """Return the first accepted dump of each buffer whose drift is watched; a new type or shape begins anew."""
    before: dict[str, ManifestEntry] = {}
    if old is not None:
        before = {**old.dumps, **old.first}
    first = {}
    for buffer in drift:
        now, then = entries.get(buffer), before.get(buffer)
        if now is None and then is not None:
            first[buffer] = then
        elif now is not None:
            first[buffer] = now
            if then is not None and buffer not in anew and (then.dtype, then.shape) == (now.dtype, now.shape):
                first[buffer] = then
    return first


def _tidy(change: StagedChange) -> None:
    """Remove hidden files, and dumps of earlier revisions that the manifest does not name."""
    folder, document = change.folder, change.document
    named = set(change.names.values())
    earlier = {event.revision.replace("/", "-") for event in document.history}
    for path in folder.glob(f"{_STAGED}*"):
        path.unlink(missing_ok=True)
    for _, revision, path in dumps_in(folder):
        if path.name not in named and revision in earlier:
            path.unlink(missing_ok=True)
    firsts = set()
    for buffer, entry in document.first.items():
        if document.dumps.get(buffer) != entry and not change.uploads:
            firsts.add(dump_name(buffer, entry.revision))
    for _, _, path in dumps_in(folder / FIRST):
        if path.name.removesuffix(SUFFIX) not in firsts:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not there, or not empty
        (folder / FIRST).rmdir()


def _staged(folder: Path, buffer: str, entry: ManifestEntry) -> Path:
    return folder / f"{_STAGED}{entry.text_digest[:16]}-{buffer}"
