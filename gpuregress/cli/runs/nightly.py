"""Command `gpuregress nightly`."""

from __future__ import annotations

from typing import Any

import click

from gpuregress.cli import context, report_files, values
from gpuregress.cli.runs import night_messages, scheduler_options


class Nightly(click.Command):
    """The command, whose help ends with the line that `--install cron` prints."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the crontab line in one line, however long."""
        formatter.write(f"\nExample (crontab; --install prints it):\n\n{scheduler_options.crontab_line(ctx)}\n")


@click.command("nightly", cls=Nightly, short_help="the unattended run: silent when all is well")
@context.device_options
@click.option(
    "--deadline",
    type=values.SECONDS,
    metavar="TIME",
    help="Stop after this time, as 6h; cases that had no turn are named, and the exit code is not 0.",
)
@click.option("--resume", is_flag=True, help="Continue the last night, which was cut short.")
@context.cluster_option
@context.report_options
@scheduler_options.options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run every case on every device that the jobs name; print nothing when all is well, and what is new when not.

    Takes the project's lock; where another nightly run holds it, exits with 75. A wrong job is an error of its own, and
    the others run. A case that is gone is a failure every night (exit code 1 at least) until it is back, or `accept
    --prune` forgets it. Keeps the last 30 runs (setting `retention`), the last night and each case's last pass.
    """
    if options["install"] or options["write"]:
        return scheduler_options.install(ctx, options)
    from gpuregress.session import nightly

    every_device = ctx.get_parameter_source("device") is click.core.ParameterSource.DEFAULT
    terms = nightly.NightTerms(options["deadline"], options["resume"], every_device)
    with night_messages.told() as night, report_files.written(options) as kept:
        project = context.find_project(ctx)
        night.begin(project, to_stderr=kept.to_stderr)
        night.summary = kept.summary = summary = nightly.run(project, context.request_of(options), terms=terms)
        from gpuregress.report import morning

        if morning.is_worth_telling(summary):
            for line in morning.lines(summary, root=project.root):
                night.say(line)
    return summary.exit_code
