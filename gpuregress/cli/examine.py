"""Commands that examine the tests: `mutate`, `fuzz`, `audit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, progress, shared_options, values
from gpuregress.foundation.errors import ExitCode, Interrupted, NothingToDo, UsageError
from gpuregress.foundation.records import to_json
from gpuregress.foundation.wording import plural
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.lab.auditing import audit, examination
from gpuregress.lab.fuzzing import fuzz
from gpuregress.lab.fuzzing.findings import FuzzFinding
from gpuregress.lab.fuzzing.fuzz import FuzzReport
from gpuregress.lab.mutating import mutate
from gpuregress.lab.mutating.campaign import MutateRequest, MutationReport, TriedMutant
from gpuregress.lab.mutating.mutate import RefusedJob
from gpuregress.lab.mutating.trials import EQUIVALENT
from gpuregress.report import audit_report

_MOST_SHOWN = 5


@click.command("mutate", epilog="Example: gpuregress mutate reduce --limit 40 --min-score 80%")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@click.option(
    "--limit",
    type=values.COUNT,
    metavar="N",
    help="Try at most N mutants, a sample of all.  [default: all]",
)
@shared_options.seed_option("sample")
@click.option("--min-score", type=values.SHARE, metavar="P", help="Exit with 1 below this score: 80%, or 0.8.")
@shared_options.file_option("json", "target", "Write the results as JSON")
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
    """Change the kernels of each JOB in one place at a time, and count the changes (mutants) that its cases notice.

    A mutant is killed if a case does not pass: by its baseline, a reference, a check or a fault. A mutant over its time
    limit counts as noticed, too. A survivor is shown with its diff and the reason why it survives. Runs on the CPU
    device and changes no file of the project.

    Exits with 0, with 1 if a job is below --min-score, and with 2 if the unchanged kernels do not pass, or if kernels
    that do nothing pass.
    """
    request = MutateRequest(limit, seed, fresh)
    reports: list[MutationReport] = []
    refused: list[RefusedJob] = []
    is_interrupted = False
    try:
        for result in mutate.mutate_each(context.find_project(ctx, jobs), jobs, request, progress.transient):
            if isinstance(result, RefusedJob):
                console.say(f"{result.job}: {result.why}", err=True)
                refused.append(result)
                continue
            if reports:
                console.say("", err=target == "-")
            console.say_lines(mutation_lines(result), err=target == "-")
            reports.append(result)
            is_interrupted = result.interrupted
    except Interrupted:
        if not reports:
            raise
        is_interrupted = True
    if target is not None:
        context.write_json(target, _mutation_document(reports, refused))
    if is_interrupted:
        return Interrupted.exit_code
    code = max((job.exit_code for job in refused), default=0)
    low = []
    if min_score is not None:
        low = [report.job for report in reports if report.score is None or report.score < min_score]
    if low:
        console.say(f"the score is below {min_score:.0%}: {', '.join(low)}", err=True)
        code = max(code, 1)
    return code


def _mutation_document(reports: Sequence[MutationReport], refused: Sequence[RefusedJob]) -> Any:
    """The JSON: of one job its report, of several a list of them."""
    if len(reports) == 1 and not refused:
        return to_json(reports[0])
    refusals = [{"job": job.job, "why": job.why} for job in refused]
    return {"version": 1, "jobs": [to_json(report) for report in reports], "refused": refusals}


def mutation_lines(report: MutationReport) -> Iterator[str]:
    """The survivors with their diffs, then the score."""
    for mutant in report.survived:
        if mutant.reason not in EQUIVALENT:
            yield from _survivor_lines(mutant)
    yield from report.tolerance
    for note in report.notes:
        yield f"note: {note}"
    if report.interrupted:
        yield f"interrupted after {report.tried} mutants"
    sample = ""
    if report.tried < report.mutants and not report.interrupted:
        sample = f" of {report.mutants} (seed {report.seed})"
    line = (
        f"{report.job}: {report.tried} mutants{sample}, {plural(report.cases, 'case')}: "
        f"{len(report.killed)} killed, {len(report.timed_out)} timed out, "
        f"{len(report.survived) - report.equivalent} survived"
    )
    if report.racing:
        line += f" ({report.racing} of them noticed with --check races)"
    not_counted = []
    if report.equivalent:
        not_counted.append(f"{report.equivalent} equivalent")
    if report.not_valid:
        not_counted.append(f"{len(report.not_valid)} not valid")
    if not_counted:
        line += f"; not counted: {', '.join(not_counted)}"
    yield line
    score = "none, because no mutant counts" if report.score is None else f"{report.score:.0%}"
    if report.racing and report.score_with_races is not None:
        score += f" ({report.score_with_races:.0%} with `checks: {{device: [races]}}`)"
    cached = f", {report.cached} results from the cache" if report.cached else ""
    yield f"score {score} in {report.seconds:.1f} s{cached}"


def _survivor_lines(mutant: TriedMutant) -> Iterator[str]:
    yield f"survived: {mutant.reason}: {mutant.operator} in {mutant.file}:{mutant.line}: {mutant.change}"
    for line in mutant.diff.splitlines()[2:]:
        yield f"    {line}"
    if mutant.hint:
        yield f"    {mutant.hint}"
    yield ""


@click.command("fuzz", epilog="Example: gpuregress fuzz reduce --time 60s")
@click.argument("job")
@shared_options.seed_option("search")
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
    help="Leave a parameter or the data of a buffer as they are; can be repeated.",
)
@click.option(
    "--schedules",
    type=click.IntRange(1, values.MOST_SCHEDULES),
    default=2,
    show_default=True,
    metavar="N",
    help="Compare the results of N schedules; 1 compares none.",
)
@shared_options.checks_option
@click.option(
    "-o",
    "--output",
    "target",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the new jobs; no file is overwritten.  [default: configs/fuzz]",
)
@shared_options.set_option
@shared_options.file_option("json", "report", "Write the results as JSON")
@click.pass_context
def fuzz_command(
    ctx: click.Context, /, job: str, overrides: tuple[str, ...], report: str | None, **options: Any
) -> int:
    """Run a JOB with parameters and data that its cases do not have, and compare with its reference.

    Parameters at the edges: 0, 1, the block and its neighbours, powers of two and theirs. Data with NaN, infinities,
    subnormals, -0, extremes, duplicates, all equal, sorted. Inputs that reach new code are changed further. A failure
    shrinks to the smallest case and becomes a job, DIR/JOB-N.yaml. Runs on the CPU device.

    Exits with 0 when nothing was found, 1 when something was, 2 if the job fails without changes or has nothing to
    change, 5 if no input was tried.
    """
    request = context.record_of(fuzz.FuzzRequest, options, selector=job, parameters=of_texts(overrides))
    project = context.find_project(ctx, [job])
    with progress.transient() as listen:
        done = fuzz.fuzz(project, request, listen=listen)
    if report is not None:
        context.write_json(report, to_json(done))
    console.say_lines(_fuzz_lines(done), err=report == "-")
    if done.interrupted:
        return Interrupted.exit_code
    if not done.tried:
        return NothingToDo.exit_code
    return 1 if done.failures else 0


def _fuzz_lines(report: FuzzReport) -> Iterator[str]:
    """The failures, the notes, then the numbers."""
    shown_paths: set[str] = set()
    for finding in report.failures:
        remark = ""
        if finding.path in shown_paths:
            remark = " (as above)"
        elif finding.is_known:
            remark = " (already exists)"
        yield from _finding_lines(finding, remark)
        shown_paths.add(finding.path)
    for note in report.notes:
        yield f"note: {note}"
    if report.interrupted:
        yield f"interrupted after {report.tried} inputs"
    failures = "no failure"
    if report.failures:
        failures = f"{plural(len(report.failures), 'kind')} of failure"
    judges = ", ".join(report.judged_by)
    line = f"{report.job}: {report.tried} inputs (seed {report.seed}), judged by {judges}: {failures}"
    left_out = []
    if report.infeasible:
        left_out.append(f"{report.infeasible} infeasible")
    if report.not_run:
        left_out.append(f"{report.not_run} could not be run")
    if left_out:
        line += f"; {', '.join(left_out)}"
    yield line
    more = f", {report.more_reached} more with these inputs" if report.more_reached else ""
    yield f"coverage: {report.reached} lines, branch sides, loop counts and index limits by the job's own cases{more}"


def _finding_lines(finding: FuzzFinding, remark: str) -> Iterator[str]:
    yield finding.headline
    also = f", and {finding.also} others" if finding.also else ""
    yield f"    with {finding.inputs}{also}"
    for change in finding.changes:
        yield f"    smaller: {change}"
    if not finding.path:
        yield f"    no job is written: {finding.stopped}"
    elif finding.stopped:
        yield f"    a smaller one may exist: {finding.stopped}"
    if finding.path:
        yield f"    {finding.path}{remark}"
    yield ""


@click.command("audit", epilog="Example: gpuregress audit reduce --budget 2min --min-grade B --html audit.html")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option(
    "--budget",
    "budget_s",
    type=values.SECONDS,
    default="10min",
    show_default=True,
    metavar="S",
    help="Time for all of it: seconds, or a time such as 2min.",
)
@click.option(
    "--mutants",
    "sample",
    type=values.COUNT,
    metavar="N",
    help="Try at most N mutants of each job.  [default: as many as the time allows]",
)
@shared_options.seed_option("sample of mutants")
@click.option("--fresh", is_flag=True, help="Take no results of earlier audits.")
@click.option(
    "--min-grade",
    type=click.Choice(["A", "B", "C", "D"], case_sensitive=False),
    metavar="A|B|C|D",
    help="Exit with 1 where a job has a lower grade, or none.",
)
@shared_options.file_option("json", "json_target", "Write the results as JSON")
@shared_options.file_option("html", "html_target", "Write the page")
@click.pass_context
def audit_command(ctx: click.Context, /, jobs: tuple[str, ...], min_grade: str | None, **options: Any) -> int:
    """Examine what the tests of the JOBs prove, within a time budget, and grade them; all of configs/ if none.

    Runs the cases, dynamic checks, other schedules, coverage, mutants, inputs at the edges and accuracy on the CPU
    device, and reports what is wrong, what is right by luck, what no test would notice, and what is proven. What could
    not be examined is listed, and limits the grade.

    Exits with 0, and with 1 if a job has a lower grade than --min-grade, or none.
    """
    json_target, html_target = options["json_target"], options["html_target"]
    if json_target == html_target == "-":
        raise UsageError("--json and --html cannot both go to stdout: name a file for one of them")
    request = context.record_of(audit.AuditRequest, options, selectors=jobs)
    project = context.find_project(ctx, jobs)
    with progress.transient() as listen:
        done = audit.audit(project, request, listen=listen)
    # Before the files, which a full disk may refuse.
    console.say_lines(audit_report.lines(done), err="-" in (json_target, html_target))
    if json_target is not None:
        context.write_json(json_target, to_json(done))
    if html_target is not None:
        context.write_report(html_target, audit_report.page(done))
    if done.interrupted:
        return Interrupted.exit_code
    low = examination.below(done.grades, min_grade) if min_grade is not None else []
    if not low:
        return 0
    names = ", ".join(f"{grade.job} ({grade.grade or 'no grade'})" for grade in low[:_MOST_SHOWN])
    more = f" and {len(low) - _MOST_SHOWN} more" if len(low) > _MOST_SHOWN else ""
    console.say(f"below the grade {min_grade}: {names}{more}", err=True)
    return ExitCode.DIFFERS
