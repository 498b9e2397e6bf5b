"""Revision of a kernel source: the label that its dumps carry.

In this order: an RCS-style keyword in the source; the last git commit that touched it or a file it includes, where the
files are as that commit left them; the first 8 hex digits of the sources' hash. A file that git knows but that was
changed since is not the commit's, so it falls to its hash.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.storage import disk_errors, open_file
from gpuregress.toolchain.include_scanner import SourceInputs

MAX_LENGTH = 60
# Not `yaml`: the dump of a buffer `baseline` would be `baseline.yaml`, which lists the accepted dumps.
_LABEL = r"(?!yaml(?![0-9A-Za-z._+-]))[0-9A-Za-z](?:[0-9A-Za-z._+-]*[0-9A-Za-z+])?"
_SAFE = re.compile(_LABEL)
_RCS = re.compile(r"\$Revision:\s*(" + _LABEL + r")\s*\$")
_MACRO = re.compile(
    r'^[ \t]*#[ \t]*define[ \t]+\w*Version\w*[ \t]+"\$?Revision:\s*(' + _LABEL + r')\s*\$?\s*"', re.MULTILINE
)


def label(sources: Sequence[tuple[Path, SourceInputs]]) -> str:
    """Determine the label of sources: their keywords, the commit of all their files, or their common hash.

    Args:
        sources: each source and the files that it is made of.

    Raises:
        OSError: a file cannot be read.
    """
    words = [keyword(path) for path, _ in sources]
    joined = "-".join(dict.fromkeys(word or "" for word in words))
    if all(words) and len(joined) <= MAX_LENGTH:
        return joined
    contents: dict[Path, bytes] = {}
    unknown = ""
    for _, inputs in sources:
        contents.update(zip(inputs.files, inputs.contents, strict=True))
        unknown = unknown or inputs.unknown
    merged = SourceInputs(tuple(contents), tuple(contents.values()), "", unknown)
    return git_label(merged) or digest_of_all([inputs for _, inputs in sources])[:8]


def digest_of_all(inputs: Sequence[SourceInputs]) -> str:
    """Compute the digest of several sources, in any order; of one source, its own."""
    if len(inputs) == 1:
        return inputs[0].digest
    return hashlib.sha256("\n".join(sorted(one.digest for one in inputs)).encode()).hexdigest()


class Labels:
    """Cache of labels while jobs are planned: git is asked once for a source that many jobs share."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[tuple[Path, ...], str], ...], str] = {}

    def of_all(self, sources: Sequence[tuple[Path, SourceInputs]]) -> str:
        """The same as `label`."""
        key = tuple((inputs.files, inputs.digest) for _, inputs in sources)
        if key not in self._known:
            self._known[key] = label(sources)
        return self._known[key]


def of_program(wanted: str, source_digest: str, program: Iterable[str | bytes]) -> tuple[str, str]:
    """The label and digest of a source whose inputs are not all known: the compiled program counts, too.

    Args:
        wanted: from `label`, or the job's own.
        source_digest: of the source's inputs.
        program: the parts of the compiled program.

    Returns:
        The label and the digest.
    """
    state = hashlib.sha256(source_digest.encode())
    for part in program:
        state.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    whole = state.hexdigest()
    return (whole[:8] if wanted == source_digest[:8] else wanted), whole


def resolve(wanted: str, source_digest: str, recorded: Callable[[str], Collection[str]]) -> tuple[str, str | None]:
    """Make a label unique: two different sources never share one.

    Args:
        wanted: from `label`, or the job's own.
        source_digest: of the source's inputs.
        recorded: a label → the digests of the sources that were recorded under it.

    Returns:
        The label, and a note for the user where it is not the one that was wanted.
    """
    others = recorded(wanted)
    if not others or source_digest in others:
        return wanted, None
    unique = f"{wanted}+{source_digest[:6]}"
    return unique, f"revision {wanted} is already recorded for another source text: this one is {unique}"


def problem(text: str) -> str | None:
    """The reason why a label cannot end a file's name; None if it can."""
    if len(text) > MAX_LENGTH:
        return f"has {len(text)} characters: at most {MAX_LENGTH} are possible"
    if text == "yaml":
        return "is 'yaml': the dump of a buffer `baseline` would have the name of a file of gpuregress"
    if not _SAFE.fullmatch(text):
        return f"is {text!r}: letters, digits and . _ + - are possible, a letter or digit first"
    return None


def keyword(source: Path) -> str | None:
    """The revision that the source itself states; None if it states none."""
    if source.suffix == ".cubin":
        return None
    text = source.read_text(encoding="utf-8", errors="replace")
    match = _RCS.search(text) or _MACRO.search(text)
    return match[1] if match and len(match[1]) <= MAX_LENGTH else None


def git_label(inputs: SourceInputs) -> str | None:
    """`g` and the short hash of the last commit that touched the files; None if a file is not as committed, or unknown.

    The files' own bytes are compared with the commit's. Git's index could be told to overlook changes, and its filters
    are programs that a repository names, so neither is used.
    """
    if inputs.unknown:
        return None
    folder = inputs.files[0].parent
    real = [Path(os.path.realpath(path)) for path in inputs.files]
    if any(str(target) != os.path.normpath(path) for target, path in zip(real, inputs.files, strict=True)):
        return None  # which file a link means is in no commit of that file
    top = git.answer(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    root = Path(os.path.realpath(top.removesuffix("\n")))
    if not all(path.is_relative_to(root) for path in real):
        return None
    names = [str(path.relative_to(root)) for path in real]
    committed = _blobs(root, names)
    for name, content in zip(names, inputs.contents, strict=True):
        if committed.get(name) not in _blob_names(content):
            return None
    commit = git.answer(
        root, "log", "-1", "--format=%h", "--no-ext-diff", "--no-textconv", "--end-of-options", "--", *names
    )
    return f"g{commit.strip()}" if commit and commit.strip() else None


def _blobs(root: Path, names: Sequence[str]) -> dict[str, str]:
    """File → the name of its content in the last commit; regular files only."""
    listed = git.answer(root, "ls-tree", "-z", "--full-tree", "--end-of-options", "HEAD", "--", *names) or ""
    blobs: dict[str, str] = {}
    for entry in listed.split("\0"):
        facts, _, name = entry.partition("\t")
        if facts.startswith("100"):
            blobs[name] = facts.split()[2]
    return blobs


def _blob_names(data: bytes) -> tuple[str, str]:
    """The object names of a content, in a repository of SHA-1 or of SHA-256."""
    blob = b"blob %d\0%s" % (len(data), data)
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest(), hashlib.sha256(blob).hexdigest()


# --- what was recorded ------------------------------------------------------------------------------------------------

LEDGER = "revisions.tsv"
_ACCEPTED = "baseline.yaml"
_DIGEST = re.compile(r"^ *-? *source: '?([0-9a-f]{64})'?$", re.MULTILINE)


def record(runs: Path, labels: Collection[tuple[str, str, str]]) -> None:
    """Record the source text of a label, so that no other text gets it.

    Args:
        runs: the project's folder of runs.
        labels: job, label, source digest.

    Raises:
        StorageError: the ledger cannot be written.
    """
    known = _ledger(runs)
    new = sorted(entry for entry in set(labels) if entry[2] not in known.get(entry[:2], ()))
    if not new:
        return
    ledger = runs / LEDGER
    if ledger.exists() and not ledger.is_file():
        raise StorageError(f"{ledger} is not a regular file; move it away")
    lines = ["\t".join((*fields, _check(fields))) + "\n" for fields in new]
    with disk_errors(ledger):
        runs.mkdir(parents=True, exist_ok=True)
        if ledger.exists() and not ledger.read_bytes().endswith(b"\n"):
            lines.insert(0, "\n")  # a kill has cut the last line
        with ledger.open("a", encoding="utf-8", newline="") as file:
            file.write("".join(lines))


def _check(fields: Sequence[str]) -> str:
    """A checksum of a line of the ledger."""
    return f"{zlib.crc32(chr(9).join(fields).encode()):08x}"


def recorded(baselines: Path, runs: Path, job: str, wanted: str) -> frozenset[str]:
    """The digests of the sources that a label stands for, in the ledger and in the accepted baselines of a job.

    Args:
        baselines: the project's folder of baselines.
        runs: the project's folder of runs.
        job: its name.
        wanted: the label.
    """
    return accepted(baselines, job, wanted) | _ledger(runs).get((job, wanted), frozenset())


def accepted(baselines: Path, job: str, wanted: str) -> frozenset[str]:
    """The digests of the sources that were accepted under a label in any case of a job."""
    folder = baselines / job
    digests: set[str] = set()
    if folder.is_dir():
        for path in sorted(folder.rglob(_ACCEPTED)):
            digests |= _accepted(path, wanted)
    return frozenset(digests)


def _ledger(runs: Path) -> Mapping[tuple[str, str], frozenset[str]]:
    """Job and label → the digests recorded under it."""
    path = runs / LEDGER
    if not path.is_file():  # a pipe would be waited for
        return {}
    try:
        state = path.stat()
        return _read_ledger(path, (state.st_ino, state.st_size, state.st_mtime_ns))
    except OSError:
        return {}


@lru_cache(maxsize=1)
def _read_ledger(path: Path, _state: tuple[int, ...]) -> Mapping[tuple[str, str], frozenset[str]]:
    """Read the ledger once for all jobs of a plan, and again when it has changed."""
    recorded: dict[tuple[str, str], set[str]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        row = line.split("\t")
        if len(row) == 4 and row[3] == _check(row[:3]):
            recorded.setdefault((row[0], row[1]), set()).add(row[2])
    return {key: frozenset(digests) for key, digests in recorded.items()}


def _accepted(path: Path, wanted: str) -> set[str]:
    """Digests of the sources accepted under a label, found in a `baseline.yaml` by regular expressions."""
    try:
        with open_file(path) as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return set()
    if wanted not in text:
        return set()
    history = text.partition("\nhistory:\n")[2].partition("\nmade_of:")[0]
    label = re.compile(r"^ *revision: '?" + re.escape(wanted) + r"'?$", re.MULTILINE)
    digests: set[str] = set()
    for entry in re.split(r"^- ", history, flags=re.MULTILINE):
        if label.search(entry):
            digests.update(_DIGEST.findall(entry))
    return digests
