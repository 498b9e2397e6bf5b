"""`gpuregress history`."""

from __future__ import annotations

from typing import Any

import click

from gpuregress.cli import context


@click.command(
    "history",
    short_help="the kept runs, or one case through them",
    epilog="Example: gpuregress history reduce/n=1000,tile=128",
)
@click.argument("case", required=False)
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, case: str | None, as_json: bool) -> int:
    """Lists the kept runs, the oldest first; with a CASE, its verdict, revision and time in each of them."""
    from gpuregress.errors import NothingToDo
    from gpuregress.pipeline import folders
    from gpuregress.report.terminal import table

    project = context.find_project(ctx)
    documents = [folders.results(folder) for folder in folders.finished(project.runs)]
    rows = [_case_row(document, case) for document in documents] if case else [_run_row(one) for one in documents]
    rows = [row for row in rows if row]
    if not rows:
        raise NothingToDo(f"no kept run has a case {case!r}" if case else f"there is no run in {project.runs} yet")
    if as_json:
        context.print_json(rows)
        return 0
    for line in table(tuple(rows[0]), [tuple(str(value) for value in row.values()) for row in rows]):
        click.echo(line)
    return 0


def _run_row(document: dict[str, Any]) -> dict[str, Any]:
    from gpuregress.records import WORDS

    words = [entry["verdict"] for entry in document["cases"]]
    counts = ", ".join(f"{words.count(word)} {word}" for word in WORDS if word in words)
    return {
        "run": document["run"],
        "device": document["device"],
        "seconds": round(document["seconds"], 2),
        "exit": document["exit_code"],
        "cases": counts,
    }


def _case_row(document: dict[str, Any], case: str) -> dict[str, Any]:
    for entry in document["cases"]:
        if entry["case"] == case:
            return {
                "run": document["run"],
                "device": document["device"],
                "verdict": entry["verdict"],
                "revision": entry["revision"],
                "seconds": round(entry["seconds"], 4),
                "reason": entry["reason"],
            }
    return {}
