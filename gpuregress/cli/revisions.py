"""Commands that run several revisions or versions of a job: `diff`, `bisect`, `shrink`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.lab.revisions.bisect import Bisection, TestedCommit
    from gpuregress.lab.revisions.diff import Differences

_MOST_NOTES = 8


@click.command(
    "diff",
    short_help="compare the results of two revisions or git commits",
    epilog="Example: gpuregress diff HEAD~2 HEAD reduce   (or two dump files: gpuregress diff A B)",
)
@click.argument("before", metavar="REV")
@click.argument("after", metavar="[REV]", default="worktree")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--raw", is_flag=True, help="Every bit counts, whatever the jobs' rules say.")
@context.commit_options
@context.json_option
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

    A REV is the label of kept dumps, `baseline` for whatever is accepted, or a git revision (HEAD~2, a branch, a tag, a
    hash). A git revision is run in a scratch folder, with its own kernels, job and data; the work tree is not touched.
    `worktree`, the default of the second REV, is the project as it is now.

    For each buffer that differs: how many elements, in order and in any order, the worst, what it looks like, where the
    errors are (a strip of the buffer, or a heat map of two dimensions, by size of the error), and the first few side by
    side.

    Kept dumps come before a git revision of the same name. The baselines are searched first, then the runs, the newest
    first. Exits with 0 when all is the same, 1 when something differs, 3 when a side does not compile or faults, 5 when
    there is nothing to compare. Two files are compared as they are, every bit.
    """
    from gpuregress.cli import progress
    from gpuregress.lab.revisions import diff

    root = None
    if not cases and Path(before).is_file() and Path(after).is_file():
        differences = diff.compare_files(Path(before), Path(after), width=_width())
    else:
        from gpuregress.lab.experiment import RunOptions

        project = context.find_project(ctx)
        root = project.root
        with progress.transient() as listen:
            options = RunOptions(device, timeout, listen=listen)
            differences = diff.compare_revisions(
                project, before, after, cases, raw=raw, width=_width(), this_job=this_job, options=options
            )
    if as_json:
        _print_json(differences, before, after)
    else:
        _print(differences, root)
    return differences.exit_code


def _width() -> int:
    """Characters in a line of an error map: the width of the screen, less the indentation."""
    import shutil

    return max(20, shutil.get_terminal_size().columns - 4)


def _print(differences: Differences, root: Path | None) -> None:
    from gpuregress.report import diff_screen, terminal

    for verdict in differences.verdicts:
        status = "same" if verdict.status == "pass" else verdict.status
        failed = f"  {verdict.reason}" if verdict.reason and not verdict.buffers else ""
        console.say(f"{status:<8} {verdict.case}{failed}", colour=terminal.colour(verdict.status))
        for line in terminal.details(verdict, root)[1:] if failed else ():
            console.say(f"  {line}")
        for spans in diff_screen.screen(verdict, root):
            console.say_spans((("  ", None), *spans))
    shown = differences.notes if len(differences.notes) <= _MOST_NOTES + 1 else differences.notes[:_MOST_NOTES]
    for note in shown:
        console.say(f"note: {note}", err=True)
    if len(shown) < len(differences.notes):
        console.say(f"note: and {len(differences.notes) - len(shown)} more of this kind, which --json tells", err=True)


def _print_json(differences: Differences, before: str, after: str) -> None:
    from gpuregress.report import json_report

    cases = [json_report.case_document(verdict) for verdict in differences.verdicts]
    context.print_json(
        json_report.finite({"version": 1, "before": before, "after": after, "cases": cases, "notes": differences.notes})
    )


_MOST_FILES = 10
_MOST_CASES = 8


@click.command(
    "bisect",
    short_help="find the commit whose result differs from that of a good one",
    epilog="Example: gpuregress bisect reduce v1.2 HEAD",
)
@click.argument("case")
@click.argument("good")
@click.argument("bad")
@context.commit_options
@context.json_option
@click.pass_context
def bisect_command(
    ctx: click.Context,
    /,
    case: str,
    good: str,
    bad: str,
    device: str,
    timeout: float | None,
    this_job: bool,
    as_json: bool,
) -> int:
    """Find the first commit between GOOD and BAD, two git revisions, whose result of CASE differs.

    Each commit is run once in a scratch folder, with its own kernels, job and data, and compared with the result of
    GOOD by the job's rules; a fault and a timeout are bad, too. Commits that do not compile are skipped. A job or a
    glob stands for all its cases. The work tree is not touched.

    Exits with 0 when the commit is found, 1 when it may be one of several that were skipped, 2 when GOOD is not good, 5
    when the result of BAD is that of GOOD.
    """
    from gpuregress.lab.experiment import RunOptions
    from gpuregress.lab.revisions import bisect

    done = bisect.bisect(
        context.find_project(ctx),
        case,
        good,
        bad,
        this_job=this_job,
        options=RunOptions(device, timeout),
        listen=_show_tested,
    )
    if as_json:
        context.print_json(_bisect_document(done))
    else:
        for line in _lines(done):
            console.say(line)
    return done.exit_code


def _show_tested(tested: TestedCommit) -> None:
    from gpuregress.foundation.escapes import one_line
    from gpuregress.report import terminal

    colour = terminal.colour({"good": "pass", "bad": "differ", "skip": "skip"}[tested.state])
    reason = f"  {tested.reason}" if tested.reason else ""
    console.say(one_line(f"{tested.state:<5} {tested.commit}  {tested.seconds:.1f} s{reason}"), err=True, colour=colour)


def _lines(done: Bisection) -> Iterator[str]:
    from gpuregress.report import terminal

    if done.possible:
        yield f"the first bad commit is one of {len(done.possible) + 1}; those before the last one were skipped:"
        yield from (f"  {commit}" for commit in done.possible)
        yield f"  {done.first_bad}"
    yield f"{'first commit known to be bad' if done.possible else 'first bad commit'}: {done.first_bad.hash}"
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
        if not number:
            yield from (f"  {line}" for line in terminal.details(verdict))
    if len(done.verdicts) > _MOST_CASES:
        yield f"… and {len(done.verdicts) - _MOST_CASES} more cases, which --json tells"
    for note in done.notes:
        yield f"note: {note}"


def _bisect_document(done: Bisection) -> dict[str, Any]:
    from gpuregress.report import json_report

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
                "commit": asdict(one.commit),
                "state": one.state,
                "reason": one.reason,
                "seconds": one.seconds,
            }
            for one in done.tested
        ],
        "notes": list(done.notes),
    }


@click.command(
    "shrink",
    short_help="write the smallest job on which a case still fails",
    epilog="Example: gpuregress shrink reduce/n=65536,tile=128 -o configs/small.yaml",
)
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
    help="The time for the search: seconds, or a time, as 5min.  [default: 2min]",
)
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda[:N]", help="Where to run.")
@click.option("--timeout", type=values.SECONDS, metavar="S", help="For each case: seconds, or a time, as 2min.")
@context.json_option
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

    The failure stays of its kind: the same fault in the same kernel, or the same buffer against its reference or check.
    Where only the accepted baseline tells that the result is wrong, the accepted source is taken from git and run on
    the smaller inputs. `where` of the job holds for every candidate. ^C ends the search; the smallest job so far is
    written.

    Exits with 0 when a job was written, 2 when nothing judges a smaller case, 5 when the case passes.
    """
    from gpuregress.foundation.errors import Interrupted
    from gpuregress.lab.experiment import RunOptions
    from gpuregress.lab.shrinking import shrink

    options = RunOptions(device, timeout)
    request = shrink.ShrinkRequest(case, output, limit, options)
    project = context.find_project(ctx)
    done = shrink.shrink(project, request, lambda line: console.say(line, err=True))
    shrink.check_written(project, done, options)
    if as_json:
        context.print_json(_shrink_document(done))
    elif output is None:
        console.say_document(done.text)
    counted = f"{done.trials} smaller jobs run in {done.seconds:.1f} s"
    stopped = f"; {done.stopped}, so a smaller one may exist" if done.stopped else ""
    console.say(f"{f'{output} is written: ' if output else ''}{counted}{stopped}", err=True)
    return Interrupted.exit_code if done.stopped == "interrupted" else 0


def _shrink_document(done: Any) -> dict[str, Any]:
    return {
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
