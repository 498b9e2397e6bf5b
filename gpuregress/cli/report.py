"""Command `gpuregress report`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context, values


@click.command(
    "report",
    short_help="a run as an HTML page",
    epilog="Example: gpuregress report -o report.html",
)
@click.argument("run", required=False)
@click.option(
    "-o", "--output", metavar="F", type=values.REPORT, default="-", help="Where to write the page  [default: stdout]"
)
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, run: str | None, output: str, as_json: bool) -> int:
    """Write a page on RUN (a name or its beginning; the last run if none): one file that needs nothing else."""
    from gpuregress.report import html
    from gpuregress.session.runs import cut_short, results, run_folders

    project = context.find_project(ctx)
    folder = run_folders.find(project.runs, run)
    document = results.document(folder)
    if description := cut_short.describe(folder):
        console.say(f"gpuregress: {description}", err=True)
    if as_json:
        context.print_json(document)
        return 0
    context.write_report(output, html.page(document))
    return 0
