"""Commands that examine the tests: `mutate`, `fuzz`, `audit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.lab.fuzzing.findings import FuzzFinding
    from gpuregress.lab.fuzzing.fuzz import FuzzReport
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
def mutate_command(
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
                for line in ("", *_mutate_lines(one)) if reports else _mutate_lines(one):
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


def _mutate_lines(done: MutationReport) -> Iterator[str]:
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
def fuzz_command(
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
    for line in _fuzz_lines(done):
        console.say(line, err=report == "-")
    if done.interrupted:
        return Interrupted.exit_code
    if not done.tried:
        return NothingToDo.exit_code
    return 1 if done.failures else 0


def _fuzz_lines(done: FuzzReport) -> Iterator[str]:
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


_MOST = 1_000_000
"""Mutants, and seeds."""
_MOST_SHOWN = 5


@click.command(
    "audit",
    short_help="say what the tests of jobs prove, with a grade",
    epilog="Example: gpuregress audit reduce --budget 2min --min-grade B --html audit.html",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option(
    "--budget",
    type=values.SECONDS,
    default="10min",
    show_default=True,
    metavar="S",
    help="Time for all of it: seconds, or a time, as 2min.",
)
@click.option(
    "--mutants",
    "sample",
    type=click.IntRange(1, _MOST),
    metavar="N",
    help="Try at most N mutants of each job.  [default: as many as the time allows]",
)
@click.option(
    "--seed", type=click.IntRange(0, _MOST), default=0, show_default=True, metavar="N", help="Of the sample of mutants."
)
@click.option("--fresh", is_flag=True, help="Take no results of earlier audits.")
@click.option(
    "--min-grade",
    type=click.Choice(["A", "B", "C", "D"], case_sensitive=False),
    metavar="A|B|C|D",
    help="Exit with 1 where a job has a lower grade, or none.",
)
@click.option(
    "--json", "json_target", metavar="F", type=values.REPORT, help="Write the results as JSON to F (- is stdout)."
)
@click.option("--html", "html_target", metavar="F", type=values.REPORT, help="Write the page to F (- is stdout).")
@click.pass_context
def audit_command(
    ctx: click.Context,
    /,
    jobs: tuple[str, ...],
    budget: float,
    sample: int | None,
    seed: int,
    fresh: bool,
    min_grade: str | None,
    json_target: str | None,
    html_target: str | None,
) -> int:
    """Examine the JOBs on the CPU device within a time budget; all of configs/ if none.

    Runs their cases, the dynamic checks, other schedules, the coverage, mutants, inputs at the edges and the accuracy,
    and says what is wrong, what is right by luck, what no test would notice, and what is proven. What could not be
    examined is named, and limits the grade.

    Exits with 0, with 1 where a job has a lower grade than --min-grade, or none.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import Interrupted, UsageError
    from gpuregress.foundation.escapes import json_text
    from gpuregress.foundation.records import to_json
    from gpuregress.lab.auditing import audit, examination
    from gpuregress.report import audit_report

    if json_target == html_target == "-":
        raise UsageError("--json and --html cannot both go to stdout: name a file for one of them")
    request = audit.AuditRequest(jobs, budget, sample, seed, fresh)
    with progress.transient() as listen:
        done = audit.audit(context.find_project(ctx, jobs), request, listen=listen)
    for line in audit_report.lines(done):  # before the files, which a full disk may refuse
        console.say(line, err="-" in (json_target, html_target))
    if json_target is not None:
        context.write_report(json_target, f"{json_text(to_json(done), indent=2)}\n")
    if html_target is not None:
        context.write_report(html_target, audit_report.page(done))
    if done.interrupted:
        return Interrupted.exit_code
    low = examination.below(done.grades, min_grade) if min_grade is not None else []
    if low:
        names = ", ".join(f"{one.job} ({one.grade or 'no grade'})" for one in low[:_MOST_SHOWN])
        more = f" and {len(low) - _MOST_SHOWN} more" if len(low) > _MOST_SHOWN else ""
        console.say(f"below the grade {min_grade}: {names}{more}", err=True)
    return 1 if low else 0
