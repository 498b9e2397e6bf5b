"""Command `gpuregress history`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuregress.records import PastResult, PastRun

LETTERS = {"pass": ".", "differ": "d", "new": "n", "fault": "F", "timeout": "T", "error": "E", "skip": "s"}


@click.command(
    "history",
    short_help="the trend: every case's verdicts through the runs",
    epilog="Example: gpuregress history reduce 'scan/*' --last 50",
)
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option(
    "-n", "--last", type=click.IntRange(1, values.MOST_RUNS), default=30, show_default=True, help="The number of runs."
)
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, cases: tuple[str, ...], last: int, as_json: bool) -> int:
    """Show the last runs and each case's verdict in them, the oldest first.

    With CASEs (names, jobs or globs): each of their results. Goes back further than the kept runs.
    """
    from gpuregress.session.runs import cut_short, history_entry

    project = context.find_project(ctx)
    for line in cut_short.describe_all(project.runs):
        console.say(line, err=as_json)
    results = history_entry.results(project, cases, last)
    if cases:
        rows = [_result_row(result) for of_case in results.values() for result in of_case]
        if as_json:
            context.print_json(rows)
        else:
            _print_table(rows)
        return 0
    runs = history_entry.runs(project, last)
    if as_json:
        context.print_json([_run_row(run) for run in runs])
        return 0
    _print_table([_run_row(run) for run in runs])
    console.say("")
    _print_table(list(_trend(runs, results)))
    console.say("oldest first; . pass, d differ, n new, F fault, T timeout, E error, s skipped, blank: not run")
    return 0


def _trend(runs: Sequence[PastRun], results: Mapping[str, Sequence[PastResult]]) -> Iterator[dict[str, Any]]:
    """One row for each case: its letters, its last and its median time, its last revision."""
    import statistics

    for case, of_case in results.items():
        letters = {result.run: LETTERS.get(result.verdict, "?") for result in of_case}
        trend = "".join(letters.get(run.run, " ") for run in runs)
        if not trend.strip():
            continue
        median = statistics.median(result.seconds for result in of_case)
        yield {
            "case": case,
            "verdicts": f"[{trend}]",
            "seconds": f"{of_case[-1].seconds:.3f}",
            "median": f"{median:.3f}",
            "revision": of_case[-1].revision,
        }


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    from gpuregress.report.terminal import table

    for line in table(tuple(rows[0]), [tuple(str(value) for value in row.values()) for row in rows]):
        console.say(line)


def _run_row(run: PastRun) -> dict[str, Any]:
    from gpuregress.records import STATUSES

    return {
        "run": run.run,
        "kind": run.kind,
        "device": run.device,
        "seconds": round(run.seconds, 2),
        "exit": run.exit_code,
        "cases": ", ".join(f"{run.counts[status]} {status}" for status in STATUSES if status in run.counts),
    }


def _result_row(result: PastResult) -> dict[str, Any]:
    return {
        "case": result.case,
        "run": result.run,
        "device": result.device,
        "verdict": result.verdict,
        "revision": result.revision,
        "seconds": round(result.seconds, 4),
        "reason": result.reason,
    }
