"""Command `gpuregress schema`."""

from __future__ import annotations

import click

from gpuregress.cli import console


@click.command(
    "schema",
    short_help="print the JSON Schema of a job, for editors",
    epilog="Example: gpuregress schema > job.schema.json   (then, in a job's first line: "
    "# yaml-language-server: $schema=../job.schema.json)",
)
@click.option("--markdown", is_flag=True, help="Print the reference of every key instead (docs/job-reference.md).")
def command(markdown: bool) -> None:
    """Print the JSON Schema of a job file, so that an editor can complete keys and mark mistakes."""
    if markdown:
        from gpuregress.jobs.spec import key_reference

        console.say_document(key_reference.markdown().rstrip("\n") + "\n")
        return
    from gpuregress.foundation.escapes import json_text
    from gpuregress.jobs.spec.key_reference import job_schema

    console.say_document(json_text(job_schema(), indent=2) + "\n")
