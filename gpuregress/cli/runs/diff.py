"""Command `gpuregress diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
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
def command(
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
