"""Command `gpuregress run`."""

from __future__ import annotations

import functools
from typing import Any

import click

from gpuregress.cli import context, report_files


@click.command(
    "run",
    short_help="run cases, dump their buffers, compare them with the baselines",
    epilog="Example: gpuregress run configs/reduce.yaml -k '*tile=128*' --junit results.xml",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@context.device_options
@context.cluster_option
@click.option("--fail-fast", is_flag=True, help="Stop after the first case that does not pass.")
@click.option("--rerun-failed", is_flag=True, help="Only the cases that did not pass in the last run.")
@click.option("--dump-every-launch", is_flag=True, help="Dump the buffers that a launch may write after each launch.")
@context.coverage_option
@context.schedule_options
@context.report_options
@click.option("-q", "--quiet", count=True, help="Print nothing when all is well.")
@click.option("-v", "--verbose", count=True, help="Print more: compilations, starts, details of cases that pass.")
@click.pass_context
def run_command(ctx: click.Context, /, jobs: tuple[str, ...], **options: Any) -> int:
    """Run the cases of the JOBs: paths of job files, names of jobs or cases, or globs; all of configs/ if none.

    Each case's buffers are dumped to runs/RUN/dumps and compared with the accepted baselines. Exits with 0 when every
    case passed, 1 when something differs or is new, 2 when a job is wrong, 3 when a kernel does not compile, faulted
    or hung, 4 when the harness or a device failed, 5 when there was nothing to run, 130 when interrupted.
    """
    from gpuregress.session import session

    project = functools.cache(lambda: context.find_project(ctx, jobs))
    verbosity = options["verbose"] - options["quiet"]
    request = context.request_of(
        options,
        selectors=jobs,
        coverage=context.wants_coverage(options),
        schedules=context.schedules_of(options),
    )
    with report_files.written(options) as kept:
        to_stderr = context.writes_to_stdout(options)
        with session.opened(request) as opened:
            from gpuregress.cli import progress  # loads while the first worker starts

            with progress.listener(verbosity, to_stderr=to_stderr) as listen:
                kept.summary = summary = opened.run(project, listen)
        progress.show_closing(summary, project().root, verbosity, to_stderr=to_stderr)
    return summary.exit_code
