"""Journal of a run, `verdicts.jsonl`: the plan, then each verdict as it is reached, then the end.

    {"start": JournalStart}         the first line, on disk (fdatasync) before anything runs; and one each time that the
                                    run is continued: at another commit, the verdicts before it do not count
    {"verdict": JournalEntry}       one a case, in the order in which they were reached
    {"end": JournalEnd}             the last line: the run is over

Each line is a JSON object of one key; its value is a record as `records.to_plain` writes it (NaN and infinities as
Python's json does), closed by `digest`, the xxh3-128 of the line before it. In the last line `before` is the xxh3-128
of all earlier lines. A line is one write in append mode: a kill takes at most the line that was being written, a power
cut may take the last ones. The process of a run holds a lock (flock) on the file from before the file has its name, and
the system frees it when that process ends. So a journal without an end that nobody holds is that of a run which was cut
short.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import time
from functools import cached_property
from pathlib import Path

import xxhash

from gpuregress.foundation import storage
from gpuregress.foundation.errors import RunLocked, StorageError
from gpuregress.foundation.records import (
    Case,
    FalseAlarms,
    MadeOf,
    Missing,
    NightChanges,
    RunKind,
    ShardPart,
    State,
    Verdict,
    from_json,
    to_plain,
)
from gpuregress.gpu.records import Record

FILE = "verdicts.jsonl"
RESULTS = "results.json"
VERSION = 1
_AGAIN = "run the cases again"
_SILENT_S = 24 * 3600.0
_TAIL = 1 << 16


class Process(Record):
    """Identity of a process; `boot` is Linux's boot_id, "" where there is none."""

    pid: int
    host: str
    boot: str


class JournalStart(Record):
    """The plan of a run.

    Attributes:
        version: of the format.
        run: its name.
        started: ISO 8601, UTC.
        device: as `cpu`.
        kind: `run`, `nightly` or `experiment`.
        gpuregress: its version.
        process: the one that runs it.
        cases: every planned case, in order.
        owed: the cases that did not pass in the run which `--rerun-failed` goes on with, planned here or not.
        commit: the full hash of the checked out commit, "" outside of git.
        dirty: whether the work tree had changes.
        night: the first run of the night that it belongs to, on another device; "" for a run that is the first.
        overrides: the values of `--set`, as `n=4096`; `--rerun-failed` takes them, too.
        shard: the part of the planned cases that it has; None for all.
        options: those that decide how strictly its cases are judged, as `--check races`.
    """

    version: int
    run: str
    started: str
    device: str
    kind: RunKind
    gpuregress: str
    process: Process
    cases: tuple[str, ...]
    owed: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    dirty: bool = False
    night: str = ""
    overrides: tuple[str, ...] = ()
    shard: ShardPart | None = None
    options: tuple[str, ...] = ()


class JournalEntry(Record):
    """A case that has its verdict.

    Attributes:
        verdict: with the worker's outcome.
        case: without its launches; None where it did not run.
        made_of: the inputs that decided its results; None where it did not run.
        launches: digest of the case's launches; "" where it did not run.
    """

    verdict: Verdict
    case: Case | None = None
    made_of: MadeOf | None = None
    launches: str = ""


class JournalEnd(Record):
    """The end of a run.

    Attributes:
        state: how it ended.
        seconds: wall time.
        exit_code: the run's; 4 where it was cut short.
        results: xxh3-128 of results.json.
        cut: where it was cut short, in words.
        missing: cases that are gone and count as failures.
        log: xxh3-128 of the launch log, "" where there is none.
        changes: of a nightly run, compared with the nights before it.
        false_alarms: of the timed cases.
    """

    state: State
    seconds: float
    exit_code: int
    notes: tuple[str, ...]
    results: str
    cut: str = ""
    remarks: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    log: str = ""
    changes: NightChanges | None = None
    false_alarms: FalseAlarms | None = None


JournalRecord = JournalStart | JournalEntry | JournalEnd


class Journal(Record, dict=True):
    """The content of a journal.

    Attributes:
        path: the file.
        start: the first line.
        entries: the verdicts, in the order in which they were reached.
        end: None while the run goes on, and after it was cut short.
    """

    path: Path
    start: JournalStart
    entries: tuple[JournalEntry, ...]
    end: JournalEnd | None

    @cached_property
    def state(self) -> State:
        """How the run ended, or whether it goes on."""
        if self.end is not None:
            return self.end.state
        return "running" if _is_alive(self.path, self.start.process) else "cut short"

    @property
    def judged(self) -> dict[str, JournalEntry]:
        """Case → its entry."""
        return {entry.verdict.case: entry for entry in self.entries}

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The planned cases without a verdict."""
        judged = self.judged
        return tuple(name for name in self.start.cases if name not in judged)

    @property
    def not_passed(self) -> tuple[str, ...]:
        """The cases that `--rerun-failed` runs: those that were planned or owed and did not pass.

        A case that this run left out for its device counts as passed only where no earlier run owes it.
        """
        owed = set(self.start.owed)
        statuses = {entry.verdict.case: entry.verdict.status for entry in self.entries}
        not_passed = dict.fromkeys((*self.start.cases, *statuses, *self.start.owed))  # broken jobs have verdicts, too
        for name, status in statuses.items():
            if status == "pass" or (status == "skip" and name not in owed):
                del not_passed[name]
        return tuple(not_passed)

    @property
    def process(self) -> str:
        """The process of the run, in words."""
        return f"process {self.start.process.pid} on {self.start.process.host}"


class JournalWriter:
    """Writer of the journal of a run that goes on; holds the lock that shows it.

    Args:
        folder: the run's, which no other process knows yet.
        start: the first line; of a run that was cut short or interrupted, the line that continues it.
        is_new: whether the run begins.

    Raises:
        RunLocked: the run that should be continued goes on.
        StorageError: no space, no permission.
    """

    def __init__(self, folder: Path, start: JournalStart, *, is_new: bool = True) -> None:
        self._path = folder / FILE
        self._unwritten = bytearray()
        self._digest = xxhash.xxh3_128()
        flags = os.O_WRONLY | os.O_APPEND
        if is_new:
            flags |= os.O_CREAT | os.O_EXCL
        with storage.disk_errors(self._path):
            self._descriptor = os.open(self._path, flags, 0o644)
        try:
            if is_new:
                # Without locks in the file system, `_is_alive` looks for the process.
                with contextlib.suppress(OSError):
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                self._continue(folder)
            self._append("start", start)
            with storage.disk_errors(self._path):
                os.fdatasync(self._descriptor)
        except BaseException:
            self.close()
            raise

    def _continue(self, folder: Path) -> None:
        """Take back the end of the run, and a line that was cut off."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunLocked(f"run {folder.name} goes on in another process") from None
        except OSError:  # a file system without locks
            pass
        data = storage.read_bytes(self._path)
        size, kept = 0, 0
        for line in data.splitlines(keepends=True):
            size += len(line)
            if line.endswith(b"\n") and isinstance(_parse(line.rstrip(b"\n")), JournalStart | JournalEntry):
                kept = size
        with storage.disk_errors(self._path):
            (folder / RESULTS).unlink(missing_ok=True)  # it comes after the end
            os.ftruncate(self._descriptor, kept)
            os.fdatasync(self._descriptor)
        self._digest.update(data[:kept])

    def close(self) -> None:
        """Close the file and free the lock."""
        os.close(self._descriptor)

    def move(self, folder: Path) -> None:
        """Give the run's folder its name.

        Raises:
            StorageError: it cannot have it.
        """
        with storage.disk_errors(folder):
            self._path.parent.rename(folder)
        self._path = folder / FILE

    def require(self) -> None:
        """Require that the journal is still the file of its name.

        Raises:
            StorageError: somebody removed or replaced it while the run went on.
        """
        try:
            is_there = os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            is_there = False
        if not is_there:
            raise StorageError(f"{self._path.parent} was removed while the run went on: nothing of it is kept")

    def add(self, entry: JournalEntry) -> None:
        """Append a verdict, and the lines that the disk refused before.

        Raises:
            StorageError: no space: it is kept in memory until the next line is written.
        """
        self._append("verdict", entry)

    def end(self, end: JournalEnd) -> None:
        """Append the end, and the lines that the disk refused before.

        Raises:
            StorageError: no space.
        """
        self._append("end", end, self._digest.hexdigest())

    def _append(self, key: str, record: JournalRecord, before: str = "") -> None:
        line = _line(key, record, before)
        self._digest.update(line)
        # A line that a full disk refuses stays here, and is written before the next one.
        self._unwritten += line
        with storage.disk_errors(self._path):
            while self._unwritten:
                written = os.write(self._descriptor, self._unwritten)
                del self._unwritten[:written]


def read(folder: Path) -> Journal:
    """Read a run's journal, also one that a crash cut off.

    Raises:
        StorageError: there is none, or its start or, in a run that ended by itself, any line was edited or cut short.
    """
    path = folder / FILE
    if not path.exists():
        raise StorageError(f"{folder} has no {FILE}: it was removed; {_AGAIN}")
    if not path.is_file():
        raise storage.damaged(path, _AGAIN)
    data = storage.read_bytes(path)
    records = [_parse(line) for line in data.split(b"\n") if line]
    start = records[0] if records else None
    if not isinstance(start, JournalStart) or start.version != VERSION:
        raise storage.damaged(path, _AGAIN)
    end = None
    for record in records:
        if isinstance(record, JournalEnd):
            end = record
    if end is None:
        is_changed = (folder / RESULTS).exists()  # the results are written after the end
    else:
        # A kill may have torn the last verdict of a run that was cut short; its end was written later.
        is_changed = _is_changed(data) or (end.state != "cut short" and None in records)
    if is_changed:
        raise storage.damaged(path, _AGAIN)
    return Journal(path, *_continued(start, records), end)


def _continued(
    start: JournalStart, records: list[JournalRecord | None]
) -> tuple[JournalStart, tuple[JournalEntry, ...]]:
    """The plan of a run's last part, and the verdicts on its cases, of its commit; it reports broken jobs again."""
    entries: list[JournalEntry] = []
    for record in records:
        if isinstance(record, JournalStart):
            planned: frozenset[str] = frozenset()
            if record.commit == start.commit:
                planned = frozenset(record.cases)
            entries = [entry for entry in entries if entry.verdict.case in planned]
            start = record
        elif isinstance(record, JournalEntry):
            entries.append(record)
    return start, tuple(entries)


def end_of(folder: Path) -> JournalEnd | None:
    """Read the end of a run that is over, from the last lines of its journal only."""
    if not (folder / FILE).is_file():  # a pipe would be waited for
        return None
    with contextlib.suppress(OSError), (folder / FILE).open("rb") as file:
        # The last line of a long night may be longer than the tail.
        whole = file.seek(0, os.SEEK_END)
        for size in (min(_TAIL, whole), whole):
            file.seek(-size, os.SEEK_END)
            lines = file.read().split(b"\n")
            # The last whole line is before the last line end, after which there is nothing.
            if len(lines) > 2:
                record = _parse(lines[-2])
                return record if isinstance(record, JournalEnd) else None
    return None


def is_running(folder: Path) -> bool:
    """Whether a run without an end still goes on, from its first line only; False where that is damaged."""
    path = folder / FILE
    if not path.is_file():
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        start = _parse(file.readline().rstrip(b"\n"))
        return isinstance(start, JournalStart) and _is_alive(path, start.process)
    return False


def close_cut_short(journal: Journal, end: JournalEnd) -> bool:
    """Append the end of a run that was cut short.

    Args:
        journal: its journal, without an end.
        end: its state is `cut short`.

    Returns:
        False where another process was faster.

    Raises:
        StorageError: no space, no permission.
    """
    with storage.disk_errors(journal.path), journal.path.open("ab+") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        if end_of(journal.path.parent) is not None:
            return False
        file.seek(0)
        data = file.read()
        torn = b"" if data.endswith(b"\n") else b"\n"
        file.write(torn + _line("end", end, storage.digest_text(data + torn)))
    return True


def launches_digest(case: Case) -> str:
    """Digest of the launches of a case, which are too long for a line of the journal."""
    return storage.digest_text(json.dumps(to_plain(case.launches), separators=(",", ":")).encode())


def process() -> Process:
    """This process."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Process(os.getpid(), socket.gethostname(), boot)


def _line(key: str, record: JournalRecord, before: str = "") -> bytes:
    """A sealed line; `before`: digest of all earlier lines, for the last one."""
    body = json.dumps({key: to_plain(record)}, separators=(",", ":"))[:-2]
    if before:
        body += f',"before":"{before}"'
    return f'{body},"digest":"{storage.digest_text(body.encode())}"}}}}\n'.encode()


_SEAL = re.compile(rb'(?:,"before":"([0-9a-f]{32})")?,"digest":"([0-9a-f]{32})"\}\}$')


def _is_changed(data: bytes) -> bool:
    """Whether the lines before the end of a run are other ones than when it was written."""
    start = data.rfind(b"\n", 0, len(data) - 1) + 1
    seal = _SEAL.search(data[start:].rstrip(b"\n"))
    return seal is None or storage.digest_text(data[:start]).encode() != seal[1]


def _parse(line: bytes) -> JournalRecord | None:
    """The record of a line; None for a line that holds none, or was changed."""
    seal = _SEAL.search(line)
    if seal is None or storage.digest_text(line[: seal.start(2) - len(b',"digest":"')]).encode() != seal[2]:
        return None
    try:
        ((key, value),) = json.loads(line[: seal.start()] + b"}}").items()
        return from_json(_KINDS[key], value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


_KINDS: dict[str, type[JournalRecord]] = {"start": JournalStart, "verdict": JournalEntry, "end": JournalEnd}


def _is_alive(journal: Path, owner: Process) -> bool:
    """Whether the process of a run without an end still works on it.

    On this machine its lock shows it. Of a run on another host (a shared file system) only new writes do.
    """
    here = process()
    is_here = owner.boot == here.boot
    try:
        with journal.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        if is_here:
            return Path(f"/proc/{owner.pid}").exists()
    if is_here or owner.host == here.host:
        return False
    with contextlib.suppress(OSError):
        return time.time() - max(path.stat().st_mtime for path in journal.parent.iterdir()) < _SILENT_S
    return False
