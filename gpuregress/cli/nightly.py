"""`gpuregress nightly`."""

from __future__ import annotations

from typing import Any

import click

from gpuregress.cli import console, context, reports


@click.command(
    "nightly",
    short_help="the unattended run: silent when all is well",
    epilog="Example (crontab): 0 2 * * *  cd ~/project && gpuregress nightly --junit nightly.xml",
)
@context.device_options
@context.report_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Runs every case, says nothing when all is well, and one screen when not.

    Takes the project's lock; where another nightly run holds it, exits with 75. A case that was there the last time and
    is gone is a failure: exit code 1 at least. Keeps the last 30 runs (setting `retention`).
    """
    from gpuregress.pipeline import unattended

    with reports.written(options) as kept:
        project = context.find_project(ctx)
        kept.summary = summary = unattended.run(project, context.request_of(options))
        if summary.exit_code or summary.notes:
            from gpuregress.report import terminal

            to_stderr = context.writes_to_stdout(options)
            for line in terminal.one_screen(summary, root=project.root):
                console.say(line, err=to_stderr)
    return summary.exit_code
