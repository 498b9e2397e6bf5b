"""Command `gpuregress reject`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context


@click.command(
    "reject",
    short_help="find a run's results wrong: keep the baseline, never accept them",
    epilog="Example: gpuregress reject reduce/n=1000,tile=128 -m 'the last block is not written'",
)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@click.option("--run", "run_name", metavar="RUN", help="Of this run instead of the last one.")
@context.message_option("Why; shown whenever the same results come again.")
@click.option("--undo", is_flag=True, help="Take the rejections of the CASEs back.")
@context.json_option
@click.pass_context
def command(
    ctx: click.Context, /, cases: tuple[str, ...], run_name: str | None, message: str, undo: bool, as_json: bool
) -> int:
    """Mark the results of the CASEs that differ or are new as known to be bad.

    The baselines stay as they are. `accept` and `review` leave these results out from now on, and refuse them where
    they are named. A later run that gives the same bytes still differs, and says who rejected them and why.
    """
    from gpuregress.foundation.records import to_json
    from gpuregress.session import accepting

    project = context.find_project(ctx)
    done = accepting.take_back(project, cases) if undo else accepting.reject(project, cases, run=run_name, why=message)
    if as_json:
        context.print_json({"undone" if undo else "rejected": to_json(done)})
        return 0
    for one in done:
        state = "no longer rejected" if undo else "rejected"
        console.say(f"{state}: {one.case}: {one.buffer} of revision {one.revision}")
    return 0
