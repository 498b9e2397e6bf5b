"""Making a run's dumps the baselines: which cases that concerns, and which are refused."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuregress.baselines import Store
from gpuregress.errors import BaselineError, NothingToDo, UsageError
from gpuregress.pipeline import folders, results
from gpuregress.pipeline.results import Ran
from gpuregress.project import Project


@dataclass(frozen=True, slots=True)
class Accepted:
    """A case whose dumps became the baseline: its revision, that of the baseline before ("" if none), its buffers."""

    case: str
    revision: str
    before: str
    buffers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A case that was not accepted, and why."""

    case: str
    reason: str


@dataclass(frozen=True, slots=True)
class Acceptances:
    """What came of an accept: from which run, and what of each case."""

    run: str
    accepted: tuple[Accepted, ...]
    refused: tuple[Refused, ...]


def accept(
    project: Project,
    selectors: Sequence[str] = (),
    *,
    run: str | None = None,
    new_only: bool = False,
    why: str = "",
) -> Acceptances:
    """Makes a run's dumps the baselines.

    Args:
        project: whose.
        selectors: job names, case names, job files or globs; none: every case that differs or has no baseline.
        run: the run's name; the last one where not given.
        new_only: only cases without a baseline.
        why: recorded with it.

    Raises:
        NothingToDo: nothing differs and nothing is new.
        BaselineError: all that was asked for is refused.
        UsageError: a selector that no case of the run matches.
        StorageError: no space, no permission.
        RunLocked: somebody else is accepting.
    """
    folder = folders.find(project.runs, run)
    document = folders.results(folder)
    ran = results.read_cases(folder)
    store = Store(project.baselines)
    entries = _selected(document["cases"], ran, selectors)
    wanted = [entry for entry in entries if _is_candidate(entry, named=bool(selectors), new_only=new_only)]
    refused = [Refused(entry["case"], _why_not(entry)) for entry in entries if _failed(entry, ran)]
    accepted = []
    for entry in wanted:
        if not _has_results(entry, ran):
            continue
        one = ran[entry["case"]]
        try:
            store.accept(one.case, one.outcome, one.made_of, run=folder.name, who=_who(), why=why)
        except BaselineError as error:
            refused.append(Refused(one.case.name, str(error)))
            continue
        buffers = tuple(dump.buffer for dump in one.outcome.dumps)
        accepted.append(Accepted(one.case.name, one.case.revision, entry["baseline_revision"], buffers))
    if not accepted:
        _nothing_accepted(folder, refused)
    return Acceptances(folder.name, tuple(accepted), tuple(refused))


def obsolete(project: Project, present: Sequence[str]) -> tuple[str, ...]:
    """The baselines whose case is gone.

    Args:
        project: whose.
        present: every case of every job.
    """
    here = set(present)
    return tuple(name for name in Store(project.baselines).case_names() if name not in here)


def _nothing_accepted(folder: Path, refused: Sequence[Refused]) -> None:
    if not refused:
        raise NothingToDo(f"run {folder.name} left nothing to accept: every case it ran is as its baseline")
    if len(refused) == 1:
        raise BaselineError(f"{refused[0].case} is not accepted: {refused[0].reason}")
    first = refused[0]
    raise BaselineError(f"none of {len(refused)} cases is accepted; {first.case}: {first.reason}")


def _selected(entries: Sequence[dict[str, Any]], ran: dict[str, Ran], selectors: Sequence[str]) -> list[dict[str, Any]]:
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


def _matches(entry: dict[str, Any], ran: dict[str, Ran], selector: str) -> bool:
    if selector in (entry["case"], entry["job"]) or fnmatchcase(entry["case"], selector):
        return True
    one = ran.get(entry["case"])
    return one is not None and Path(selector).absolute() == Path(one.case.path)


def _is_candidate(entry: dict[str, Any], *, named: bool, new_only: bool) -> bool:
    if new_only:
        return not entry["baseline_revision"]
    return named or entry["verdict"] != "pass" or not entry["baseline_revision"]


def _has_results(entry: dict[str, Any], ran: dict[str, Ran]) -> bool:
    one = ran.get(entry["case"])
    return one is not None and one.outcome.state == "done" and bool(one.outcome.dumps)


def _failed(entry: dict[str, Any], ran: dict[str, Ran]) -> bool:
    """Whether a case should have results but has none; one that was meant to fail or was skipped should not."""
    return not _has_results(entry, ran) and entry["verdict"] not in ("pass", "skip")


def _why_not(entry: dict[str, Any]) -> str:
    return f"it ended with {entry['verdict']}: {entry['reason']}"


def _who() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
