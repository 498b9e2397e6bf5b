"""Use of buffers in a job: dumped, judged and unused ones, and the status buffer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Case
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.buffer import BufferSpec
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.launch import ArgumentSpec, LaunchSpec
from gpuregress.jobs.spec.models.rules import DEVICE
from gpuregress.toolchain import cxx_declarations, include_scanner
from gpuregress.toolchain.cxx_types import dtype_of_type

_JUDGING = ("compare", "checks", "reference", "verify")
"""The keys of a job that judge buffers by name."""
_SHOWN = 8
"""Buffers that a message names."""


def dumped(file: JobFile, problems: Problems) -> tuple[str, ...]:
    """Return the buffers to dump: those the job lists, or those without a fill; and always those it judges.

    A job whose cases must agree, and has none of them, dumps the buffers that its launches take.

    Args:
        file: the job.
        problems: collects the errors.
    """
    job = file.job
    if job.dump == "all":
        return tuple(job.buffers)
    judged = _judged(job)
    listed: list[str] = []
    if job.dump is None:
        outputs = {name for name, buffer in job.buffers.items() if buffer.fill is None} - _twins(job)
        selected = outputs | judged
        if job.agree and selected.isdisjoint(job.buffers):
            selected = _launched(job)
        listed = [name for name in job.buffers if name in selected]
    for position, name in enumerate(job.dump or ()):
        key = ("dump", position)
        if name in listed:
            problems.add(key, f"duplicate entry {name!r}")
        elif known(file, problems, name, key):
            listed.append(name)
    return (*listed, *(name for name in job.buffers if name in judged and name not in listed))


def _launched(job: JobSpec) -> set[str]:
    """Collect the buffers that the job's own launches use."""
    return set(itertools.chain.from_iterable(map(_of_launch, job.launches)))


def _twins(job: JobSpec) -> set[str]:
    """Collect the buffers that only the launches of references use: this run leaves them unwritten."""
    twins = {item.buffer for item in job.reference.values() if item.buffer}
    return twins - _launched(job) - {name for name, buffer in job.buffers.items() if buffer.symbol}


def known(file: JobFile, problems: Problems, name: str, key: Key) -> bool:
    """Tell whether a buffer exists and is valid; report it otherwise."""
    if name in file.job.buffers:
        return True
    if ("buffers", name) not in file.broken and ("buffers",) not in file.broken:
        problems.add(key, f"unknown buffer {name!r}{suggestion(name, file.job.buffers)}")
    return False


def check(file: JobFile, problems: Problems, dump: tuple[str, ...]) -> None:
    """Report unknown buffers, and a job with launches that can never fail.

    Args:
        file: the job.
        problems: collects the errors.
        dump: from `dumped`.
    """
    job = file.job
    for section in _JUDGING:
        for name in getattr(job, section):
            if (section, name) != ("checks", DEVICE):
                known(file, problems, name, (section, name))
    twins = _twins(job)
    for section in _JUDGING:
        for name in twins.intersection(getattr(job, section)):
            problems.add((section, name), f"{name} is written by the launches of a reference only, not by the job's")
    if job.function is None:
        check_can_fail(file, problems, dump)


def check_can_fail(file: JobFile, problems: Problems, dump: tuple[str, ...]) -> None:
    """Report a job that can never fail.

    Args:
        file: the job.
        problems: collects the errors.
        dump: what its cases dump; with a function, also what that writes by reference.
    """
    job = file.job
    can_fail = dump or job.checks or job.expect or job.status or not job.buffers  # then only a fault decides
    if not can_fail and not file.is_broken("buffers", "dump", "checks", "expect", "status", "compare"):
        outputs = [name for name, buffer in job.buffers.items() if buffer.fill is None] or list(job.buffers)
        text = "nothing is dumped, checked or expected, so this job can never fail: name buffers to dump"
        problems.add(("dump",), f"{text}, such as dump: [{', '.join(outputs[:_SHOWN])}]")


def check_used(file: JobFile, problems: Problems, cases: Iterable[Case] = ()) -> None:
    """Report each unused buffer, unless an error elsewhere may be the reason.

    Args:
        file: the job.
        problems: collects the errors.
        cases: its cases, whose launches the planning of a function has made.
    """
    job = file.job
    if file.is_broken("launches", "function", "compare", "checks", "status", "reference", "verify"):
        return
    used = _used(job)
    reason = "no launch takes it"
    if job.function is not None:
        if len(problems):
            return
        reason = "no parameter of the function has its name"
        for case in cases:
            for launch in case.launches:
                used.update(argument.buffer for argument in launch.args)
    for name in job.buffers:
        if name not in used:
            problems.add(("buffers", name), f"{name} is never used: {reason}, and it is not a symbol")


def _judged(job: JobSpec) -> set[str]:
    return set(itertools.chain.from_iterable(getattr(job, section) for section in _JUDGING))


def _used(job: JobSpec) -> set[str]:
    used = _judged(job) | _launched(job)
    for name, buffer in job.buffers.items():
        if buffer.symbol:
            used.add(name)
        if buffer.fill is not None and buffer.fill.same:
            used.add(buffer.fill.same)
    for reference in job.reference.values():
        for launch in reference.launches or ():
            used.update(_of_launch(launch))
    for checks in job.checks.values():
        for check in checks:
            used.update(name for name in (check.equals, check.permutation) if name)
    if job.status_buffer:
        used.add(job.status_buffer)
    return used


def _of_launch(launch: LaunchSpec) -> Iterator[str]:
    yield from _arguments(launch.args)
    for pair in launch.swap:
        yield from pair


def _arguments(items: Iterable[ArgumentSpec]) -> Iterator[str]:
    for item in items:
        if item.kind == "buffer":
            yield item.buffer
        yield from _arguments((*item.fields, *item.struct.values()))


# --- status buffer of a kernel that is a variable of the source and not among the job's buffers -----------------------


_ARRAY = re.compile(r"\s*\[\s*([0-9]+)\s*\]")


def with_status(file: JobFile, sources: Sequence[Path], problems: Problems) -> JobFile:
    """Add the status variable to the buffers of a job.

    Args:
        file: the job; `status: d_status` may name a `__device__` variable of its sources.
        sources: the sources; none where one is not there.
        problems: collects the errors.
    """
    job, name = file.job, file.job.status_buffer
    if name is None or name in job.buffers or file.is_broken("buffers", "source") or not sources:
        return file
    names = list(job.buffers)
    for source in sources:
        text = _text(source)
        buffer = _variable(text, name)
        if buffer is not None:
            return replace(file, model=msgspec.structs.replace(job, buffers={**job.buffers, name: buffer}))
        names += cxx_declarations.variable_names(text)
    key: Key = ("status", "buffer") if isinstance(file.document.data["status"], dict) else ("status",)
    problems.add(key, f"unknown buffer or __device__ variable {name!r}{suggestion(name, names)}")
    return file


def _text(source: Path) -> str:
    if source.suffix not in include_scanner.SUFFIXES:
        return ""
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _variable(text: str, name: str) -> BufferSpec | None:
    """Declare a variable as a buffer: `__device__ int d_status[4];` is an int32 buffer of 4, filled with zeros."""
    declaration = re.search(
        rf"\b__(?:device|managed)__\s+([A-Za-z_][\w \t]*?)\s+{re.escape(name)}\b((?:\s*\[\s*[0-9]+\s*\])*)\s*[;={{]",
        include_scanner.without_comments(text),
    )
    if declaration is None:
        return None
    words = [word for word in declaration[1].split() if word not in ("volatile", "static", "__managed__")]
    dtype = dtype_of_type(" ".join(words))
    if dtype is None:
        return None
    shape = [int(extent) for extent in _ARRAY.findall(declaration[2])] or [1]
    return BufferSpec.of({"dtype": dtype, "shape": shape, "fill": "zeros", "symbol": name})
