"""Making a run's dumps the baselines: which cases that concerns, and which are refused."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuregress.baselines import AcceptBatch, Acceptor, BaselineStore
from gpuregress.errors import BaselineError, NothingToDo, StorageError, UsageError
from gpuregress.judging import drift_and_determinism, rejections, write_coverage
from gpuregress.judging.accepted import nearest
from gpuregress.project import Project
from gpuregress.session.runs import cut_short, results, run_folders
from gpuregress.session.runs.results import FinishedCase

COMMON = "common"
"""Accept for every architecture and device."""

_BATCH = 256
"""Cases that reach the disk together."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A case whose dumps became the baseline.

    Attributes:
        case: its name.
        revision: now accepted.
        before: that of the baseline before, "" if there was none.
        buffers: what was accepted.
        kind: the architecture or device whose baseline it is, "" for the common one.
        remarks: what was never written, and what is NaN, in words.
    """

    case: str
    revision: str
    before: str
    buffers: tuple[str, ...]
    kind: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A case that was not accepted, and why."""

    case: str
    reason: str


@dataclass(frozen=True, slots=True)
class Acceptances:
    """What came of an accept: from which run, and what of each case; `left` was rejected before and not named now."""

    run: str
    accepted: tuple[Accepted, ...]
    refused: tuple[Refused, ...]
    left: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """How something is accepted.

    Attributes:
        why: recorded with it.
        kind: an architecture or device to accept for, or `common`; None: the baseline that the run was compared with.
        unwritten_ok: why an output of which nothing was written is right; "" refuses one.
    """

    why: str = ""
    kind: str | None = None
    unwritten_ok: str = ""


AS_IT_IS = Terms()


def accept(
    project: Project,
    selectors: Sequence[str] = (),
    terms: Terms = AS_IT_IS,
    *,
    run: str | None = None,
    new_only: bool = False,
    confirm: Callable[[Sequence[FinishedCase]], None] = lambda _differing: None,
    listen: Callable[[int, int], None] = lambda _done, _of: None,
) -> Acceptances:
    """Makes a run's dumps the baselines.

    Args:
        project: whose.
        selectors: job names, case names, job files or globs; none: every case that differs or has no baseline.
        terms: how.
        run: the run's name; the last one where not given.
        new_only: only cases without a baseline.
        confirm: told the cases that differ, where nobody named them; raises where they are not to be accepted.
        listen: told how many cases are done, of how many.

    Raises:
        NothingToDo: nothing differs and nothing is new.
        BaselineError: all that was asked for is refused.
        UsageError: a selector that no case of the run matches.
        StorageError: no space, no permission.
        RunLocked: somebody else is accepting.
    """
    folder = cut_short.decidable_run(project.runs, run)
    document = results.document(folder)
    ran = results.read_cases(folder)
    entries = selected(document["cases"], ran, selectors)
    refused = [Refused(entry["case"], _why_not(entry)) for entry in entries if _failed(entry, ran)]
    left: list[Refused] = []
    rejected = rejections.known(project.runs)
    wanted: list[tuple[FinishedCase, dict[str, Any]]] = []
    for entry in entries:
        one = ran.get(entry["case"])
        if one is None or not has_results(one) or not _is_candidate(entry, named=bool(selectors), new_only=new_only):
            continue
        if said := is_rejected(one, rejected):
            (refused if selectors else left).append(Refused(one.case.name, f"it was {said}; {_UNDO}"))
        else:
            wanted.append((one, entry))
    differing = [one for one, entry in wanted if entry["verdict"] == "differ"]
    if differing and not selectors and not new_only:
        confirm(differing)
    store = BaselineStore(project.baselines, project.runs / run_folders.ACCEPTING)
    accepted = _accept_all(store, wanted, refused, folder.name, terms, listen)
    if not accepted:
        _nothing_accepted(folder, refused, left)
    return Acceptances(folder.name, tuple(accepted), tuple(refused), tuple(left))


def _accept_all(
    store: BaselineStore,
    wanted: Sequence[tuple[FinishedCase, Mapping[str, Any]]],
    refused: list[Refused],
    run: str,
    terms: Terms,
    listen: Callable[[int, int], None],
) -> list[Accepted]:
    """The cases that were accepted, all but those that are refused; those of a batch reach the disk together."""
    accepted: list[Accepted] = []
    waiting: list[Accepted] = []
    try:
        with store.accepting() as batch:
            for number, (one, entry) in enumerate(wanted, 1):
                try:
                    waiting.append(_accept_case(store, batch, one, entry, run, terms))
                except BaselineError as error:
                    refused.append(Refused(one.case.name, str(error)))
                if len(batch) >= _BATCH or number == len(wanted):
                    batch.commit()
                    accepted += waiting
                    waiting.clear()
                    listen(number, len(wanted))
    except StorageError as error:
        if accepted:
            raise StorageError(f"{error}; {_already(accepted)}") from error
        raise
    return accepted


def _already(accepted: Sequence[Accepted]) -> str:
    more = f" and {len(accepted) - 1} more" if len(accepted) > 1 else ""
    return f"{accepted[0].case}{more} had been accepted before that, the rest is as it was"


_UNDO = "`gpuregress reject --undo CASE` takes that back"


def _accept_case(
    store: BaselineStore, batch: AcceptBatch, one: FinishedCase, entry: Mapping[str, Any], run: str, terms: Terms
) -> Accepted:
    empty = write_coverage.empty(one.case, one.outcome)
    if empty and not terms.unwritten_ok:
        raise BaselineError(
            f"nothing of {', '.join(empty)} was written: it still holds the poison that outputs are filled with; "
            "where that is right, say why: --unwritten-ok REASON"
        )
    watched = [name for name, rule in one.case.compare.items() if drift_and_determinism.is_watched(rule)]
    kind = _kind(store, one, terms.kind)
    batch.add(
        one.case,
        one.outcome,
        one.made_of,
        Acceptor(who(), terms.why, run, terms.unwritten_ok if empty else ""),
        drift=watched,
        anew=[name for name in _seen_to_differ(entry) if name in watched],
        arch=kind,
    )
    buffers = tuple(dump.buffer for dump in one.outcome.dumps)
    remarks = write_coverage.remarks(one.case, one.outcome)
    return Accepted(one.case.name, one.case.revision, entry["baseline_revision"], buffers, kind, remarks)


def _kind(store: BaselineStore, one: FinishedCase, wanted: str | None) -> str:
    """Whose baseline is to change: the named one's, else the nearest one's that is there."""
    device = one.outcome.device.name.partition(":")[0] if one.outcome.device is not None else ""
    own = nearest(one.case, device)
    if wanted == COMMON:
        return ""
    if wanted is None:
        there = store.kinds(one.case.name)
        return next((kind for kind in own if kind in there), "")
    if wanted not in own:
        raise BaselineError(f"it ran on {device or 'no device'}, compiled for {own[-1]}: it says nothing of {wanted}")
    return wanted


def _seen_to_differ(entry: Mapping[str, Any]) -> Iterator[str]:
    """The buffers of which the user was told that they are not as their baseline: accepting them is a new beginning."""
    for buffer in entry["buffers"]:
        if any(one["against"] in ("baseline", "first") and not one["same"] for one in buffer["comparisons"]):
            yield buffer["name"]


def is_rejected(one: FinishedCase, rejected: Mapping[rejections.Place, str]) -> str:
    """Who rejected a case's results, when and why, in words; "" where nobody did."""
    dumps = one.outcome.dumps
    said = (rejected.get((one.case.name, dump.buffer, dump.digest), "") for dump in dumps)
    return next((text for text in said if text), "")


def obsolete(project: Project, present: Sequence[str]) -> tuple[str, ...]:
    """The baselines whose case is gone.

    Args:
        project: whose.
        present: every case of every job.
    """
    here = set(present)
    return tuple(name for name in BaselineStore(project.baselines).case_names() if name not in here)


def _nothing_accepted(folder: Path, refused: Sequence[Refused], left: Sequence[Refused]) -> None:
    if not refused and left:
        raise NothingToDo(
            f"run {folder.name} left nothing to accept but what was rejected: {left[0].case} {left[0].reason}"
        )
    if not refused:
        raise NothingToDo(f"run {folder.name} left nothing to accept: every case it ran is as its baseline")
    if len(refused) == 1:
        raise BaselineError(f"{refused[0].case} is not accepted: {refused[0].reason}")
    first = refused[0]
    raise BaselineError(f"none of {len(refused)} cases is accepted; {first.case}: {first.reason}")


def selected(
    entries: Sequence[dict[str, Any]], ran: Mapping[str, FinishedCase], selectors: Sequence[str]
) -> list[dict[str, Any]]:
    """The entries of results.json that are meant; all where there are no selectors.

    Raises:
        UsageError: a selector that no case of the run matches.
    """
    if not selectors:
        return list(entries)
    found: dict[str, dict[str, Any]] = {}
    for selector in selectors:
        matching = [entry for entry in entries if _matches(entry, ran, selector)]
        if not matching:
            there = ", ".join(entry["case"] for entry in entries[:8]) or "none"
            raise UsageError(f"no case of that run is called {selector!r}; it ran: {there}")
        found.update({entry["case"]: entry for entry in matching})
    return list(found.values())


def _matches(entry: dict[str, Any], ran: Mapping[str, FinishedCase], selector: str) -> bool:
    if selector in (entry["case"], entry["job"]) or fnmatchcase(entry["case"], selector):
        return True
    one = ran.get(entry["case"])
    return one is not None and Path(selector).absolute() == Path(one.case.path)


def _is_candidate(entry: dict[str, Any], *, named: bool, new_only: bool) -> bool:
    if new_only:
        return not entry["baseline_revision"]
    return named or entry["verdict"] != "pass" or not entry["baseline_revision"]


def has_results(one: FinishedCase) -> bool:
    """Whether a case ran to its end and left dumps."""
    return one.outcome.state == "done" and bool(one.outcome.dumps)


def _failed(entry: dict[str, Any], ran: Mapping[str, FinishedCase]) -> bool:
    """Whether a case should have results but has none; one that was meant to fail or was skipped should not."""
    one = ran.get(entry["case"])
    return not (one is not None and has_results(one)) and entry["verdict"] not in ("pass", "skip")


def _why_not(entry: dict[str, Any]) -> str:
    return f"it ended with {entry['verdict']}: {entry['reason']}"


def who() -> str:
    """The user's name, "" where the system does not know it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
