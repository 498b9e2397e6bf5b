"""Log of the files that a computation reads or looks for, so that its result can be kept.

`recorded` starts a log for the current thread. An audit hook enters every file that Python code opens meanwhile, and
`note` what is only looked for. What the log cannot follow, such as another process or the listing of a folder, makes
it incomplete; then the result must not be kept. A later run compares `fingerprint` of each path.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gpuregress.gpu.records import Record

LARGEST_BYTES = 4 << 20
"""Of a file that is compared by its content at each start."""
MOST_BYTES = 64 << 20
"""Of all these files together."""
MOST_PATHS = 20_000
_RECENT_NS = 2_000_000_000
"""The coarsest clock of a file system: a file that changed so lately may change again without another time."""

_UNFOLLOWED = (
    *("os.scandir", "os.system", "os.posix_spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "sqlite3.connect", "tempfile.mkstemp", "tempfile.mkdtemp"),
)
"""Audit events after which a log is incomplete."""
_ABSENT, _FOLDER = "absent", "folder"


class Stamp(Record):
    """The state of a path by its inode; of a missing one all 0."""

    inode: int = 0
    size: int = 0
    modified_ns: int = 0
    changed_ns: int = 0


class ReadLog:
    """The paths that were read or looked for.

    Attributes:
        paths: path → its state when it was read first.
        recent: path → its fingerprint then, where its state may stay the same if it changes again.
        folders: folder → the fingerprint of the names that were listed.
        unknown: why there may be more, "" where there is not.
    """

    def __init__(self) -> None:
        self.paths: dict[str, Stamp] = {}
        self.recent: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.unknown = ""
        self._is_listing = False

    def note(self, path: str) -> None:
        """Enter a path that is read or looked for."""
        if path not in self.paths:
            stamp = self.paths[path] = _stamp(path)
            if time.time_ns() - max(stamp.modified_ns, stamp.changed_ns) < _RECENT_NS:
                self.recent[path] = fingerprint(path)
            if len(self.paths) > MOST_PATHS:
                self.unknown = self.unknown or f"more than {MOST_PATHS} files"

    def on_event(self, event: str, arguments: tuple[object, ...]) -> None:
        """Take an audit event of the log's thread."""
        if event == "open":
            self._on_open(arguments[0])
        elif event == "os.listdir":
            if not self._is_listing and not _is_module_search(arguments[0]):
                self.unknown = self.unknown or event
        elif event in _UNFOLLOWED:
            self.unknown = self.unknown or event

    def _on_open(self, path: object) -> None:
        """Enter a file that is opened, also one that is written: its content is that of the end of the log."""
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str) and not _is_code(path):
            self.note(_absolute(path))

    def names(self, folder: str) -> list[str]:
        """List the names in a folder, which are then compared, too.

        Raises:
            OSError: it cannot be read.
        """
        self._is_listing = True
        try:
            listed = os.listdir(folder)  # noqa: PTH208 - names are needed, not paths
        except OSError:
            self._enter_names(folder, _ABSENT)
            raise
        finally:
            self._is_listing = False
        self._enter_names(folder, _digest_of_names(listed))
        return listed

    def _enter_names(self, folder: str, text: str) -> None:
        if self.folders.setdefault(folder, text) != text:
            self.unknown = self.unknown or f"{folder} changed"

    def fingerprints(self) -> tuple[dict[str, str], dict[str, str]] | None:
        """The fingerprints of the paths and of the folders; None where the log is incomplete, or a file has changed."""
        if self.unknown or sum(stamp.size for stamp in self.paths.values()) > MOST_BYTES:
            return None
        paths = {path: fingerprint(path) for path in self.paths}
        is_same = all(_stamp(path) == state for path, state in self.paths.items())
        is_same = is_same and all(paths[path] == text for path, text in self.recent.items())
        return (paths, self.folders) if is_same and "" not in paths.values() else None


_ACTIVE = threading.local()
_HOOKED = threading.Event()


@contextlib.contextmanager
def recorded() -> Iterator[ReadLog]:
    """Record what this thread reads."""
    if not _HOOKED.is_set():
        _HOOKED.set()
        sys.addaudithook(_on_audit)
    before, log = getattr(_ACTIVE, "log", None), ReadLog()
    _ACTIVE.log = log
    try:
        yield log
    finally:
        _ACTIVE.log = before


def note(path: Path) -> None:
    """Enter a path that is looked for into the log of this thread, if there is one."""
    log: ReadLog | None = getattr(_ACTIVE, "log", None)
    if log is not None:
        log.note(_absolute(path))


def give_up(why: str) -> None:
    """Tell the log of this thread, if there is one, that it cannot follow all that is read."""
    log: ReadLog | None = getattr(_ACTIVE, "log", None)
    if log is not None:
        log.unknown = log.unknown or why


def names(folder: Path) -> list[str]:
    """List the names in a folder, and enter it into the log of this thread, if there is one.

    Raises:
        OSError: it cannot be read.
    """
    log: ReadLog | None = getattr(_ACTIVE, "log", None)
    if log is None:
        return os.listdir(folder)  # noqa: PTH208 - names are needed, not paths
    return log.names(_absolute(folder))


def fingerprint(path: str) -> str:
    """A text that tells two states of a path apart; "" where it is not compared.

    Of a file it is the content, and for both files and folders what a link leads to.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - thousands of paths at each start
    except (OSError, ValueError):
        return _ABSENT
    real = os.path.realpath(path)
    target = "" if real == path else f" {real}"
    if stat.S_ISDIR(status.st_mode):
        return f"{_FOLDER}{target}"
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
        return ""
    import xxhash  # noqa: PLC0415 - many modules note paths, and few runs compare them

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            digest = xxhash.xxh3_128_hexdigest(file.read())
    except OSError:
        return ""
    return f"{digest}{target}"


def names_fingerprint(folder: str) -> str:
    """A text that tells two sets of names in a folder apart."""
    try:
        return _digest_of_names(os.listdir(folder))  # noqa: PTH208 - names are needed, not paths
    except OSError:
        return _ABSENT


def _digest_of_names(listed: list[str]) -> str:
    import xxhash  # noqa: PLC0415 - as above

    return xxhash.xxh3_128_hexdigest("\0".join(sorted(listed)).encode(errors="surrogateescape"))


def _absolute(path: str | Path) -> str:
    """An absolute path, without following links; `..` stays, because the folder before it may be a link."""
    text = os.fspath(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)  # noqa: PTH109, PTH118 - often called


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return Stamp()
    if stat.S_ISDIR(status.st_mode):
        return Stamp(status.st_ino)
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _on_audit(event: str, arguments: tuple[object, ...]) -> None:
    log: ReadLog | None = getattr(_ACTIVE, "log", None)
    if log is not None:
        log.on_event(event, arguments)


def _is_code(path: str) -> bool:
    """Whether a file belongs to Python, its packages or this one, whose versions are compared otherwise."""
    return path.startswith(_code_folders())


def _is_module_search(folder: object) -> bool:
    """Whether Python lists a folder to find a module there."""
    return isinstance(folder, str) and (folder in sys.path or _is_code(f"{folder}{os.sep}"))


def _code_folders() -> tuple[str, ...]:
    if not _FOLDERS:
        named = sysconfig.get_paths()
        installed = {named[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - loaded at each start
        _FOLDERS.extend(f"{folder}{os.sep}" for folder in {*installed, own})
    return tuple(_FOLDERS)


_FOLDERS: list[str] = []
