"""What a run leaves behind: results.json for all, cases.json for `accept`, report.txt for the eye."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuregress import baselines, launchlog, storage
from gpuregress.errors import StorageError
from gpuregress.pipeline import folders
from gpuregress.records import (
    BufferVerdict,
    Case,
    Comparison,
    MadeOf,
    Outcome,
    Program,
    RunSummary,
    Verdict,
    from_json,
    to_json,
)
from gpuregress.report import json_report, terminal

CASES = "cases.json"


@dataclass(frozen=True, slots=True)
class Ran:
    """A case as a run left it: what `accept` needs, whatever became of the job since.

    Attributes:
        case: without its launches.
        outcome: what the worker said.
        made_of: what decided its results.
    """

    case: Case
    outcome: Outcome
    made_of: MadeOf


def made_of(case: Case, outcome: Outcome, program: Program | None) -> MadeOf:
    """What decided a case's results."""
    calls = dict.fromkeys(launchlog.render(launch, case.buffers) for launch in case.launches)
    return baselines.made_of(case, outcome, program, tuple(calls))


def write(
    folder: Path, summary: RunSummary, cases: Sequence[Case], programs: Mapping[str, Program], *, root: Path
) -> None:
    """Writes the files into the run's folder, results.json last: a run that has it is whole, and all of it on disk.

    Raises:
        StorageError: no space, no permission.
    """
    by_name = {case.name: case for case in cases}
    ran = {}
    for verdict in summary.verdicts:
        case, outcome = by_name.get(verdict.case), verdict.outcome
        if case is None or outcome is None:
            continue
        slim = dataclasses.replace(case, launches=())
        ran[case.name] = to_json(Ran(slim, outcome, made_of(case, outcome, programs.get(case.name))))
    storage.write_atomic(folder / CASES, json.dumps({"version": 1, "cases": ran}).encode(), durable=False)
    storage.write_atomic(folder / terminal.FULL_TEXT, terminal.full(summary, root=root).encode(), durable=False)
    storage.sync_tree(folder)
    storage.write_atomic(folder / folders.RESULTS, json_report.render(summary).encode())


def read_cases(folder: Path) -> dict[str, Ran]:
    """The cases of a run, by name.

    Raises:
        StorageError: the run did not end, or the file was cut short or edited.
    """
    path = folder / CASES
    if not path.is_file():
        raise StorageError(f"{folder} has no {CASES}: that run did not end; run the cases again")
    try:
        document = json.loads(storage.read_bytes(path))
        return {name: from_json(Ran, entry) for name, entry in document["cases"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StorageError(f"{path} was cut short or edited; run the cases again") from None


def verdict_of(entry: Mapping[str, Any], ran: Ran | None) -> Verdict:
    """A verdict as results.json holds it.

    Args:
        entry: one of its `cases`.
        ran: what the run left of the case.

    Raises:
        StorageError: it was edited.
    """
    try:
        buffers = tuple(
            BufferVerdict(
                buffer["name"],
                buffer["verdict"],
                buffer["dump"],
                buffer["baseline"],
                tuple(from_json(Comparison, one) for one in buffer["comparisons"]),
            )
            for buffer in entry["buffers"]
        )
        return Verdict(
            entry["job"],
            entry["case"],
            entry["verdict"],
            entry["reason"],
            entry["revision"],
            entry["baseline_revision"],
            entry["seconds"],
            buffers,
            tuple(entry["changes"]),
            tuple(entry["notes"]),
            entry["exit_code"],
            ran.outcome if ran is not None else None,
            tuple(entry.get("against", ())),
        )
    except (KeyError, TypeError, AttributeError):
        raise StorageError(f"{folders.RESULTS} of that run was edited; run the cases again") from None
