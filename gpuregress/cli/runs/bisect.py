"""Command `gpuregress bisect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.lab.revisions.bisect import Bisection, TestedCommit

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
def command(
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
        context.print_json(_document(done))
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


def _document(done: Bisection) -> dict[str, Any]:
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
