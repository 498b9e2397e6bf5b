"""Command `gpuregress accuracy`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.foundation.records import BufferAccuracy
    from gpuregress.lab.accuracy import CaseAccuracy

_MOST_LINES = 8


@click.command(
    "accuracy",
    short_help="compare a case with itself in higher precision",
    epilog="Example: gpuregress accuracy reduce/n=65536",
)
@click.argument("case", nargs=-1, required=True)
@click.option("--json", "target", metavar="F", type=values.REPORT, help="Write the results as JSON to F (- is stdout).")
@click.pass_context
def command(ctx: click.Context, /, case: tuple[str, ...], target: str | None) -> int:
    """Run a CASE beside itself in higher precision: the error of its results, and the lines where it arises.

    float16, bfloat16 and float32 are computed as double, double as double-double, instruction by instruction. Runs on
    the CPU device; no file of the project is changed. docs/accuracy.md tells what is exact and what is not.

    Exits with 0, with 2 where a case does not run or has no floating-point result.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.foundation.escapes import json_text
    from gpuregress.foundation.records import to_json
    from gpuregress.lab import accuracy

    done = accuracy.accuracy(context.find_project(ctx, list(case)), case)
    if target is not None:
        context.write_report(target, f"{json_text(to_json(done), indent=2)}\n")
    for one in done.cases:
        for line in _lines(one):
            console.say(line, err=target == "-")
    for name, why in done.left.items():
        console.say(f"{name} {why}", err=True)
    return UsageError.exit_code if done.left else 0


def _lines(one: CaseAccuracy) -> Iterator[str]:
    """The errors of each buffer, then the source lines."""
    found = one.accuracy
    yield one.case
    for buffer in found.buffers:
        yield from _buffer(buffer, is_followed=not found.restarts)
    if found.lines:
        yield "  the error arises at"
        for line in found.lines[:_MOST_LINES]:
            yield f"    {line.share:5.0%}  {_text(line.path, line.line)}  (up to {_number(line.ulp)} ulp)"
        more = len(found.lines) - _MOST_LINES
        if more > 0:
            yield f"    and {more} more lines"
    for place in found.cancellations:
        yield (
            f"  looks like catastrophic cancellation at {_text(place.path, place.line)}: "
            f"up to {place.bits} bits lost, {place.count} times"
        )
    for lost in found.restarts[:_MOST_LINES]:
        yield (
            f"  not followed: {lost.instruction} at {_text(lost.path, lost.line)} ({lost.count} times); "
            "its results count as exact, or are left out"
        )
    if len(found.restarts) > _MOST_LINES:
        yield f"  and {len(found.restarts) - _MOST_LINES} more instructions that are not followed"
    if found.lost:
        yield f"  {found.lost} elements in memory were not followed, for there was no room; they count as exact"


def _buffer(buffer: BufferAccuracy, *, is_followed: bool) -> Iterator[str]:
    """The errors of a buffer; without an error none is told as exact where shadows were lost."""
    from gpuregress.foundation import dtypes

    word = "elements" if len(dtypes.parse(buffer.dtype).parts) == 1 else "parts of elements"
    left = buffer.elements - buffer.tracked
    rest = f"; {left} without a value in higher precision are left out" if left else ""
    yield f"  {buffer.buffer}: {buffer.dtype} against {buffer.precision}, {buffer.tracked} {word}{rest}"
    if not buffer.tracked:
        return
    if not (is_followed or buffer.largest or buffer.not_finite or buffer.never_finite):
        yield f"    not followed: {buffer.tracked} {word} without a known error; see the instructions below"
        return
    if buffer.compared:
        yield (
            f"    error in ulp: median {_number(buffer.median)}, 90% {_number(buffer.p90)}, "
            f"99% {_number(buffer.p99)}, largest {_number(buffer.largest)}"
        )
    if buffer.never_finite:
        yield f"    {buffer.never_finite} {word} are NaN or infinite on both sides, and left out"
    if buffer.not_finite:
        yield f"    {buffer.not_finite} {word} are finite on one side only"
    none = "exact" if is_followed else "exact or not followed"
    bounds = (f"{f'≤ {_number(bound)}' if bound else none}: {count}" for bound, count in buffer.histogram)
    if buffer.compared:
        yield f"    {word} by error: {', '.join(bounds)}"
    for worst in buffer.worst:
        where = f"[{', '.join(map(str, worst.index))}]" + (f".{worst.part}" if worst.part else "")
        yield f"    worst {where}: {worst.value}, exact {worst.exact}, {_number(worst.ulp)} ulp"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _text(path: str, line: int) -> str:
    """`kernels/reduce.cu:31  acc += x[i];`."""
    if not path:
        return "an unknown line"
    shown = os.path.relpath(path)
    shown = path if shown.startswith("../../") else shown
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        text = ""
    return f"{shown}:{line}" + (f"  {text}" if text else "")
