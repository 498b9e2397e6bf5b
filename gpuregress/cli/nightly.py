"""Command `gpuregress nightly`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import context, night_messages, report_files


class Nightly(click.Command):
    """The command, whose help ends with a line for crontab(5)."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the crontab line in one line, however long."""
        formatter.write(f"\nExample (crontab; mails nothing, keeps a log):\n\n{crontab_line(_folder(ctx))}\n")


def crontab_line(folder: Path) -> str:
    """The crontab line that runs every night; it needs neither PATH nor a current folder.

    Args:
        folder: the project's, absolute.
    """
    script = Path(sys.executable).with_name("gpuregress")
    program = [str(script)] if script.is_file() else [sys.executable, "-m", "gpuregress"]
    command = f"cd {shlex.quote(str(folder))} && {shlex.join(program)} nightly --junit nightly.xml >> nightly.log 2>&1"
    return f"0 2 * * *  {command}".replace("%", r"\%")  # cron takes a bare % for a newline


def _folder(ctx: click.Context) -> Path:
    from gpuregress.errors import GpuregressError

    try:
        return context.find_project(ctx).root
    except GpuregressError:
        return Path(ctx.obj or ".").absolute()


@click.command("nightly", cls=Nightly, short_help="the unattended run: silent when all is well")
@context.device_options
@context.report_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run every case; print nothing when all is well, and one screen when not.

    Takes the project's lock; where another nightly run holds it, exits with 75. A wrong job is an error of its own, and
    the others run. A case that is gone is a failure every night (exit code 1 at least) until it is back, or `accept
    --prune` forgets it. Keeps the last 30 runs (setting `retention`), the last night and each case's last pass.
    """
    from gpuregress.operations import nightly

    with night_messages.told() as night, report_files.written(options) as kept:
        project = context.find_project(ctx)
        night.begin(project, to_stderr=kept.to_stderr)
        night.summary = kept.summary = summary = nightly.run(project, context.request_of(options))
        from gpuregress.report import morning

        if morning.is_worth_telling(summary):
            for line in morning.lines(summary, root=project.root):
                night.say(line)
    return summary.exit_code
