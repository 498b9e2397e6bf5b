"""Step of a night that is continued: the verdicts that it has, which are not reached again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Case, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.session.runs import journal, run_folders
from gpuregress.session.runs.journal import Journal, JournalEntry, launches_digest
from gpuregress.store import launch_log

_OTHER_COMMIT = "this night was cut short, and continued at another commit: all of its cases were run again"


class EarlierPart(Record):
    """The part of a run that was done before it was cut short.

    Attributes:
        journal: of the run; None for a new run.
        kept: case → its verdict, which stays.
        cases: the kept cases, as they ran.
        next_launch: the first number that its launch log does not have.
        is_moved: whether another commit is checked out now; then no verdict is kept.
    """

    journal: Journal | None = None
    kept: Mapping[str, Verdict] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    next_launch: int = 1
    is_moved: bool = False

    @property
    def note(self) -> str:
        """A line for the user, "" for a new run."""
        if self.journal is None:
            return ""
        if self.is_moved:
            return _OTHER_COMMIT
        count = len(self.kept)
        had = f"{count} cases had their verdicts" if count != 1 else "1 case had its verdict"
        return f"this night was cut short and continued: {had} before"


NOTHING_BEFORE = EarlierPart()


def earlier_part(folder: Path | None, cases: Sequence[Case], commit: str) -> EarlierPart:
    """Read the verdicts of a run that is continued.

    A case that has changed since is run again, and so is each group of cases that must agree and is not whole. At
    another commit all are run again, so that every verdict is of the commit that the run has in its record.

    Args:
        folder: the run's; None for a new run.
        cases: planned now.
        commit: checked out now.

    Raises:
        StorageError: its journal or launch log was edited or cut short.
    """
    if folder is None:
        return NOTHING_BEFORE
    read = journal.read(folder)
    is_moved = read.start.commit != commit
    judged = {} if is_moved else read.judged
    kept = {case.name: case for case in cases if case.name in judged and _is_same(case, judged[case.name])}
    stopped = read.state == "interrupted"  # then groups were released without a comparison
    open_groups = {case.agreement_group for case in cases if stopped or case.name not in kept} - {None}
    stays = tuple(case for case in kept.values() if case.agreement_group not in open_groups)
    verdicts = {case.name: judged[case.name].verdict for case in stays}
    return EarlierPart(read, verdicts, stays, _next_launch(folder), is_moved)


def _is_same(case: Case, entry: JournalEntry) -> bool:
    """Whether a verdict is of the case as it is planned now; one that did not run is judged again."""
    is_as_before = entry.case == replace(case, launches=())
    return is_as_before and entry.launches == launches_digest(case)


def _next_launch(folder: Path) -> int:
    try:
        log = launch_log.read(folder / run_folders.LAUNCH_LOG)
    except StorageError:  # it was cut short before its first launch
        return 1
    return max((event.number for event in log.events), default=0) + 1
