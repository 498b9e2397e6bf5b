"""Making a run's dumps the baselines: which cases that concerns, and which are refused."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuregress.baselines import Store
from gpuregress.errors import BaselineError, NothingToDo, StorageError, UsageError
from gpuregress.pipeline import folders, memory, rejections, results
from gpuregress.pipeline.accepted import nearest
from gpuregress.pipeline.results import Ran
from gpuregress.project import Project

COMMON = "common"
"""Accept for every architecture and device."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A case whose dumps became the baseline.

    Attributes:
        case: its name.
        revision: now accepted.
        before: that of the baseline before, "" if there was none.
        buffers: what was accepted.
        kind: the architecture or device whose baseline it is, "" for the common one.
    """

    case: str
    revision: str
    before: str
    buffers: tuple[str, ...]
    kind: str = ""


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


def accept(
    project: Project,
    selectors: Sequence[str] = (),
    *,
    run: str | None = None,
    new_only: bool = False,
    why: str = "",
    kind: str | None = None,
) -> Acceptances:
    """Makes a run's dumps the baselines.

    Args:
        project: whose.
        selectors: job names, case names, job files or globs; none: every case that differs or has no baseline.
        run: the run's name; the last one where not given.
        new_only: only cases without a baseline.
        why: recorded with it.
        kind: an architecture or device to accept for, or `common`; None: the baseline that the run was compared with.

    Raises:
        NothingToDo: nothing differs and nothing is new.
        BaselineError: all that was asked for is refused.
        UsageError: a selector that no case of the run matches.
        StorageError: no space, no permission.
        RunLocked: somebody else is accepting.
    """
    folder = results.chosen(project.runs, run)
    document = results.document(folder)
    ran = results.read_cases(folder)
    entries = selected(document["cases"], ran, selectors)
    wanted = [entry for entry in entries if _is_candidate(entry, named=bool(selectors), new_only=new_only)]
    accepted: list[Accepted] = []
    refused = [Refused(entry["case"], _why_not(entry)) for entry in entries if _failed(entry, ran)]
    left: list[Refused] = []
    rejected = rejections.known(project.runs)
    store = Store(project.baselines, project.runs / folders.ACCEPTING)
    for entry in wanted:
        one = ran.get(entry["case"])
        if one is None or not has_results(one):
            continue
        said = is_rejected(one, rejected)
        if said:
            (refused if selectors else left).append(Refused(one.case.name, f"it was {said}; {_UNDO}"))
            continue
        try:
            accepted.append(_accept_case(store, one, entry, folder.name, why, kind))
        except BaselineError as error:
            refused.append(Refused(one.case.name, str(error)))
        except StorageError as error:
            if accepted:
                raise StorageError(f"{error}; {_already(accepted)}") from error
            raise
    if not accepted:
        _nothing_accepted(folder, refused, left)
    return Acceptances(folder.name, tuple(accepted), tuple(refused), tuple(left))


def _already(accepted: Sequence[Accepted]) -> str:
    more = f" and {len(accepted) - 1} more" if len(accepted) > 1 else ""
    return f"{accepted[0].case}{more} had been accepted before that, the rest is as it was"


_UNDO = "`gpuregress reject --undo CASE` takes that back"


def _accept_case(store: Store, one: Ran, entry: Mapping[str, Any], run: str, why: str, wanted: str | None) -> Accepted:
    watched = [name for name, rule in one.case.compare.items() if memory.is_watched(rule)]
    kind = _kind(store, one, wanted)
    store.accept(
        one.case,
        one.outcome,
        one.made_of,
        run=run,
        who=who(),
        why=why,
        drift=watched,
        anew=[name for name in _seen_to_differ(entry) if name in watched],
        arch=kind,
    )
    buffers = tuple(dump.buffer for dump in one.outcome.dumps)
    return Accepted(one.case.name, one.case.revision, entry["baseline_revision"], buffers, kind)


def _kind(store: Store, one: Ran, wanted: str | None) -> str:
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


def is_rejected(one: Ran, rejected: Mapping[rejections.Place, str]) -> str:
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
    return tuple(name for name in Store(project.baselines).case_names() if name not in here)


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
    entries: Sequence[dict[str, Any]], ran: Mapping[str, Ran], selectors: Sequence[str]
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


def _matches(entry: dict[str, Any], ran: Mapping[str, Ran], selector: str) -> bool:
    if selector in (entry["case"], entry["job"]) or fnmatchcase(entry["case"], selector):
        return True
    one = ran.get(entry["case"])
    return one is not None and Path(selector).absolute() == Path(one.case.path)


def _is_candidate(entry: dict[str, Any], *, named: bool, new_only: bool) -> bool:
    if new_only:
        return not entry["baseline_revision"]
    return named or entry["verdict"] != "pass" or not entry["baseline_revision"]


def has_results(one: Ran) -> bool:
    """Whether a case ran to its end and left dumps."""
    return one.outcome.state == "done" and bool(one.outcome.dumps)


def _failed(entry: dict[str, Any], ran: Mapping[str, Ran]) -> bool:
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
