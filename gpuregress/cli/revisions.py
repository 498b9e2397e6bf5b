"""Commands that run several revisions or versions of a job: `diff`, `bisect`, `shrink`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
from msgspec.structs import asdict

from gpuregress.cli import console, context, progress, shared_options, values
from gpuregress.foundation.errors import Interrupted, UsageError
from gpuregress.foundation.escapes import one_line
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import bisect, diff
from gpuregress.lab.revisions.bisect import Bisection, TestedCommit
from gpuregress.lab.revisions.diff import Differences
from gpuregress.lab.shrinking import shrink
from gpuregress.report import diff_screen, json_report, terminal

_MOST_NOTES = 8
_MOST_FILES = 10
_MOST_CASES = 8
_COLOURS = {"good": "pass", "bad": "differ", "skip": "skip"}
"""State of a tested commit → the status whose colour it has."""


@click.command("diff", epilog="Example: gpuregress diff HEAD~2 HEAD reduce   (or two dump files: gpuregress diff A B)")
@click.argument("before", metavar="REV")
@click.argument("after", metavar="[REV]", default="worktree")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--raw", is_flag=True, help="Every bit counts, whatever the jobs' rules say.")
@shared_options.commit_options
@shared_options.json_option
@click.pass_context
def diff_command(
    ctx: click.Context,
    /,
    before: str,
    after: str,
    cases: tuple[str, ...],
    raw: bool,
    device: str,
    timeout: float | None,
    this_job: bool,
    as_json: bool,
) -> int:
    """Compare the results of two revisions under the jobs' rules.

    A REV is the label of kept dumps, `baseline` for the accepted dumps, or a git revision (HEAD~2, a branch, a tag, a
    hash). A git revision is run in a scratch folder with its own kernels, job and data; the work tree is not touched.
    `worktree`, the default of the second REV, is the project as it is now. Two files are compared bit by bit.

    For each buffer that differs, it prints how many elements differ, in order and in any order, the worst one, what the
    difference looks like, where the errors are (a strip of the buffer, or a heat map of two dimensions), and the first
    few elements side by side.

    A label of kept dumps takes precedence over a git revision of the same name. The baselines are searched first, then
    the runs, newest first. Exits with 0 when all is the same, 1 when something differs, 3 when a side does not compile
    or faults, 5 when there is nothing to compare.
    """
    root = None
    width = max(20, shutil.get_terminal_size().columns - 4)  # of an error map: the screen's, less the indentation
    if not cases and Path(before).is_file() and Path(after).is_file():
        differences = diff.compare_files(Path(before), Path(after), width=width)
    else:
        project = context.find_project(ctx)
        root = project.root
        with progress.transient() as listen:
            options = RunOptions(device, timeout, listen=listen)
            differences = diff.compare_revisions(
                project, before, after, cases, raw=raw, width=width, this_job=this_job, options=options
            )
    if as_json:
        context.print_json(_diff_document(differences, before, after))
    else:
        _print_differences(differences, root)
    return differences.exit_code


def _print_differences(differences: Differences, root: Path | None) -> None:
    for verdict in differences.verdicts:
        status = "same" if verdict.status == "pass" else verdict.status
        has_failed = bool(verdict.reason) and not verdict.buffers
        reason = f"  {verdict.reason}" if has_failed else ""
        console.say(f"{status:<8} {verdict.case}{reason}", colour=terminal.colour(verdict.status))
        if has_failed:
            for line in terminal.details(verdict, root)[1:]:
                console.say(f"  {line}")
        for spans in diff_screen.screen(verdict, root):
            console.say_spans((("  ", None), *spans))
    notes = differences.notes
    if len(notes) > _MOST_NOTES + 1:
        notes = (*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES} more of this kind, which --json lists")
    console.say_notes(notes)


def _diff_document(differences: Differences, before: str, after: str) -> Any:
    cases = [json_report.case_document(verdict) for verdict in differences.verdicts]
    return json_report.finite(
        {"version": 1, "before": before, "after": after, "cases": cases, "notes": differences.notes}
    )


@click.command("bisect", epilog="Example: gpuregress bisect reduce v1.2 HEAD")
@click.argument("case")
@click.argument("good")
@click.argument("bad")
@click.option(
    "--by",
    type=click.Choice(get_args(bisect.Measure)),
    default="result",
    help="instructions: find the first commit that executes more of them on the CPU device  [default: result]",
)
@shared_options.commit_options
@shared_options.json_option
@click.pass_context
def bisect_command(
    ctx: click.Context,
    /,
    case: str,
    good: str,
    bad: str,
    by: bisect.Measure,
    device: str,
    timeout: float | None,
    this_job: bool,
    as_json: bool,
) -> int:
    """Find the first commit between GOOD and BAD, two git revisions, whose result of CASE differs.

    Each commit is run once in a scratch folder, with its own kernels, job and data, and compared with the result of
    GOOD by the job's rules. Faults and timeouts count as bad. Commits that do not compile are skipped. A job or a glob
    stands for all its cases. The work tree is not touched.

    Exits with 0 when the commit is found, 1 when it may be one of several that were skipped, 2 when GOOD is not good, 5
    when BAD has the same result as GOOD.
    """
    if by == "instructions" and device not in ("auto", "cpu"):
        raise UsageError("--by instructions is for the cpu device, which counts them: say --device cpu")
    if by == "instructions":
        device = "cpu"
    done = bisect.bisect(
        context.find_project(ctx),
        case,
        good,
        bad,
        this_job=this_job,
        by=by,
        options=RunOptions(device, timeout),
        listen=_show_tested,
    )
    if as_json:
        context.print_json(_bisect_document(done))
    else:
        console.say_lines(_bisect_lines(done))
    return done.exit_code


def _show_tested(tested: TestedCommit) -> None:
    reason = f"  {tested.reason}" if tested.reason else ""
    line = one_line(f"{tested.state:<5} {tested.commit}  {tested.seconds:.1f} s{reason}")
    console.say(line, err=True, colour=terminal.colour(_COLOURS[tested.state]))


def _bisect_lines(done: Bisection) -> Iterator[str]:
    label = "first bad commit"
    if done.possible:
        label = "first commit known to be bad"
        yield f"the first bad commit is one of {len(done.possible) + 1}; those before the last one were skipped:"
        for commit in (*done.possible, done.first_bad):
            yield f"  {commit}"
    yield f"{label}: {done.first_bad.hash}"
    yield f"  author   {done.first_bad.author}"
    yield f"  date     {done.first_bad.date}"
    yield f"  subject  {done.first_bad.subject}"
    for number, path in enumerate(done.changed[:_MOST_FILES]):
        yield f"  {'' if number else 'changed':<8} {path}"
    if len(done.changed) > _MOST_FILES:
        yield f"           and {len(done.changed) - _MOST_FILES} more"
    yield f"compared with the result of {done.good}:"
    for number, verdict in enumerate(done.verdicts[:_MOST_CASES]):
        yield terminal.case_line(verdict)
        if number == 0:
            for line in terminal.details(verdict):
                yield f"  {line}"
    if len(done.verdicts) > _MOST_CASES:
        yield f"… and {len(done.verdicts) - _MOST_CASES} more cases, which --json lists"
    for note in done.notes:
        yield f"note: {note}"


def _bisect_document(done: Bisection) -> dict[str, Any]:
    return {
        "version": 1,
        "found": not done.possible,
        "cases": list(done.cases),
        "good": asdict(done.good),
        "bad": asdict(done.bad),
        "first_bad": asdict(done.first_bad),
        "possible": [asdict(commit) for commit in done.possible],
        "changed": list(done.changed),
        "verdicts": [json_report.finite(json_report.case_document(verdict)) for verdict in done.verdicts],
        "tested": [
            {
                "commit": asdict(tested.commit),
                "state": tested.state,
                "reason": tested.reason,
                "seconds": tested.seconds,
            }
            for tested in done.tested
        ],
        "notes": list(done.notes),
    }


@click.command("shrink", epilog="Example: gpuregress shrink reduce/n=65536,tile=128 -o configs/small.yaml")
@click.argument("case")
@click.option(
    "-o",
    "--output",
    metavar="F",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the new job; it is never overwritten.  [default: stdout]",
)
@click.option(
    "--limit",
    type=values.SECONDS,
    default=120.0,
    metavar="S",
    help="The time for the search: seconds, or a time such as 5min.  [default: 2min]",
)
@shared_options.device_option
@shared_options.timeout_option
@shared_options.json_option
@click.pass_context
def shrink_command(
    ctx: click.Context,
    /,
    case: str,
    output: Path | None,
    limit: float,
    device: str,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Write a job with the smallest parameters and the shortest, plainest inputs on which a failing CASE still fails.

    The failure stays of one kind: the same fault in the same kernel, or the same buffer against its reference or check.
    If only the accepted baseline shows that the result is wrong, the accepted source is taken from git and run on the
    smaller inputs. Every candidate fulfils the `where` of the job. ^C ends the search, and the smallest job so far is
    written.

    Exits with 0 when a job was written, 2 when nothing can judge a smaller case, 5 when the case passes.
    """
    options = RunOptions(device, timeout)
    project = context.find_project(ctx)
    done = shrink.shrink(project, shrink.ShrinkRequest(case, output, limit, options), _say_progress)
    shrink.check_written(project, done, options)
    if as_json:
        context.print_json(
            {
                "version": 1,
                "case": done.case,
                "job": done.text,
                "path": str(done.path) if done.path else "",
                "failure": done.failure,
                "changes": list(done.changes),
                "trials": done.trials,
                "seconds": done.seconds,
                "stopped": done.stopped,
            }
        )
    elif output is None:
        console.say_document(done.text)
    written = f"{output} is written: " if output else ""
    stopped = f"; {done.stopped}, so a smaller one may exist" if done.stopped else ""
    console.say(f"{written}{done.trials} smaller jobs run in {done.seconds:.1f} s{stopped}", err=True)
    return Interrupted.exit_code if done.stopped == "interrupted" else 0


def _say_progress(line: str) -> None:
    console.say(line, err=True)
