"""Command `gpuregress history`."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.foundation.records import PastResult, PastRun
    from gpuregress.session.runs.past_runs import FailingCase, WantedCases
    from gpuregress.store.history import History
    from gpuregress.store.project import Project

_IMPORT = "import"
_DEFAULT_LAST = 30


@click.command(
    "history",
    short_help="the trend: every case's verdicts through the runs",
    epilog="Examples: gpuregress history reduce 'scan/*' --since 7d\n\n"
    "gpuregress history import /mnt/ci/runs/20261120T020000Z-3f2a",
)
@click.argument("cases", nargs=-1, metavar="[CASE]... | import RUN_DIR...")
@click.option(
    "-n",
    "--last",
    type=click.IntRange(1, values.MOST_RUNS),
    help=f"The number of runs, or of results of each CASE.  [default: {_DEFAULT_LAST}; all with --csv]",
)
@click.option(
    "--since",
    type=values.NonEmpty(),
    default="",
    help="Only runs since then: 2026-11-20, '20 Nov', 7d, 12h, or the first run of a commit.",
)
@click.option("--failing", is_flag=True, help="Only cases that fail now, and since when they do.")
@click.option("--removed", is_flag=True, help="Also cases that no job has any more.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a line of CSV for each case of each run.")
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, cases: tuple[str, ...], **options: Any) -> int:
    """Show the last runs and each case's verdict in them, the oldest first.

    With CASEs (names, jobs or globs): each of their results. Goes back further than the kept runs. `import` adds the
    runs of other hosts.
    """
    from gpuregress.session.runs import cut_short, history_entry, past_runs

    project = context.find_project(ctx)
    if cases[:1] == (_IMPORT,):
        return _import(ctx, project, cases[1:])
    if options["as_csv"] and options["as_json"]:
        raise click.UsageError("--csv and --json exclude each other")
    is_plain = options["as_csv"] or options["as_json"]
    for line in cut_short.describe_all(project.runs):
        console.say(line, err=is_plain)
    last = options["last"] or (None if options["as_csv"] else _DEFAULT_LAST)
    of_results = bool(cases) and not options["as_csv"] and not options["failing"]
    query = past_runs.HistoryQuery(cases, options["since"], None if of_results else last, options["removed"])
    with history_entry.opened(project) as history:
        runs = past_runs.period(history, query)
        wanted = past_runs.WantedCases(project, query, history.case_names())
        if options["failing"]:
            failing = past_runs.failing(history, runs, wanted)
            if not options["as_csv"]:
                return _show_failing(failing, wanted, as_json=options["as_json"])
            wanted.names = frozenset(one.newest.case for one in failing)
        if options["as_csv"]:
            return _print_csv(history, runs, wanted.names)
        if cases:
            found = tuple(past_runs.case_results(history, runs, last, wanted.names))
            return _show_results(project, found, as_json=options["as_json"])
        return _show_overview(history, runs, wanted, as_json=options["as_json"])


def _import(ctx: click.Context, project: Project, folders: Sequence[str]) -> int:
    """Import runs; one that cannot be read does not keep the others out."""
    from gpuregress.foundation.errors import StorageError
    from gpuregress.session.runs import past_runs

    given = [name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if not folders or given != ["cases"]:
        raise click.UsageError("history import takes the folders of runs, at least one, and no options")
    problems = 0
    for one in past_runs.import_runs(project, [Path(folder) for folder in folders]):
        if one.summary is None:
            problems += 1
            console.say(one.problem, err=True)
            continue
        name = f"{one.summary.run} ({one.kind} on {one.summary.host}, {one.summary.started[:10]})"
        count = len(one.summary.verdicts)
        state = f"imported: {count} case{'s' if count != 1 else ''}" if one.is_new else "is in the history already"
        console.say(f"{name}: {state}" if one.is_new else f"{name} {state}")
    return StorageError.exit_code if problems else 0


def _show_overview(history: History, runs: Sequence[PastRun], wanted: WantedCases, *, as_json: bool) -> int:
    from gpuregress.report import history_text
    from gpuregress.session.runs import past_runs

    overview = past_runs.overview(history, runs, wanted)
    if as_json:
        context.print_json([history_text.run_row(run) for run in reversed(overview.runs)])
        return 0
    _print(history_text.run_table(tuple(reversed(overview.runs)), _width()))
    if overview.trends:
        console.say("")
        trends = [(one.case, one.device, one.source, one.results) for one in overview.trends]
        _print(history_text.trend_table(trends, len(runs), _width()))
    console.say(history_text.LEGEND)
    _say_hidden(wanted)
    return 0


def _show_results(project: Project, results: Sequence[PastResult], *, as_json: bool) -> int:
    from gpuregress.foundation import git
    from gpuregress.report import history_text
    from gpuregress.session.runs import past_runs

    if as_json:
        context.print_json([history_text.result_row(result) for result in results])
        return 0
    for number, (case, of_case) in enumerate(itertools.groupby(results, key=lambda one: one.case)):
        if number:
            console.say()
        console.say(case)
        past = tuple(of_case)
        _print(history_text.result_table(past, _width()))
        _print(past_runs.timing_steps(reversed(past), functools.partial(git.lacks_commit, project.root)))
    if not results:
        console.say("none of these cases ran in that time")
    return 0


def _show_failing(failing: Sequence[FailingCase], wanted: WantedCases, *, as_json: bool) -> int:
    from gpuregress.report import history_text

    if as_json:
        context.print_json(
            [
                history_text.result_row(one.newest)
                | {
                    "failures": one.failures,
                    "since": {"run": one.since.run, "started": one.since.started}
                    | {"commit": one.since.commit, "branch": one.since.branch},
                }
                for one in failing
            ]
        )
        return 0
    if failing:
        _print(history_text.failing_table([(one.newest, one.since, one.failures) for one in failing], _width()))
    else:
        console.say("no case fails")
    _say_hidden(wanted)
    return 0


def _print_csv(history: History, runs: Sequence[PastRun], names: frozenset[str]) -> int:
    from gpuregress.report import history_text
    from gpuregress.session.runs import past_runs

    console.say(history_text.csv_line(history_text.CSV_COLUMNS))
    lines = (history_text.csv_line(history_text.csv_values(one)) for one in past_runs.all_results(history, runs, names))
    while some := list(itertools.islice(lines, 1000)):
        console.say_document("\n".join([*some, ""]))
    return 0


def _say_hidden(wanted: WantedCases) -> None:
    if wanted.hidden:
        of = "case that no job has" if wanted.hidden == 1 else "cases that no job has"
        console.say(f"{wanted.hidden} {of} any more: --removed shows them")


def _print(lines: Any) -> None:
    for line in lines:
        console.say(line)


def _width() -> int | None:
    """The width of the terminal; None in a pipe, where lines have any length."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
