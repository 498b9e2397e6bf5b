"""First runs of drafted jobs, with a short limit: a size that nothing tells is found by trial."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import Outcome, RunSummary
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts.launch import UNKNOWN_SIZE
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

LIMIT_S = 20.0
"""For a case in its first run, in place of the limit in the job."""
MOST_BYTES = 2**30
"""Of a job's buffers in its first run."""
_TRIAL_S = 10.0
_MOST_ROUNDS = 10
_FACTOR = 8
_MOST_BYTES = 2**28
_FOUND_SIZE = "its size, which was found by trial for the parameters above"


class FoundSize(Record):
    """A size that was found by trial: the buffer, and its elements."""

    buffer: str
    elements: int


def find_sizes(project: Project, guessed: Mapping[Path, tuple[str, ...]], device: str) -> dict[Path, list[FoundSize]]:
    """Enlarge the buffers whose size is a guess until the kernel stays inside them.

    Args:
        project: of the jobs.
        guessed: job file → its buffers whose size is a guess. The files are changed.
        device: where they run.

    Returns:
        Job file → the buffers that were enlarged.

    Raises:
        Interrupted: the user asked to stop.
    """
    found: dict[Path, dict[str, int]] = {}
    pending = [path for path, names in guessed.items() if names]
    with storage.scratch() as scratch:
        for number in range(_MOST_ROUNDS):
            if not pending:
                break
            summary = _run(project.with_runs(scratch / str(number)), pending, device)
            changed: dict[Path, tuple[str, int]] = {}
            for path in pending:
                beyond = _beyond(summary, path.stem, guessed[path]) if summary is not None else None
                if beyond is not None and _enlarge(path, *beyond):
                    changed[path] = beyond
                    found.setdefault(path, {})[beyond[0]] = beyond[1]
            pending = list(changed)
    return {path: [FoundSize(*one) for one in sizes.items()] for path, sizes in found.items()}


def late(summary: RunSummary) -> list[str]:
    """Explain what to do about the cases that did not end in their first run, a line for each job.

    Args:
        summary: of the run.
    """
    found: dict[str, str] = {}
    for verdict in summary.verdicts:
        if verdict.status != "timeout":
            continue
        sizes = ", ".join(f"{name} (now {value})" for name, value in verdict.parameters.items())
        smaller = f"smaller values of {sizes} are quicker" if sizes else "smaller buffers and grids are quicker"
        found[verdict.job] = (
            f"{verdict.job} did not end within {LIMIT_S:g} s, the limit of this first run: {smaller}; or give it more "
            "time with `gpuregress run`; if the kernel waits for what an earlier launch of the program makes, put that "
            "launch before it in `launches:`"
        )
    return list(found.values())


def _run(project: Project, paths: list[Path], device: str) -> RunSummary | None:
    request = RunRequest(device=device, timeout=_TRIAL_S, others_go_on=True)
    try:
        summary = session.run(project, [str(path) for path in paths], request)
    except Interrupted:
        raise
    except GpuregressError:  # the run that is shown tells
        return None
    if summary.interrupted:
        raise Interrupted("interrupted")
    return summary


def _beyond(summary: RunSummary, job: str, guessed: tuple[str, ...]) -> tuple[str, int] | None:
    """Return a buffer that a case was beyond the end of, and the elements that it gets."""
    for verdict in summary.verdicts:
        outcome: Outcome | None = verdict.outcome if verdict.job == job else None
        fault = outcome.fault if outcome is not None else None
        if fault is None or fault.kind != "out-of-bounds" or fault.location.buffer not in guessed:
            continue
        index, elements, size = fault.location.index, fault.location.elements, fault.location.size
        if index is not None and index >= 0 and elements is not None and size is not None:
            return fault.location.buffer, max(_FACTOR * elements, index + size)
    return None


def _enlarge(path: Path, buffer: str, elements: int) -> bool:
    """Give a buffer of a drafted job another size; tell whether it may have that."""
    text = storage.read_bytes(path).decode()
    line = re.compile(rf"^(  {re.escape(buffer)}: \{{dtype: (.+?), shape: \[)[^\]]*(\].*)$", re.MULTILINE)
    match = line.search(text)
    if match is None or elements * dtypes.parse(re.sub(r"\s+", "", match[2])).size > _MOST_BYTES:
        return False
    changed = f"{match[1]}{elements}{match[3].replace(UNKNOWN_SIZE, _FOUND_SIZE)}"
    storage.write_atomic(path, (text[: match.start()] + changed + text[match.end() :]).encode())
    return True
