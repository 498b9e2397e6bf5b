"""The accepted dumps: one folder a case, changed all at once or not at all, and never trusted when edited by hand.

    baselines/reduce/n=1000,tile=128/sum.1.4          a dump
    baselines/reduce/n=1000,tile=128/baseline.yaml    which dumps are accepted, and what made them
    baselines/reduce/n=1000,tile=128/first/sum.1.2    the first one ever accepted, where drift is watched
    baselines/reduce/n=1000,tile=128/sm_80/           the same for one architecture, or for `cpu` or `cuda`: it comes
                                                      before the common one

`baseline.yaml` decides: dumps are copied in first, then it is renamed into place, then what nothing names any more is
removed. A new dump whose name is taken by another content waits under a hidden name until `baseline.yaml` is in place.
So a kill at any moment leaves the old baseline whole, or the new one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpuregress.errors import BaselineError
from gpuregress.records import Acceptance, Baseline, Case, Dump, MadeOf, Outcome, Program, from_json, to_json
from gpuregress.storage import (
    copy_file,
    digest_file,
    digest_text,
    disk_errors,
    dump_name,
    lock,
    read_bytes,
    safe_join,
    split_name,
    sync_folder,
    write_atomic,
)

VERSION = 1
FILE = "baseline.yaml"
FIRST = "first"
LOCK_WAIT_S = 10.0

_STAGED = ".gpuregress-new-"
_HEAD = "# Written by `gpuregress accept`. Not to be edited: the last line is a digest of all above it.\n"
_ARCH = re.compile(r"sm_\d+[a-z]?|cpu|cuda")
_AGAIN = "take it from version control again, or accept the case anew"


@dataclass(frozen=True, slots=True)
class Entry:
    """A dump as `baseline.yaml` records it: its revision, type and digests."""

    revision: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str


@dataclass(frozen=True, slots=True)
class Document:
    """All that `baseline.yaml` holds.

    Attributes:
        version: of this format.
        revision: the one accepted last.
        made_of: what made it.
        dumps: buffer → its accepted dump.
        first: buffer → the first dump accepted; its file is in `first/` unless it is still the accepted one.
        history: every accept, the oldest first.
    """

    version: int
    revision: str
    made_of: MadeOf
    dumps: Mapping[str, Entry]
    first: Mapping[str, Entry]
    history: tuple[Acceptance, ...]


def render(document: Document) -> bytes:
    """`baseline.yaml` as text: sorted, a fact a line, closed by its own digest."""
    import yaml  # noqa: PLC0415 - only accepts need it

    data = to_json(document)
    body = _HEAD + yaml.safe_dump(data, default_flow_style=False, width=1 << 20)
    return f"{body}whole: {digest_text(body.encode())}\n".encode()


def parse(data: bytes, path: Path) -> Document:
    """Reads `baseline.yaml`.

    Raises:
        BaselineError: it was cut short or edited, or is of another version.
    """
    import yaml  # noqa: PLC0415 - only where there is a baseline

    body, mark, digest = data.rpartition(b"whole: ")
    if not mark or digest != digest_text(body).encode() + b"\n":
        raise BaselineError(f"{path}: cut short or edited by hand; {_AGAIN}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(body, loader)  # noqa: S506 - both are safe loaders
        if content.get("version") != VERSION:
            raise BaselineError(f"{path}: written in version {content.get('version')}; this gpuregress reads {VERSION}")
        return from_json(Document, content)
    except (yaml.YAMLError, TypeError, AttributeError, ValueError) as error:
        raise BaselineError(f"{path}: not a baseline of version {VERSION} ({_line(error)}); {_AGAIN}") from None


def made_of(case: Case, outcome: Outcome, program: Program | None, launches: Sequence[str]) -> MadeOf:
    """What a run's results are made of.

    Args:
        case: what was run.
        outcome: what the worker said of it.
        program: what its source was compiled to.
        launches: `launchlog.render` of each launch.
    """
    device = outcome.device
    options = program.options if program else case.source.options
    return MadeOf(
        source=case.source_digest,
        inputs=dict(outcome.inputs),
        seed=case.seed,
        compiler=program.compiler if program else "",
        options=_without_folders(options),
        contract=case.source.contract,
        arch=program.arch if program else case.source.arch,
        device=device.model if device else "",
        card=device.extra.get("uuid", "") if device else "",
        driver=device.driver if device else "",
        launches=tuple(dict.fromkeys(launches)),
        resources=outcome.resources,
        determinism=outcome.extra.get("determinism", {}),
    )


class Store:
    """The accepted dumps of a project.

    Args:
        folder: the project's `baselines`.
        lock_file: held while something is accepted; by default a hidden file in the folder.
    """

    def __init__(self, folder: Path, lock_file: Path | None = None) -> None:
        self.folder = folder
        self._lock_file = lock_file or folder / ".gpuregress-lock"

    # --- reading ------------------------------------------------------------------------------------------------------

    def load(self, case: str, arch: str | Sequence[str] = ()) -> Baseline | None:
        """A case's baseline, its dumps' files compared with their digests; None where none was accepted.

        Args:
            case: the case's name.
            arch: `sm_80`, `cpu`, `cuda`, or several, the nearest first: their own baselines come before the common one.

        Raises:
            BaselineError: a file of it was cut short, edited, or is gone.
            StorageError: it cannot be read.
        """
        common = safe_join(self.folder, case)
        for of in (*([arch] if isinstance(arch, str) else arch), ""):
            if (common / of / FILE).is_file():
                return _load_steadily(common / of, case, of)
        return None

    def kinds(self, case: str) -> tuple[str, ...]:
        """The architectures and devices that have a baseline of their own, "" for the common one."""
        common = safe_join(self.folder, case)
        parts = [path.parent.name for path in common.glob(f"*/{FILE}") if _ARCH.fullmatch(path.parent.name)]
        return (*([""] if (common / FILE).is_file() else []), *sorted(parts))

    def case_names(self) -> tuple[str, ...]:
        """The cases that have a baseline, sorted."""
        folders = (path.parent for path in self.folder.rglob(FILE))
        return tuple(sorted({self._case_of(folder.relative_to(self.folder)) for folder in folders}))

    @staticmethod
    def _case_of(folder: Path) -> str:
        """The case of a folder that holds a `baseline.yaml`; a job itself may be called `cpu`."""
        return (folder.parent if len(folder.parts) > 1 and _ARCH.fullmatch(folder.name) else folder).as_posix()

    def revisions(self, case: str) -> tuple[str, ...]:
        """The revisions of which dumps of this case lie here, accepted or not, sorted."""
        return tuple(sorted({revision for _, revision, _ in _dumps(safe_join(self.folder, case))}))

    def find(self, case: str, revision: str) -> dict[str, Path]:
        """Buffer → the dump of a revision that lies here, accepted or not."""
        return {buffer: path for buffer, of, path in _dumps(safe_join(self.folder, case)) if of == revision}

    def sources(self, case: str) -> dict[str, str]:
        """Every revision ever accepted → the digest of its source: two sources never share a name.

        Raises:
            BaselineError: `baseline.yaml` was cut short or edited.
        """
        document = _document(safe_join(self.folder, case))
        return {event.revision: event.source for event in document.history} if document else {}

    def histories(self, case: str) -> dict[str, tuple[Acceptance, ...]]:
        """Every accept of a case, the oldest first, by architecture or device; "" is the common baseline's.

        Raises:
            BaselineError: `baseline.yaml` was cut short or edited.
        """
        common = safe_join(self.folder, case)
        found = {kind: _document(common / kind) for kind in self.kinds(case)}
        return {kind: document.history for kind, document in found.items() if document is not None}

    # --- writing ------------------------------------------------------------------------------------------------------

    def accept(
        self,
        case: Case,
        outcome: Outcome,
        facts: MadeOf,
        *,
        run: str = "",
        who: str = "",
        why: str = "",
        buffers: Collection[str] | None = None,
        drift: Collection[str] = (),
        anew: Collection[str] = (),
        arch: str = "",
        keep: bool = False,
    ) -> Baseline:
        """Makes a run's dumps the baseline.

        Args:
            case: what was run.
            outcome: its dumps.
            facts: from `made_of`.
            run: its name.
            who: who accepts.
            why: the message of `-m`.
            buffers: only these; the others stay as they were accepted.
            drift: buffers whose first accepted dump is kept for good, to see small steps add up.
            anew: those of them that changed on purpose: their first dump is this one.
            arch: accept for this architecture or device only.
            keep: leave the dumps of earlier revisions where they are.

        Raises:
            BaselineError: the run faulted, or a dump was changed since.
            RunLocked: somebody else is accepting.
            StorageError: no space, no permission.
        """
        if outcome.state != "done" or outcome.fault is not None:
            raise BaselineError(
                f"{case.name}: its run ended with {outcome.state}; only a case that ran to its end is accepted"
            )
        dumps = {d.buffer: d for d in outcome.dumps if buffers is None or d.buffer in buffers}
        if not dumps:
            raise BaselineError(f"{case.name}: the run left no dump to accept; run it again")
        folder = safe_join(self.folder, f"{case.name}/{arch}" if arch else case.name)
        event = Acceptance(case.revision, facts.source, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", who, why, run)
        with lock(self._lock_file, timeout=LOCK_WAIT_S):
            old = _document(folder) if buffers is not None else _document_if_whole(folder)
            entries = {d.buffer: _entry(d, case.revision) for d in dumps.values()}
            kept = {} if old is None or buffers is None else old.dumps
            history = (*(old.history if old else ()), event)
            first = _first(old, entries, drift, anew)
            document = Document(VERSION, case.revision, facts, {**kept, **entries}, first, history)
            _put(folder, old, document, dumps, keep=keep)
            return _load(folder, case.name, arch)

    def remove(self, case: str) -> None:
        """Removes a case's baseline with all its revisions.

        Raises:
            RunLocked: somebody is accepting.
            StorageError: it cannot be removed.
        """
        folder = safe_join(self.folder, case)
        parts = [folder / name for name in self.kinds(case) if name]
        with lock(self._lock_file, timeout=LOCK_WAIT_S), disk_errors(folder, "remove"):
            for part in (folder, *parts):
                (part / FILE).unlink(missing_ok=True)
                for _, _, path in (*_dumps(part), *_dumps(part / FIRST)):
                    path.unlink(missing_ok=True)
            for empty in (folder / FIRST, *(part / FIRST for part in parts), *parts, folder, folder.parent):
                with contextlib.suppress(OSError):  # not there, or other cases of the job are in it
                    empty.rmdir()


# --- loading ----------------------------------------------------------------------------------------------------------


def _load_steadily(folder: Path, case: str, arch: str) -> Baseline:
    """Loads, once more where somebody accepted in the midst of it."""
    before = read_bytes(folder / FILE)
    try:
        return _load(folder, case, arch)
    except BaselineError:
        if read_bytes(folder / FILE) == before:
            raise
        return _load(folder, case, arch)


def _load(folder: Path, case: str, arch: str) -> Baseline:
    document = parse(read_bytes(folder / FILE), folder / FILE)
    dumps = {buffer: _whole(folder, buffer, entry) for buffer, entry in document.dumps.items()}
    first = {buffer: _whole_first(folder, buffer, document) for buffer in document.first}
    revisions = {buffer: entry.revision for buffer, entry in document.dumps.items()}
    path = str((folder / FILE).absolute())
    return Baseline(case, path, document.revision, document.made_of, dumps, document.history, first, arch, revisions)


def _document(folder: Path) -> Document | None:
    path = folder / FILE
    return parse(read_bytes(path), path) if path.is_file() else None


def _document_if_whole(folder: Path) -> Document | None:
    """The old document; a damaged one is as good as none when all of it is replaced."""
    with contextlib.suppress(BaselineError):
        return _document(folder)
    return None


def _whole(folder: Path, buffer: str, entry: Entry) -> Dump:
    """A dump whose file is what was accepted, under its own name or, after a kill, still under the hidden one."""
    named, staged = folder / dump_name(buffer, entry.revision), _staged(folder, buffer, entry)
    for path in (named, staged):
        if path.is_file() and digest_file(path) == entry.text_digest:
            return Dump(buffer, str(path.absolute()), entry.dtype, entry.shape, entry.digest, entry.text_digest)
    if not named.exists():
        raise BaselineError(f"{named}: missing, though {FILE} beside it names it; {_AGAIN}")
    raise BaselineError(f"{named}: cut short or edited since it was accepted; {_AGAIN}")


def _whole_first(folder: Path, buffer: str, document: Document) -> Dump:
    entry = document.first[buffer]
    is_accepted = document.dumps.get(buffer) == entry
    return _whole(folder if is_accepted else folder / FIRST, buffer, entry)


def _dumps(folder: Path) -> Iterator[tuple[str, str, Path]]:
    if not folder.is_dir():
        return
    with disk_errors(folder, "read"):
        paths = sorted(folder.iterdir())
    for path in paths:
        named = split_name(path.name)
        if named and path.is_file():
            yield (*named, path)


# --- accepting --------------------------------------------------------------------------------------------------------


def _put(folder: Path, old: Document | None, new: Document, dumps: Mapping[str, Dump], *, keep: bool) -> None:
    """Changes a folder from one document to the next; what stands at each moment is one of the two."""
    finish = [_copy_in(folder, dump, new.dumps[buffer], old) for buffer, dump in dumps.items()]
    for buffer, entry in new.first.items():
        if old is not None and new.dumps.get(buffer) != entry:
            _keep_first(folder, buffer, entry)
    write_atomic(folder / FILE, render(new))
    for step in finish:
        step()
    with disk_errors(folder):
        sync_folder(folder)
        _tidy(folder, new, keep=keep)


def _copy_in(folder: Path, dump: Dump, entry: Entry, old: Document | None) -> Callable[[], object]:
    """Copies a dump beside the accepted ones; returns what is left to do once `baseline.yaml` names it."""
    source, target = Path(dump.path), folder / dump_name(dump.buffer, entry.revision)
    if digest_file(source) != dump.text_digest:
        raise BaselineError(f"{source}: changed since the run wrote it; run the case again")
    if target.is_file() and digest_file(target) == entry.text_digest:
        return lambda: None
    is_in_use = old is not None and dump.buffer in old.dumps and old.dumps[dump.buffer].revision == entry.revision
    if not is_in_use:
        copy_file(source, target)
        return lambda: None
    staged = _staged(folder, dump.buffer, entry)
    copy_file(source, staged)

    def rename() -> None:
        with disk_errors(target):
            staged.replace(target)

    return rename


def _keep_first(folder: Path, buffer: str, entry: Entry) -> None:
    kept = folder / FIRST / dump_name(buffer, entry.revision)
    if not kept.is_file():
        copy_file(Path(_whole(folder, buffer, entry).path), kept)


def _first(
    old: Document | None, entries: Mapping[str, Entry], drift: Collection[str], anew: Collection[str]
) -> dict[str, Entry]:
    """The first accepted dump of each buffer whose drift is watched; a new type or shape begins anew."""
    before = {} if old is None else {**old.dumps, **old.first}
    first = {}
    for buffer in drift:
        now, then = entries.get(buffer), before.get(buffer)
        if now is None:
            if then is not None:
                first[buffer] = then
        else:
            is_alike = buffer not in anew and then is not None and (then.dtype, then.shape) == (now.dtype, now.shape)
            first[buffer] = then if then is not None and is_alike else now
    return first


def _tidy(folder: Path, document: Document, *, keep: bool) -> None:
    """Removes what an earlier accept left: hidden files, and dumps of earlier revisions that nothing names."""
    named = {dump_name(buffer, entry.revision) for buffer, entry in document.dumps.items()}
    earlier = {event.revision.replace("/", "-") for event in document.history}
    for path in folder.glob(f"{_STAGED}*"):
        path.unlink(missing_ok=True)
    for _, revision, path in _dumps(folder):
        if not keep and path.name not in named and revision in earlier:
            path.unlink(missing_ok=True)
    firsts = {dump_name(buffer, entry.revision) for buffer, entry in document.first.items()}
    for _, _, path in _dumps(folder / FIRST):
        if path.name not in firsts:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not there, or not empty
        (folder / FIRST).rmdir()


def _staged(folder: Path, buffer: str, entry: Entry) -> Path:
    return folder / f"{_STAGED}{entry.text_digest[:16]}-{buffer}"


def _entry(dump: Dump, revision: str) -> Entry:
    return Entry(revision, dump.dtype, dump.shape, dump.digest, dump.text_digest)


def _without_folders(options: Sequence[str]) -> tuple[str, ...]:
    """Options less those that name folders of this machine, which decide nothing that the source's digest does not."""
    kept, skip = [], False
    for option in options:
        is_folder = skip or re.match(r"(-I|-isystem|--include-path|--pre-include|-include)", option) is not None
        skip = not skip and option in ("-I", "-isystem", "--include-path", "--pre-include", "-include")
        if not is_folder and not re.search(r"(^|=)/", option):
            kept.append(option)
    return tuple(kept)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
