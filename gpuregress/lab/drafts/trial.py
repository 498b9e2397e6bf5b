"""First runs of drafted jobs, with a short limit: a size that nothing tells is found by trial."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import RunSummary, Verdict
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts.kernel import NO_LAUNCH, ODD_SIZE, SHARED_GUESS, default_fill
from gpuregress.lab.drafts.launch import UNKNOWN_SIZE
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

_CASE_S = 5.0
"""For a case in its first run, in place of the limit in the job."""
_RUN_S = 8.0
"""For the first run of all drafts; cases without a turn are named."""
_TRIAL_S = 1.5
"""For a case in a trial; its code is optimised after the first time, and it is tried once more."""
_ROUND_S = 4.0
"""For a run of the drafts whose guesses were changed: kernels that do not end then leave others without a turn."""
_ALL_TRIALS_S = 12.0
_MOST_LONGER = 2.0
"""How much longer a case and the trials may take where the drafts took long, as on a slow machine."""
MOST_BYTES = 2**30
"""Of a job's buffers in its first run."""
_MOST_ROUNDS = 16
_NEEDED = b"NEEDED"
_FIRST_FACTOR = 2
"""Where the first access beyond the end is within it: often one element is missing, as of offsets of rows."""
_FACTOR = 32
_FACTOR_OF_LARGE = 4
_SMALL = 2**16
"""Elements."""
_MOST_BYTES = 2**22
_ODD_SIZES = re.compile(rf"^(  \w+: \[){ODD_SIZE}((?:, \d+)?\]$)", re.MULTILINE)
_GUESSED_SHARED = re.compile(rf"^(    shared: )(\d+)( \* \w+   # .*{SHARED_GUESS})", re.MULTILINE)
_SHARED_FACTOR = 4
_MOST_SHARED = 64
"""Bytes for each thread of a block."""
_SIGNED = re.compile(r"\bint(?:8|16|32|64)\b")
_FOUND_SIZE = "its size, which was found by trial for the parameters above"


class RunLimits(Record):
    """Limits of the runs of drafts, in seconds.

    Attributes:
        run_s: of a run that is shown.
        case_s: of a case in it.
        trials_s: of all trials.
        round_s: of one trial.
        trial_s: of a case in a trial.
    """

    run_s: float
    case_s: float
    trials_s: float
    round_s: float
    trial_s: float


def run_limits(drafting_s: float) -> RunLimits:
    """Set the limits of the runs of drafts, which are longer on a slow machine.

    Args:
        drafting_s: what it took to write the drafts, seconds.
    """
    return RunLimits(
        run_s=max(_RUN_S, float(round(drafting_s))),
        case_s=_longer(_CASE_S, float(round(drafting_s / 4))),
        trials_s=_longer(_ALL_TRIALS_S, drafting_s),
        round_s=_longer(_ROUND_S, drafting_s / 2),
        trial_s=_longer(_TRIAL_S, drafting_s / 8),
    )


def _longer(limit_s: float, slow_s: float) -> float:
    """Return a limit, or what a slow machine takes, up to twice the limit; seconds."""
    return max(limit_s, min(slow_s, _MOST_LONGER * limit_s))


class FoundSize(Record):
    """A size that was found by trial.

    Attributes:
        elements: that the buffer gets.
        index: of the access beyond its end for which it was enlarged first.
        guess: the elements that it had then.
    """

    buffer: str
    elements: int
    index: int = 0
    guess: int = 0


@dataclass(slots=True)
class TriedJob:
    """What the trials changed in a drafted job.

    Attributes:
        path: its file.
        guessed: its buffers whose size is a guess.
        sizes: the buffers that were enlarged.
        changes: of other guesses, in words.
        steps: what is still to be tried where no size is to blame.
        before_steps: the text before the first of these steps.
        sizes_before_steps: the buffers that were enlarged in that text.
    """

    path: Path
    guessed: tuple[str, ...]
    sizes: dict[str, FoundSize] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=lambda: list(_STEPS))
    before_steps: bytes | None = None
    sizes_before_steps: dict[str, FoundSize] = field(default_factory=dict)

    def change(self, verdicts: Sequence[Verdict]) -> bool:
        """Change the guess that is to blame for a fault; tell whether there is one.

        Args:
            verdicts: of all cases.
        """
        is_larger = False
        sizes = _needed_sizes(verdicts, self.guessed, self.sizes)
        if sizes and all(enlarge(self.path, size) for size in sizes):
            for size in sizes:
                first = self.sizes.get(size.buffer, size)
                self.sizes[size.buffer] = FoundSize(size.buffer, size.elements, first.index, first.guess)
            is_larger = True
        text = storage.read_bytes(self.path).decode()
        larger = _with_larger_shared_memory(text, verdicts)
        if larger != text:
            self._write(text, larger, "its shared memory is larger")
            is_larger = True
        if is_larger:
            return True
        if not any(verdict.status in ("fault", "timeout") for verdict in verdicts):
            return False
        while self.steps:
            step = self.steps.pop(0)
            changed = step.change(text)
            if changed != text:
                self._write(text, changed, step.words)
                return True
        return False

    def _write(self, text: str, changed: str, words: str) -> None:
        """Write what a step makes of a job."""
        if self.before_steps is None:
            self.before_steps = text.encode()
            self.sizes_before_steps = dict(self.sizes)
        if words not in self.changes:
            self.changes.append(words)
        storage.write_atomic(self.path, changed.encode())

    def restore(self) -> None:
        """Take back the steps that were of no help."""
        if self.before_steps is not None:
            storage.write_atomic(self.path, self.before_steps)
            self.changes.clear()
            self.sizes = self.sizes_before_steps


def find_sizes(
    project: Project,
    guessed: Mapping[Path, tuple[str, ...]],
    device: str,
    limits: RunLimits | None = None,
    first: RunSummary | None = None,
) -> list[TriedJob]:
    """Change guesses in drafts until the kernel stays inside its buffers.

    A buffer whose size is a guess grows. Where that does not help, guessed contents become zeros, and guessed numbers
    smaller. What makes a kernel fail otherwise, or not end, is taken back.

    Args:
        project: of the jobs.
        guessed: job file → its buffers whose size is a guess. The files are changed.
        device: where they run.
        limits: of the trials; None: those of drafts that were quick.
        first: a run of the drafts as they are, if there was one.

    Returns:
        The jobs that were changed.

    Raises:
        Interrupted: the user asked to stop.
    """
    if limits is None:
        limits = run_limits(0)
    jobs = [TriedJob(path, names) for path, names in guessed.items()]
    pending = [job for job in jobs if _NEEDED in storage.read_bytes(job.path)]
    until = time.monotonic() + limits.trials_s
    unended: set[Path] = set()  # as they were drafted
    with storage.scratch() as scratch:
        for number in range(_MOST_ROUNDS):
            if not pending or time.monotonic() > until:
                break
            summary = first if number == 0 else None
            if summary is None:
                round_until = min(until, time.monotonic() + limits.round_s)
                request = RunRequest(device=device, timeout=limits.trial_s, timeouts=1, until=round_until)
                summary = _run(project.with_runs(scratch / str(number)), [job.path for job in pending], request)
            if summary is None:
                break
            changed: list[TriedJob] = []
            for job in pending:
                verdicts = [verdict for verdict in summary.verdicts if verdict.job == job.path.stem]
                statuses = {verdict.status for verdict in verdicts}
                if number == 0 and "timeout" in statuses:
                    unended.add(job.path)
                if "timeout" in statuses and job.path not in unended:
                    job.restore()
                elif job.change(verdicts):
                    changed.append(job)
                elif statuses & {"fault", "timeout", "error"} or not statuses & {"new", "pass", "differ"}:
                    job.restore()
            pending = changed
    for job in pending:  # what was changed last was not tried
        job.restore()
    return [job for job in jobs if job.sizes or job.changes]


def first_run_request(device: str, limits: RunLimits) -> RunRequest:
    """Request a run of drafts that is shown, which begins now.

    Args:
        device: where it is.
        limits: of it.
    """
    deadline = f"{limits.run_s:g} s for this first run"
    until = time.monotonic() + limits.run_s
    return RunRequest(device=device, timeout=limits.case_s, timeouts=1, until=until, deadline=deadline)


def late(summary: RunSummary, limit_s: float) -> dict[str, str]:
    """Explain what to do about the cases that did not end in their first run: job → a line.

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
    return lines


def _with_larger_shared_memory(text: str, verdicts: Sequence[Verdict]) -> str:
    """Enlarge guessed dynamic shared memory, if accesses were beyond what is no buffer of the job."""
    guess = _GUESSED_SHARED.search(text)
    if guess is None or int(guess[2]) >= _MOST_SHARED:
        return text
    for verdict in verdicts:
        fault = verdict.outcome.fault if verdict.outcome is not None else None
        if fault is None or fault.kind != "out-of-bounds" or not fault.location.buffer:
            continue
        if f"\n  {fault.location.buffer}: " not in text:
            larger = _SHARED_FACTOR * int(guess[2])
            return f"{text[: guess.start()]}{guess[1]}{larger}{guess[3]}{text[guess.end() :]}"
    return text


def _with_zeros(text: str) -> str:
    """Replace guessed contents of whole numbers, which may be indices, by zeros."""
    guess = f"fill: {default_fill('int32')}"
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if guess in line and ("NEEDED: its contents" in line or NO_LAUNCH in text):
            lines[number] = line.replace(guess, "fill: zeros")
    return "\n".join(lines)


def _with_smaller_numbers(text: str, most: int) -> str:
    """Replace guesses of parameters above a number by this number."""

    def smaller(match: re.Match[str]) -> str:
        number = str(min(int(match[2]), most))
        return f"{match[1]}{number}{match[3]}{number}{match[4]}"

    return re.sub(r"^(  \w+: \[)(\d+)(\]   # NEEDED: its value; )\2( is a guess)", smaller, text, flags=re.MULTILINE)


def _with_none(text: str) -> str:
    """Replace zeros in the place of guessed contents by -1, where they may be indices: -1 often stands for none."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        is_guess = "NEEDED: its contents" in line or NO_LAUNCH in text
        if is_guess and _SIGNED.search(line.partition("shape:")[0]):
            lines[number] = line.replace("fill: zeros", "fill: {value: -1}")
    return "\n".join(lines)


class _Step(Record):
    """A change of guesses, and how it is described."""

    words: str
    change: Callable[[str], str]


def _with_zero_arguments(text: str) -> str:
    """Replace guesses of whole numbers that are arguments, as strides, by 0."""
    text = re.sub(r"^( +.*\{u?int\d+: )1(\}   # NEEDED)", r"\g<1>0\2", text, flags=re.MULTILINE)
    lines = text.split("\n")
    arguments = -1
    for number, line in enumerate(lines):
        if line.startswith("    args: ["):
            arguments = number
        guess = re.match(r"    # args\[(\d+)\], \w+: NEEDED: its value", line)
        if guess is None or arguments < 0:
            continue
        words = re.split(r", (?![^{]*\})", lines[arguments])
        words[int(guess[1])] = re.sub(r"(\{u?int\d+: )1\}", r"\g<1>0}", words[int(guess[1])])
        lines[arguments] = ", ".join(words)
    return "\n".join(lines)


_STEPS: tuple[_Step, ...] = (
    _Step(
        "guessed contents are zeros, and guessed numbers at most 64",
        lambda text: _with_smaller_numbers(_with_zeros(text), 64),
    ),
    _Step("guessed arguments are zeros", _with_zero_arguments),
    _Step("guessed numbers are at most 8", lambda text: _with_smaller_numbers(text, 8)),
    _Step("guessed sizes are multiples of a block", lambda text: _ODD_SIZES.sub(r"\g<1>1024\2", text)),
    _Step("guessed contents of signed numbers are -1", _with_none),
)


def _run(project: Project, paths: list[Path], request: RunRequest) -> RunSummary | None:
    try:
        summary = session.run(project, [str(path) for path in paths], request)
    except Interrupted:
        raise
    except GpuregressError:  # the run that is shown tells
        return None
    if summary.interrupted:
        raise Interrupted("interrupted")
    return summary


def _needed_sizes(verdicts: Sequence[Verdict], guessed: tuple[str, ...], found: Collection[str]) -> list[FoundSize]:
    """Return the buffers that cases accessed beyond their ends, with the elements that they get.

    Args:
        verdicts: of the cases.
        guessed: the buffers whose size is a guess.
        found: those that were enlarged before.
    """
    sizes: dict[str, FoundSize] = {}
    for verdict in verdicts:
        if verdict.outcome is None or verdict.outcome.fault is None:
            continue
        fault = verdict.outcome.fault
        location = fault.location
        if fault.kind != "out-of-bounds" or location.buffer not in guessed:
            continue
        if location.index is None or location.index < 0 or location.elements is None or location.size is None:
            continue
        factor = _FACTOR if location.elements <= _SMALL else _FACTOR_OF_LARGE
        if location.buffer not in found and location.index < _FIRST_FACTOR * location.elements:
            factor = _FIRST_FACTOR
        elements = max(factor * location.elements, location.index + location.size)
        size = FoundSize(location.buffer, elements, location.index, location.elements)
        sizes[location.buffer] = max(size, sizes.get(location.buffer, size), key=lambda found: found.elements)
    return list(sizes.values())


def enlarge(path: Path, size: FoundSize) -> bool:
    """Give a buffer of a drafted job another size; tell whether it may have that."""
    text = storage.read_bytes(path).decode()
    line = re.compile(rf"^(  {re.escape(size.buffer)}: \{{dtype: (.+?), shape: \[)[^\]]*(\].*)$", re.MULTILINE)
    match = line.search(text)
    if match is None or size.elements * dtypes.parse(re.sub(r"\s+", "", match[2])).size > _MOST_BYTES:
        return False
    rest = match[3].replace(UNKNOWN_SIZE, _FOUND_SIZE)
    if _FOUND_SIZE not in rest:
        separator = "; " if "   #" in rest else "   # "
        rest += f"{separator}NEEDED: {_FOUND_SIZE}"
    changed = f"{match[1]}{size.elements}{rest}"
    storage.write_atomic(path, (text[: match.start()] + changed + text[match.end() :]).encode())
    return True
