"""Command `gpuregress fuzz`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.lab.fuzzing.findings import FuzzFinding
    from gpuregress.lab.fuzzing.fuzz import FuzzReport


@click.command(
    "fuzz",
    short_help="try inputs at the edges, and write a small job for each failure",
    epilog="Example: gpuregress fuzz reduce --time 60s",
)
@click.argument("job")
@click.option("--seed", type=values.SEED, default=0, show_default=True, metavar="N", help="Of the search.")
@click.option(
    "--limit",
    type=values.COUNT,
    metavar="N",
    help="Try at most N inputs.  [default: 200, or no limit with --time]",
)
@click.option(
    "--time", "seconds", type=values.SECONDS, metavar="T", help="Try inputs, and shrink failures, for this long: 60s."
)
@click.option(
    "--keep",
    type=values.NonEmpty(),
    multiple=True,
    metavar="NAME",
    help="Leave a parameter or the data of a buffer as they are; repeatable.",
)
@click.option(
    "--schedules",
    type=click.IntRange(1, values.MOST_SCHEDULES),
    default=2,
    show_default=True,
    metavar="N",
    help="Compare the results of N schedules; 1 compares none.",
)
@click.option(
    "--check",
    "checks",
    type=values.NonEmpty(),
    multiple=True,
    metavar="NAMES",
    help="Dynamic checks, as of run: all, or races, uninitialized, barriers, leaks.",
)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the new jobs; no file is overwritten.  [default: configs/fuzz]",
)
@click.option("--json", "report", metavar="F", type=values.REPORT, help="Write the results as JSON to F (- is stdout).")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    job: str,
    seed: int,
    limit: int | None,
    seconds: float | None,
    keep: tuple[str, ...],
    schedules: int,
    checks: tuple[str, ...],
    target: Path | None,
    report: str | None,
) -> int:
    """Run a JOB with parameters and data that its cases do not have, and compare with its reference.

    Parameters at the edges: 0, 1, the block and its neighbours, powers of two and theirs. Data with NaN, infinities,
    subnormals, -0, extremes, duplicates, all equal, sorted. Inputs that reach new code are changed further. A failure
    shrinks to the smallest case and becomes a job, DIR/JOB-N.yaml. Runs on the CPU device.

    Exits with 0 when nothing was found, 1 when something was, 2 where the job fails as it is or nothing can be changed,
    5 where no input was tried.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import Interrupted, NothingToDo
    from gpuregress.foundation.escapes import json_text
    from gpuregress.foundation.records import to_json
    from gpuregress.lab.fuzzing import fuzz

    request = fuzz.FuzzRequest(job, seed, limit, seconds, target, keep, schedules, checks)
    with progress.transient() as listen:
        done = fuzz.fuzz(context.find_project(ctx, [job]), request, listen=listen)
    if report is not None:
        context.write_report(report, f"{json_text(to_json(done), indent=2)}\n")
    for line in _lines(done):
        console.say(line, err=report == "-")
    if done.interrupted:
        return Interrupted.exit_code
    if not done.tried:
        return NothingToDo.exit_code
    return 1 if done.failures else 0


def _lines(done: FuzzReport) -> Iterator[str]:
    """The failures, the notes, then the numbers."""
    shown: set[str] = set()
    for one in done.failures:
        yield from _failure(one, "as above" if one.path in shown else "was there already" if one.is_known else "")
        shown.add(one.path)
    for note in done.notes:
        yield f"note: {note}"
    if done.interrupted:
        yield f"interrupted after {done.tried} inputs"
    left = [f"{done.infeasible} infeasible"] if done.infeasible else []
    left += [f"{done.not_run} could not be run"] if done.not_run else []
    count = len(done.failures)
    yield (
        f"{done.job}: {done.tried} inputs (seed {done.seed}), judged by {', '.join(done.judged_by)}: "
        f"{f'{count} kinds of failure' if count > 1 else f'{count} kind of failure' if count else 'no failure'}"
        + (f"; {', '.join(left)}" if left else "")
    )
    more = f", {done.more_reached} more with these inputs" if done.more_reached else ""
    yield f"coverage: {done.reached} lines, branch sides, loop counts and index limits by the job's own cases{more}"


def _failure(one: FuzzFinding, remark: str) -> Iterator[str]:
    yield one.headline
    also = f", and {one.also} others" if one.also else ""
    yield f"    with {one.inputs}{also}"
    yield from (f"    smaller: {change}" for change in one.changes)
    if not one.path:
        yield f"    no job is written: {one.stopped}"
    elif one.stopped:
        yield f"    a smaller one may exist: {one.stopped}"
    if one.path:
        yield f"    {one.path}{f' ({remark})' if remark else ''}"
    yield ""
