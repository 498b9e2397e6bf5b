"""Command `gpuregress shrink`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, values


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
def command(
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
        context.print_json(_document(done))
    elif output is None:
        console.say_document(done.text)
    counted = f"{done.trials} smaller jobs run in {done.seconds:.1f} s"
    stopped = f"; {done.stopped}, so a smaller one may exist" if done.stopped else ""
    console.say(f"{f'{output} is written: ' if output else ''}{counted}{stopped}", err=True)
    return Interrupted.exit_code if done.stopped == "interrupted" else 0


def _document(done: Any) -> dict[str, Any]:
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
