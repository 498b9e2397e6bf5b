"""Command `gpuregress report`."""

from __future__ import annotations

from typing import Any

import click

from gpuregress.cli import console, context, values


@click.command(
    "report",
    short_help="a run as an HTML page, or for another program",
    epilog="Example: gpuregress report -o report.html   (or: gpuregress report --report sarif=results.sarif)",
)
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="F", type=values.REPORT, help="Where to write the page  [default: stdout]")
@context.report_files_option
@context.json_option
@click.pass_context
def command(
    ctx: click.Context, /, run: str | None, output: str | None, reports: tuple[values.Target, ...], as_json: bool
) -> int:
    """Write a page on RUN (a name or its beginning; the last run if none): one file that needs nothing else.

    With --report, the page is written only where -o names its file.
    """
    from gpuregress.session.runs import cut_short, results, run_folders

    pages = () if output is None else (("html", output),)
    targets: tuple[values.Target, ...] = (*pages, *reports) if pages or reports or as_json else (("html", "-"),)
    context.writes_to_stdout({"reports": (*targets, *((("json", "-"),) if as_json else ()))})
    project = context.find_project(ctx)
    folder = run_folders.find(project.runs, run)
    document = results.document(folder)
    if description := cut_short.describe(folder):
        console.say(f"gpuregress: {description}", err=True)
    for name, target in targets:
        context.write_report(target, _text(name, folder, document))
    if as_json:
        context.print_json(document)
    return 0


def _text(name: str, folder: Any, document: dict[str, Any]) -> str:
    """The report of a run in one format; the page and the JSON are those of the stored document."""
    if name == "html":
        from gpuregress.report import html
        from gpuregress.session.runs import history_entry

        with history_entry.trends(folder.parent, html.LAST, document["started"]) as trends:
            return html.page(document, trends)
    if name == "json":
        from gpuregress.foundation.escapes import json_text

        return json_text(document, indent=1) + "\n"
    from gpuregress.cli import report_files
    from gpuregress.session.runs import journal, results

    return report_files.render(name, results.summary_of(journal.read(folder)))
