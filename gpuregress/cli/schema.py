"""`gpuregress schema`."""

from __future__ import annotations

import click


@click.command(
    "schema",
    short_help="print the JSON Schema of a job, for editors",
    epilog="Example: gpuregress schema > job.schema.json   (then, in a job's first line: "
    "# yaml-language-server: $schema=../job.schema.json)",
)
def command() -> None:
    """Prints the JSON Schema of a job file, so that an editor can complete keys and mark mistakes."""
    import json

    from gpuregress.spec import model

    click.echo(json.dumps(model.schema(), indent=2))
