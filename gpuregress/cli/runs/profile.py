"""Command `gpuregress profile`."""

from __future__ import annotations

import click

from gpuregress.cli import console, context, values


@click.command(
    "profile",
    short_help="show the source with the exact costs of each line",
    epilog="Example: gpuregress profile transpose/rows=64,columns=96",
)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@click.option(
    "--json", "json_file", metavar="F", type=values.REPORT, help="Write all counts as JSON to F (- is stdout)."
)
@click.option(
    "--html", "html_file", metavar="F", type=values.REPORT, help="Write the page of the run to F (- is stdout)."
)
@click.pass_context
def command(ctx: click.Context, /, cases: tuple[str, ...], json_file: str | None, html_file: str | None) -> int:
    """Run each CASE (or every case of a job) on the CPU device, and count what each source line costs.

    Instructions that warps issue, memory sectors for each request, bank conflicts, divergent branches. The counts are
    the same on every run and machine. The exit code is that of the run: 1 also where a case is new.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.escapes import json_text
    from gpuregress.lab import profile
    from gpuregress.report import profile_text

    project = context.find_project(ctx, cases)
    with progress.transient() as listen:
        done = profile.profile(project, cases, listen)
    if json_file:
        context.write_report(json_file, json_text(done.document(), indent=1) + "\n")
    if html_file:
        from gpuregress.report import html

        context.write_report(html_file, html.render(done.summary))
    if "-" not in (json_file, html_file):
        for number, (name, costs) in enumerate(done.costs.items()):
            for line in ([""] if number else []) + list(profile_text.profile(name, costs, project.root)):
                console.say(line)
    for one in done.summary.verdicts:
        if one.status != "pass":
            console.say(f"{one.case}: {'' if one.case in done.costs else 'not counted: '}{one.headline}", err=True)
    if done.summary.interrupted:
        console.say("interrupted", err=True)
    return done.summary.exit_code
