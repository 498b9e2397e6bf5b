"""Command `gpuregress audit`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context, values

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
def command(
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
    from gpuregress.report.audits import page, text

    if json_target == html_target == "-":
        raise UsageError("--json and --html cannot both go to stdout: name a file for one of them")
    request = audit.AuditRequest(jobs, budget, sample, seed, fresh)
    with progress.transient() as listen:
        done = audit.audit(context.find_project(ctx, jobs), request, listen=listen)
    for line in text.lines(done):  # before the files, which a full disk may refuse
        console.say(line, err="-" in (json_target, html_target))
    if json_target is not None:
        context.write_report(json_target, f"{json_text(to_json(done), indent=2)}\n")
    if html_target is not None:
        context.write_report(html_target, page.page(done))
    if done.interrupted:
        return Interrupted.exit_code
    low = examination.below(done.grades, min_grade) if min_grade is not None else []
    if low:
        names = ", ".join(f"{one.job} ({one.grade or 'no grade'})" for one in low[:_MOST_SHOWN])
        more = f" and {len(low) - _MOST_SHOWN} more" if len(low) > _MOST_SHOWN else ""
        console.say(f"below the grade {min_grade}: {names}{more}", err=True)
    return 1 if low else 0
