"""Command `gpuregress mutate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.operations.mutating.mutate import MutationReport, TriedMutant


@click.command(
    "mutate",
    short_help="count the small mistakes in a kernel that its job notices",
    epilog="Example: gpuregress mutate reduce --limit 40 --min-score 80%",
)
@click.argument("job")
@click.option(
    "--limit",
    type=values.COUNT,
    metavar="N",
    help="Try at most N mutants, a sample of all.  [default: all]",
)
@click.option("--seed", type=values.SEED, default=0, show_default=True, metavar="N", help="Of the sample.")
@click.option("--min-score", type=values.SHARE, metavar="P", help="Exit with 1 below this score: 80%, or 0.8.")
@click.option("--json", "target", metavar="F", type=values.REPORT, help="Write the results as JSON to F (- is stdout).")
@click.option("--fresh", is_flag=True, help="Try every mutant again, also those whose result is known.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    job: str,
    limit: int | None,
    seed: int,
    min_score: float | None,
    target: str | None,
    fresh: bool,
) -> int:
    """Change the kernels of a JOB in one place at a time, and count the mutants that its cases notice.

    A mutant is killed where a case does not pass: by its baseline, a reference, a check, a fault. One over its time
    limit has timed out, and counts as noticed. A survivor is shown with its diff and the reason why it lives. Runs on
    the CPU device; no file of the project is changed.

    Exits with 0, with 1 below --min-score, with 2 where the unchanged kernels do not pass, or kernels that do nothing
    do.
    """
    from gpuregress.cli import progress
    from gpuregress.errors import Interrupted
    from gpuregress.escapes import json_text
    from gpuregress.operations.mutating import mutate
    from gpuregress.records import to_json

    request = mutate.MutateRequest(job, limit, seed, fresh)
    with progress.transient() as listen:
        done = mutate.mutate(context.find_project(ctx, [job]), request, listen=listen)
    if target is not None:
        context.write_report(target, f"{json_text(to_json(done), indent=2)}\n")
    for line in _lines(done):
        console.say(line, err=target == "-")
    if done.interrupted:
        return Interrupted.exit_code
    if min_score is not None and (done.score is None or done.score < min_score):
        console.say(f"the score is below {min_score:.0%}", err=True)
        return 1
    return 0


def _lines(done: MutationReport) -> Iterator[str]:
    """The survivors with their diffs, then the score."""
    for one in done.survived:
        if one.reason != "equal PTX":
            yield from _survivor(one)
    yield from done.tolerance
    for note in done.notes:
        yield f"note: {note}"
    if done.interrupted:
        yield f"interrupted after {done.tried} mutants"
    counted = len(done.survived) - done.equivalent
    left = [f"{done.equivalent} with equal PTX"] if done.equivalent else []
    left += [f"{len(done.not_valid)} not valid"] if done.not_valid else []
    racing = f" ({done.racing} only with --check races)" if done.racing else ""
    sample = f" of {done.mutants} (seed {done.seed})" if done.tried < done.mutants and not done.interrupted else ""
    yield (
        f"{done.job}: {done.tried} mutants{sample}, {done.cases} case{'s' if done.cases != 1 else ''}: "
        f"{len(done.killed)} killed{racing}, {len(done.timed_out)} timed out, {counted} survived"
        + (f"; not counted: {', '.join(left)}" if left else "")
    )
    score = f"{done.score:.0%}" if done.score is not None else "none, for no mutant counts"
    cached = f", {done.cached} results from the cache" if done.cached else ""
    yield f"score {score} in {done.seconds:.1f} s{cached}"


def _survivor(one: TriedMutant) -> Iterator[str]:
    yield f"survived: {one.reason}: {one.operator} in {one.file}:{one.line}: {one.change}"
    yield from (f"    {line}" for line in one.diff.splitlines()[2:])
    if one.hint:
        yield f"    {one.hint}"
    yield ""
