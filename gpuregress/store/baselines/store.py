"""Baseline store of a project, by case and by architecture."""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.foundation.records import Acceptance, AcceptedTiming, Baseline, Case, MadeOf, Outcome
from gpuregress.foundation.storage import disk_errors, lock, refuse_links, safe_join, split_name, sweep_tree
from gpuregress.gpu.records import Record, replace
from gpuregress.store import remote
from gpuregress.store.baselines import accepted_timings, expected_cases
from gpuregress.store.baselines.expected_cases import Expected
from gpuregress.store.baselines.manifest import FILE, VERSION, Manifest, manifest_entry
from gpuregress.store.baselines.staging import (
    FIRST,
    StagedChange,
    commit,
    document_if_whole,
    document_in,
    dumps_in,
    first_dumps,
    load_steadily,
    stage,
)
from gpuregress.store.project import Project

LOCK_WAIT_S = 10.0

_ARCH = re.compile(r"sm_\d+[a-z]?|cpu|cuda")


class Acceptor(Record):
    """The author, reason and run of an accept, recorded with it."""

    who: str = ""
    why: str = ""
    run: str = ""
    unwritten_ok: str = ""


ANONYMOUS = Acceptor()


class AcceptBatch:
    """A batch of accepts that reach the disk together; each one atomically.

    Args:
        folder: of all baselines.
        dumps: the address of the folder of accepted dumps; "": they are copied beside `baseline.yaml`.
    """

    def __init__(self, folder: Path, dumps: str = "") -> None:
        self._folder, self._dumps = folder, dumps
        self._changes: dict[Path, StagedChange] = {}

    def __len__(self) -> int:
        """Return the number of accepts that are not committed."""
        return len(self._changes)

    def add(
        self,
        case: Case,
        outcome: Outcome,
        facts: MadeOf,
        by: Acceptor = ANONYMOUS,
        *,
        drift: Collection[str] = (),
        anew: Collection[str] = (),
        arch: str = "",
    ) -> Path:
        """Stage a run's dumps as the baseline; `commit` puts them in place.

        Args:
            case: what was run.
            outcome: its dumps.
            facts: from `made_of`.
            by: who accepts, and why.
            drift: buffers whose first accepted dump is kept for good, to see small steps add up.
            anew: those of them that changed on purpose: their first dump is this one.
            arch: accept for this architecture or device only.

        Returns:
            The baseline's folder.

        Raises:
            BaselineError: the run faulted, a dump was changed since, or a symbolic link leads out of the baselines.
            StorageError: no space, no permission.
        """
        if outcome.state != "done" or outcome.fault is not None:
            raise BaselineError(
                f"{case.name}: its run ended with {outcome.state}; only a case that ran to its end is accepted"
            )
        dumps = {dump.buffer: dump for dump in outcome.dumps}
        if not dumps:
            raise BaselineError(f"{case.name}: the run left no dump to accept; run it again")
        folder = safe_join(self._folder, f"{case.name}/{arch}" if arch else case.name)
        if folder in self._changes:
            self.commit()
        try:
            refuse_links(self._folder, folder / FIRST)
        except StorageError as error:
            raise BaselineError(str(error)) from None
        old = document_if_whole(folder)
        entries = {buffer: manifest_entry(dump, case.revision) for buffer, dump in dumps.items()}
        when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        event = Acceptance(
            revision=case.revision,
            source=facts.source,
            when=when,
            who=by.who,
            why=by.why,
            run=by.run,
            unwritten_ok=by.unwritten_ok,
            case=case.name,
        )
        history: tuple[Acceptance, ...] = ()
        timings: Mapping[str, AcceptedTiming] = {}
        if old is not None:
            history, timings = old.history, old.timings
        document = Manifest(
            version=VERSION,
            revision=case.revision,
            made_of=facts,
            dumps=entries,
            first=first_dumps(old, entries, drift, anew),
            history=_with_acceptance(history, event),
            launch_digests=outcome.observations.launch_digests,
            timings=accepted_timings.updated(timings, case, outcome, facts),
        )
        self._changes[folder] = stage(folder, old, document, dumps, self._dumps)
        return folder

    def commit(self) -> None:
        """Put all staged accepts on disk and in place.

        Raises:
            StorageError: the disk fails.
        """
        changes = list(self._changes.values())
        self._changes.clear()
        commit(self._folder, changes)

    def discard(self) -> None:
        """Discard the accepts that are not committed."""
        for change in self._changes.values():
            change.discard()
        self._changes.clear()


def _with_acceptance(history: tuple[Acceptance, ...], event: Acceptance) -> tuple[Acceptance, ...]:
    """Add an acceptance to a history, unless it repeats the last one: the same run, by the same user, as before."""
    if event.run and history and replace(event, when=history[-1].when) == history[-1]:
        return history
    return (*history, event)


class BaselineStore:
    """The accepted dumps of a project.

    Args:
        folder: the project's `baselines`.
        lock_file: held while something is accepted; by default a hidden file in the folder.
        dumps: the address of the folder of accepted dumps; "": they are beside `baseline.yaml`.
    """

    def __init__(self, folder: Path, lock_file: Path | None = None, dumps: str = "") -> None:
        self.folder, self._dumps = folder, dumps
        self._lock_file = lock_file or folder / ".gpuregress-lock"

    @classmethod
    def of(cls, project: Project, lock_file: Path | None = None) -> Self:
        """Return the store of a project."""
        return cls(project.baselines, lock_file, project.dumps)

    # --- reading ------------------------------------------------------------------------------------------------------

    def load(self, case: str, arch: str | Sequence[str] = ()) -> Baseline | None:
        """Load a case's baseline and verify its dumps; None if none was accepted.

        Args:
            case: the case's name.
            arch: `sm_80`, `cpu`, `cuda`, or several, the nearest first: their own baselines come before the common one.

        Raises:
            BaselineError: a file of it was cut short, edited, or is gone.
            StorageError: it cannot be read.
        """
        common = safe_join(self.folder, case)
        if isinstance(arch, str):
            arch = (arch,)
        for kind in (*arch, ""):
            if os.path.lexists(common / kind / FILE):  # what is no file is an error, and not "no baseline"
                return load_steadily(common / kind, case, kind, self._dumps)
        return None

    def kinds(self, case: str) -> tuple[str, ...]:
        """List the architectures and devices that have a baseline of their own, "" for the common one."""
        common = safe_join(self.folder, case)
        kinds = [path.parent.name for path in common.glob(f"*/{FILE}") if _ARCH.fullmatch(path.parent.name)]
        if (common / FILE).is_file():
            kinds.append("")
        return tuple(sorted(kinds))

    def case_names(self) -> tuple[str, ...]:
        """List the cases that have a baseline, sorted."""
        folders = (path.parent for path in self.folder.rglob(FILE))
        return tuple(sorted({self._case_of(folder.relative_to(self.folder)) for folder in folders}))

    @staticmethod
    def _case_of(folder: Path) -> str:
        """Return the case of a folder that holds a manifest; a job itself may be called `cpu`."""
        if len(folder.parts) > 1 and _ARCH.fullmatch(folder.name):
            folder = folder.parent
        return folder.as_posix()

    def find(self, case: str, revision: str) -> dict[str, Path]:
        """Return buffer → its dump of a revision in this store, accepted or not; a remote one is fetched.

        Raises:
            BaselineError: a remote one cannot be fetched.
        """
        folder = safe_join(self.folder, case)
        dumps = {buffer: path for buffer, label, path in dumps_in(folder) if label == revision}
        accepted = self.load(case) if self._dumps and (folder / FILE).is_file() else None
        if accepted is None:
            return dumps
        for buffer, dump in accepted.dumps.items():
            named = split_name(Path(dump.path).name)
            if buffer not in dumps and dump.remote and named is not None and named[1] == revision:
                dumps[buffer] = remote.local(dump)
        return dumps

    def histories(self, case: str) -> dict[str, tuple[Acceptance, ...]]:
        """Return the accepts of a case, the oldest first, by architecture or device; "" is the common baseline.

        Raises:
            BaselineError: `baseline.yaml` was cut short or edited.
        """
        common = safe_join(self.folder, case)
        manifests = {kind: document_in(common / kind) for kind in self.kinds(case)}
        return {kind: document.history for kind, document in manifests.items() if document is not None}

    # --- writing ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def accepting(self) -> Iterator[AcceptBatch]:
        """Open a batch of accepts under the lock; commit it at the end, or discard it after an error.

        Temporary files of killed processes are removed first, under the lock, which guards those of a batch, too.

        Raises:
            RunLocked: somebody else is accepting.
            StorageError: no space, no permission.
        """
        with lock(self._lock_file, timeout=LOCK_WAIT_S):
            sweep_tree(self.folder)
            batch = AcceptBatch(self.folder, self._dumps)
            try:
                yield batch
                batch.commit()
            except BaseException as error:
                batch.discard()
                traceback.clear_frames(error.__traceback__)  # what a signal left open there, this process still holds
                sweep_tree(self.folder)
                raise

    def expected(self) -> dict[str, tuple[str, ...]] | None:
        """Read the cases that a nightly run expects; None where nothing was accepted since that is kept.

        Raises:
            BaselineError: the list was edited, cut short or merged with a conflict.
            StorageError: it cannot be read.
        """
        return expected_cases.read(self.folder)

    def expect(self, cases: Expected, *, forget: Collection[str] = ()) -> bool:
        """Add cases to those that a nightly run expects, and remove some.

        Args:
            cases: with the devices that their jobs name.
            forget: cases that are gone.

        Returns:
            Whether that changed anything.

        Raises:
            BaselineError: the list was edited, cut short or merged with a conflict.
            RunLocked: somebody is accepting.
            StorageError: no space, no permission.
        """
        with lock(self._lock_file, timeout=LOCK_WAIT_S):
            known = {**(self.expected() or {}), **cases}
            return expected_cases.write(self.folder, {name: of for name, of in known.items() if name not in forget})

    def remove(self, case: str) -> None:
        """Remove a case's baseline with all its revisions.

        Raises:
            RunLocked: somebody is accepting.
            StorageError: it cannot be removed.
        """
        folder = safe_join(self.folder, case)
        parts = [folder / name for name in self.kinds(case) if name]
        for first in (folder / FIRST, *(part / FIRST for part in parts)):
            refuse_links(self.folder, first)
        with lock(self._lock_file, timeout=LOCK_WAIT_S), disk_errors(folder, "remove"):
            for part in (folder, *parts):
                (part / FILE).unlink(missing_ok=True)
                for _, _, path in (*dumps_in(part), *dumps_in(part / FIRST)):
                    path.unlink(missing_ok=True)
            for empty in (folder / FIRST, *(part / FIRST for part in parts), *parts, folder, folder.parent):
                with contextlib.suppress(OSError):  # not there, or other cases of the job are in it
                    empty.rmdir()
