"""Command `gpuregress mutate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.lab.mutating.mutate import MutationReport, RefusedJob, TriedMutant


@click.command(
    "mutate",
    short_help="count the small mistakes in a kernel that its job notices",
    epilog="Example: gpuregress mutate reduce --limit 40 --min-score 80%",
)
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
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
    jobs: tuple[str, ...],
    limit: int | None,
    seed: int,
    min_score: float | None,
    target: str | None,
    fresh: bool,
) -> int:
    """Change the kernels of each JOB in one place at a time, and count the mutants that its cases notice.

    A mutant is killed where a case does not pass: by its baseline, a reference, a check, a fault. One over its time
    limit has timed out, and counts as noticed. A survivor is shown with its diff and the reason why it lives. Runs on
    the CPU device; no file of the project is changed.

    Exits with 0, with 1 where a job is below --min-score, with 2 where the unchanged kernels do not pass, or kernels
    that do nothing do.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import Interrupted
    from gpuregress.foundation.escapes import json_text
    from gpuregress.lab.mutating import mutate as mutated_jobs
    from gpuregress.lab.mutating.mutate import MutateRequest, MutationReport

    project, request = context.find_project(ctx, jobs), MutateRequest(limit, seed, fresh)
    reports: list[MutationReport] = []
    refused: list[RefusedJob] = []
    code = 0
    try:
        for one in mutated_jobs.mutate_each(project, jobs, request, progress.transient):
            if isinstance(one, MutationReport):
                for line in ("", *_lines(one)) if reports else _lines(one):
                    console.say(line, err=target == "-")
                reports.append(one)
            else:
                console.say(f"{one.job}: {one.why}", err=True)
                refused.append(one)
    except Interrupted:
        if not reports:
            raise
        code = Interrupted.exit_code
    if target is not None:
        context.write_report(target, f"{json_text(_document(reports, refused), indent=2)}\n")
    if code or (reports[-1:] and reports[-1].interrupted):
        return Interrupted.exit_code
    low = [one.job for one in reports if min_score is not None and (one.score is None or one.score < min_score)]
    if low:
        console.say(f"the score is below {min_score:.0%}: {', '.join(low)}", err=True)
    return max((1 if low else 0, *(one.exit_code for one in refused)))


def _document(reports: Sequence[MutationReport], refused: Sequence[RefusedJob]) -> Any:
    """The JSON: of one job its report, of several a list of them."""
    from gpuregress.foundation.records import to_json

    if len(reports) == 1 and not refused:
        return to_json(reports[0])
    wrong = [{"job": one.job, "why": one.why} for one in refused]
    return {"version": 1, "jobs": [to_json(one) for one in reports], "refused": wrong}


def _lines(done: MutationReport) -> Iterator[str]:
    """The survivors with their diffs, then the score."""
    from gpuregress.lab.mutating.trials import EQUIVALENT

    for one in done.survived:
        if one.reason not in EQUIVALENT:
            yield from _survivor(one)
    yield from done.tolerance
    for note in done.notes:
        yield f"note: {note}"
    if done.interrupted:
        yield f"interrupted after {done.tried} mutants"
    counted = len(done.survived) - done.equivalent
    left = [f"{done.equivalent} equivalent"] if done.equivalent else []
    left += [f"{len(done.not_valid)} not valid"] if done.not_valid else []
    racing = f" ({done.racing} of them noticed with --check races)" if done.racing else ""
    sample = f" of {done.mutants} (seed {done.seed})" if done.tried < done.mutants and not done.interrupted else ""
    yield (
        f"{done.job}: {done.tried} mutants{sample}, {done.cases} case{'s' if done.cases != 1 else ''}: "
        f"{len(done.killed)} killed, {len(done.timed_out)} timed out, {counted} survived{racing}"
        + (f"; not counted: {', '.join(left)}" if left else "")
    )
    score = f"{done.score:.0%}" if done.score is not None else "none, for no mutant counts"
    cached = f", {done.cached} results from the cache" if done.cached else ""
    if done.racing and done.score_with_races is not None:
        score += f" ({done.score_with_races:.0%} with `checks: {{device: [races]}}`)"
    yield f"score {score} in {done.seconds:.1f} s{cached}"


def _survivor(one: TriedMutant) -> Iterator[str]:
    yield f"survived: {one.reason}: {one.operator} in {one.file}:{one.line}: {one.change}"
    yield from (f"    {line}" for line in one.diff.splitlines()[2:])
    if one.hint:
        yield f"    {one.hint}"
    yield ""
