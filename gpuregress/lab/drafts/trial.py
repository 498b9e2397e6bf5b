"""First runs of drafted jobs, with a short limit: a size that nothing tells is found by trial."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts.launch import UNKNOWN_SIZE
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

LIMIT_S = 5.0
"""For a case in its first run, in place of the limit in the job."""
FIRST_RUN_S = 8.0
"""For the first run of all drafts; cases without a turn are named."""
MOST_BYTES = 2**30
"""Of a job's buffers in its first run."""
_TRIAL_S = 3.0
_ALL_TRIALS_S = 4.0
"""After which no further trial begins."""
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
    sizes: dict[Path, dict[str, FoundSize]] = {}
    pending = [path for path, names in guessed.items() if names]
    start = time.monotonic()
    with storage.scratch() as scratch:
        for number in range(_MOST_ROUNDS):
            if not pending or time.monotonic() > start + _ALL_TRIALS_S:
                break
            summary = _run(project.with_runs(scratch / str(number)), pending, device)
            changed: list[Path] = []
            for path in pending:
                size = _needed_size(summary, path.stem, guessed[path]) if summary is not None else None
                if size is not None and enlarge(path, size):
                    changed.append(path)
                    sizes.setdefault(path, {})[size.buffer] = size
            pending = changed
    return {path: list(of_job.values()) for path, of_job in sizes.items()}


def first_run_request(device: str, drafting_s: float) -> RunRequest:
    """Request the first run of drafts, which is shown: it has short limits, on a slow machine longer ones.

    Args:
        device: where it is.
        drafting_s: what it took to write the drafts, seconds.
    """
    run_s = max(FIRST_RUN_S, float(round(drafting_s)))
    deadline = f"{run_s:g} s for this first run"
    timeout = max(LIMIT_S, float(round(drafting_s / 4)))
    until = time.monotonic() + run_s
    return RunRequest(device=device, timeout=timeout, until=until, deadline=deadline)


def late(summary: RunSummary, limit_s: float) -> list[str]:
    """Explain what to do about the cases that did not end in their first run, a line for each job.

    Args:
        summary: of the run.
        limit_s: of each case in it, seconds.
    """
    lines: dict[str, str] = {}
    for verdict in summary.verdicts:
        if verdict.status != "timeout":
            continue
        smaller = "smaller buffers and grids are quicker"
        if verdict.parameters:
            sizes = ", ".join(f"{name} (now {value})" for name, value in verdict.parameters.items())
            smaller = f"smaller values of {sizes} are quicker"
        lines[verdict.job] = (
            f"{verdict.job} did not end within {limit_s:g} s, the limit of this first run: {smaller}; or give it more "
            "time with `gpuregress run`; if the kernel waits for what an earlier launch of the program makes, put that "
            "launch before it in `launches:`"
        )
    return list(lines.values())


def _run(project: Project, paths: list[Path], device: str) -> RunSummary | None:
    until = time.monotonic() + FIRST_RUN_S
    request = RunRequest(device=device, timeout=_TRIAL_S, until=until)
    try:
        summary = session.run(project, [str(path) for path in paths], request)
    except Interrupted:
        raise
    except GpuregressError:  # the run that is shown tells
        return None
    if summary.interrupted:
        raise Interrupted("interrupted")
    return summary


def _needed_size(summary: RunSummary, job: str, guessed: tuple[str, ...]) -> FoundSize | None:
    """Return a buffer that a case accessed beyond its end, and the elements that it gets."""
    for verdict in summary.verdicts:
        if verdict.job != job or verdict.outcome is None or verdict.outcome.fault is None:
            continue
        fault = verdict.outcome.fault
        location = fault.location
        if fault.kind != "out-of-bounds" or location.buffer not in guessed:
            continue
        if location.index is None or location.index < 0 or location.elements is None or location.size is None:
            continue
        return FoundSize(location.buffer, max(_FACTOR * location.elements, location.index + location.size))
    return None


def enlarge(path: Path, size: FoundSize) -> bool:
    """Give a buffer of a drafted job another size; tell whether it may have that."""
    text = storage.read_bytes(path).decode()
    line = re.compile(rf"^(  {re.escape(size.buffer)}: \{{dtype: (.+?), shape: \[)[^\]]*(\].*)$", re.MULTILINE)
    match = line.search(text)
    if match is None or size.elements * dtypes.parse(re.sub(r"\s+", "", match[2])).size > _MOST_BYTES:
        return False
    changed = f"{match[1]}{size.elements}{match[3].replace(UNKNOWN_SIZE, _FOUND_SIZE)}"
    storage.write_atomic(path, (text[: match.start()] + changed + text[match.end() :]).encode())
    return True
