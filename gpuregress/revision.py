"""A kernel source → the label that its dumps carry.

In this order: an RCS-style keyword in the source; the last git commit that touched it or a file it includes, where the
files are as that commit left them; the first 8 hex digits of the sources' hash. A file that git knows but that was
changed since is not the commit's, so it falls to its hash.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gpuregress.storage import disk_errors
from gpuregress.toolchain import includes

MAX_LENGTH = 60
_LABEL = r"[0-9A-Za-z](?:[0-9A-Za-z._+-]*[0-9A-Za-z+])?"
_SAFE = re.compile(_LABEL)
_RCS = re.compile(r"\$Revision:\s*(" + _LABEL + r")\s*\$")
_MACRO = re.compile(
    r'^[ \t]*#[ \t]*define[ \t]+\w*Version\w*[ \t]+"\$?Revision:\s*(' + _LABEL + r')\s*\$?\s*"', re.MULTILINE
)
_GIT_SECONDS = 20


def digest(dependencies: Sequence[Path]) -> str:
    """A digest of the source's text and of every file it includes.

    Args:
        dependencies: the source first; their names and order do not count, only what they hold.

    Returns:
        64 hexadecimal digits.

    Raises:
        OSError: a file cannot be read.
    """
    contents = [hashlib.sha256(path.read_bytes()).digest() for path in dependencies]
    return hashlib.sha256(contents[0] + b"".join(sorted(contents[1:]))).hexdigest()


def label(source: Path, dependencies: Sequence[Path]) -> str:
    """The source's own label: keyword, git, or hash.

    Args:
        source: the kernel source.
        dependencies: it and every project file it includes.

    Raises:
        OSError: a file cannot be read.
    """
    return keyword(source) or git_label(dependencies) or digest(dependencies)[:8]


def resolve(wanted: str, source_digest: str, recorded: Callable[[str], Collection[str]]) -> tuple[str, str | None]:
    """The label that is used: two different sources never share one.

    Args:
        wanted: from `label`, or the job's own.
        source_digest: from `digest`.
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
    """Why a literal label cannot end a file's name; None if it can."""
    if len(text) > MAX_LENGTH:
        return f"has {len(text)} characters: at most {MAX_LENGTH} are possible"
    if not _SAFE.fullmatch(text):
        return f"is {text!r}: letters, digits and . _ + - are possible, a letter or digit first"
    return None


def keyword(source: Path) -> str | None:
    """The revision that the source itself states, None if it does not."""
    if source.suffix == ".cubin":
        return None
    text = source.read_text(encoding="utf-8", errors="replace")
    found = _RCS.search(text) or _MACRO.search(text)
    return found[1] if found and len(found[1]) <= MAX_LENGTH else None


def git_label(dependencies: Sequence[Path]) -> str | None:
    """`g` and the short hash of the last commit that touched these files, None where git cannot vouch for all."""
    folder = dependencies[0].parent
    names = [str(path) for path in dependencies]
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    tracked = _git(folder, "ls-files", "--error-unmatch", "--", *names)
    changed = _git(folder, "status", "--porcelain", "--untracked-files=all", "--", *names)
    if tracked is None or changed is None or changed.strip():
        return None
    commit = _git(folder, "log", "-1", "--format=%h", "--", *names)
    return f"g{commit.strip()}" if commit and commit.strip() else None


def _git(folder: Path, *arguments: str) -> str | None:
    """Git's answer, None where there is no git, no repository or an error."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(folder), "--literal-pathspecs", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def dependencies(source: Path, include: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The source and every project file it includes, the source first."""
    if source.suffix not in includes.SUFFIXES:
        return (source,)
    return includes.dependencies(source, include)


# --- what was recorded ------------------------------------------------------------------------------------------------

LEDGER = "revisions.tsv"
_ACCEPTED = "baseline.yaml"
_DIGEST = re.compile(r"^ *-? *source: '?([0-9a-f]{64})'?$", re.MULTILINE)


def record(runs: Path, labels: Collection[tuple[str, str, str]]) -> None:
    """Remembers which source text a label stands for, so that no other text gets it.

    Args:
        runs: the project's folder of runs.
        labels: job, label, source digest.

    Raises:
        StorageError: the ledger cannot be written.
    """
    known = _ledger(runs)
    new = sorted(set(labels) - known)
    if not new:
        return
    with disk_errors(runs / LEDGER):
        runs.mkdir(parents=True, exist_ok=True)
        with (runs / LEDGER).open("a", encoding="utf-8", newline="") as file:
            file.write("".join("\t".join(fields) + "\n" for fields in new))


def recorded(baselines: Path, runs: Path, job: str, wanted: str) -> frozenset[str]:
    """The digests of the sources that a label stands for, in the ledger and in the accepted baselines of a job.

    Args:
        baselines: the project's folder of baselines.
        runs: the project's folder of runs.
        job: its name.
        wanted: the label.
    """
    seen = {digest for name, label, digest in _ledger(runs) if (name, label) == (job, wanted)}
    return accepted(baselines, job, wanted) | seen


def accepted(baselines: Path, job: str, wanted: str) -> frozenset[str]:
    """The digests of the sources that were accepted under a label in any case of a job."""
    folder = baselines / job
    paths = sorted(folder.rglob(_ACCEPTED)) if folder.is_dir() else []
    return frozenset(digest for path in paths for digest in _accepted(path, wanted))


def _ledger(runs: Path) -> set[tuple[str, str, str]]:
    try:
        text = (runs / LEDGER).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    rows = (line.split("\t") for line in text.splitlines())
    return {(row[0], row[1], row[2]) for row in rows if len(row) == 3}


def _accepted(path: Path, wanted: str) -> set[str]:
    """Revisions and digests of a `baseline.yaml`, read by its look: its own room judges whether it is whole."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    if wanted not in text:
        return set()
    history = text.partition("\nhistory:\n")[2].partition("\nmade_of:")[0]
    entries = re.split(r"^- ", history, flags=re.MULTILINE)
    label = re.compile(r"^ *revision: '?" + re.escape(wanted) + r"'?$", re.MULTILINE)
    return {digest for entry in entries if label.search(entry) for digest in _DIGEST.findall(entry)}
