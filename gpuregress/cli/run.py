"""Command `gpuregress run`."""

from __future__ import annotations

from typing import Any

import click

from gpuregress.cli import shared_options, values
from gpuregress.execution.workers import worker_spawn


@click.command("run", epilog="Example: gpuregress run configs/reduce.yaml -k '*tile=128*' --junit results.xml")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@shared_options.device_options
@shared_options.set_option
@shared_options.cluster_option
@click.option(
    "--changed",
    is_flag=False,
    flag_value="merge base",
    metavar="[REF]",
    help="Only jobs made of a file that differs from this commit  [default: the merge base with the main branch]",
)
@click.option(
    "--shard",
    type=values.SHARD,
    metavar="K/N",
    help="Only the K-th of N parts of the cases, one for each of N hosts; report --merge joins their results.",
)
@click.option("--fail-fast", is_flag=True, help="Stop after the first case that does not pass.")
@click.option("--rerun-failed", is_flag=True, help="Only the cases that did not pass in the last run.")
@click.option("--dump-every-launch", is_flag=True, help="Dump the buffers that a launch may write after each launch.")
@shared_options.coverage_option
@shared_options.schedule_options
@shared_options.report_options
@click.option("-q", "--quiet", count=True, help="Print nothing when all is well.")
@click.option("-v", "--verbose", count=True, help="Print more: compilations, starts, details of cases that pass.")
@click.pass_context
def run_command(ctx: click.Context, /, jobs: tuple[str, ...], **options: Any) -> int:
    """Run the cases of the JOBs: paths of job files, names of jobs or cases, or globs; all of configs/ if none.

    Each case's buffers are dumped to runs/RUN/dumps and compared with the accepted baselines. Exits with 0 when every
    case passed, 1 when something differs or is new, 2 when a job is wrong, 3 when a kernel does not compile, faulted
    or hung, 4 when the harness or a device failed, 5 when there was nothing to run, 130 when interrupted.
    """
    if not options["cluster"]:
        worker_spawn.begin(options["device"], options["workers"])
    try:
        # These load in 0.3 s, while the first worker starts.
        from gpuregress.cli import context, progress, report_files  # noqa: PLC0415
        from gpuregress.session import session  # noqa: PLC0415

        verbosity = options["verbose"] - options["quiet"]
        coverage, schedules = context.wants_coverage(options), context.schedules_of(options)
        request = context.request_of(options, coverage=coverage, schedules=schedules)
        with report_files.written(options) as reports:
            project = context.find_project(ctx, jobs)
            with progress.listener(verbosity, to_stderr=reports.to_stderr) as listen:
                summary = session.run(project, jobs, request, listen=listen)
                reports.summary = summary  # before the bar is removed: what fails there is no failure of the run
            progress.show_closing(summary, project.root, verbosity, to_stderr=reports.to_stderr)
        return summary.exit_code
    finally:
        worker_spawn.drop()
