"""Commands on the results of runs: `log`, `history`, `report`."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values
from gpuregress.foundation.escapes import one_line

if TYPE_CHECKING:
    from gpuregress.foundation.records import PastResult, PastRun, State
    from gpuregress.session.runs.past_runs import FailingCase, WantedCases
    from gpuregress.store.history import History
    from gpuregress.store.launch_log import Event, LaunchBegin, Log
    from gpuregress.store.project import Project


@click.command(
    "log",
    short_help="a run's launches, and which never came back",
    epilog="Example: gpuregress log   (the last run)",
)
@click.argument("run", required=False)
@click.option("--blame", is_flag=True, help="Only the launches that never came back, or ended with a fault.")
@context.json_option
@click.pass_context
def log_command(ctx: click.Context, /, run: str | None, blame: bool, as_json: bool) -> int:
    """Show the launch log of RUN (a name or its beginning; the last run if none; or the file of a log).

    The log is on disk before each launch happens, so after any crash, kill or power cut its last begin without an end
    names the launch to blame.
    """
    from gpuregress.foundation.errors import StorageError
    from gpuregress.session.runs import cut_short, journal, results, run_folders

    if run is not None and Path(run).is_file():
        return _captured(Path(run), blame=blame, as_json=as_json)
    project = context.find_project(ctx)
    folder = run_folders.find(project.runs, run)
    read, description = journal.read(folder), cut_short.describe(folder)
    log = _log(folder, read.state)
    is_edited = read.end is not None and read.end.log not in ("", results.log_digest(folder))
    code = StorageError.exit_code if is_edited else 0
    if is_edited:
        console.say(f"{folder / run_folders.LAUNCH_LOG}: edited or cut short after the run had ended", err=True)
    if as_json:
        context.print_json({"state": read.state, "said": description, **_document(folder.name, log)})
        return code
    _say(log, folder / run_folders.LAUNCH_LOG, blame=blame)
    if description:
        console.say(description)
    return code


def _captured(path: Path, *, blame: bool, as_json: bool) -> int:
    """Show a log that `gpuregress capture` wrote."""
    from gpuregress.store import launch_log

    log = launch_log.read(path)
    if as_json:
        context.print_json(_document(str(path), log))
    else:
        _say(log, path, blame=blame)
    return 0


def _say(log: Log, path: Path, *, blame: bool) -> None:
    if not blame:
        for key, value in log.header.items():
            console.say(one_line(f"# {key}: {value}"))
        for event in log.events:
            console.say(one_line(_line(event)))
    for number in log.unreadable:
        console.say(f"line {number} of {path} holds no event: it was cut short or edited", err=True)
    for begin in log.unfinished:
        console.say(f"never came back: launch {begin.number} on {begin.device}, {begin.case}: {begin.call}")
    faults = _faults(log) if blame else []
    for begin, text in faults:
        console.say(one_line(f"ended with a fault: launch {begin.number} on {begin.device}, {begin.case}: {text}"))
    if blame and not log.unfinished and not faults:
        console.say("every launch came back")


def _faults(log: Log) -> list[tuple[LaunchBegin, str]]:
    """Return the launches that ended with a fault, and its text."""
    from gpuregress.store.launch_log import LaunchBegin, LaunchFault

    begun = {event.number: event for event in log.events if isinstance(event, LaunchBegin)}
    faults = [event for event in log.events if isinstance(event, LaunchFault)]
    return [(begun[event.number], event.text) for event in faults if event.number in begun]


def _log(folder: Path, state: State) -> Log:
    """The run's launch log; an empty one where the run did not begin one."""
    from gpuregress.session.runs import run_folders
    from gpuregress.store import launch_log

    path = folder / run_folders.LAUNCH_LOG
    if state in ("running", "cut short") and not path.exists():
        return launch_log.Log({}, ())
    return launch_log.read(path)


def _line(event: Event) -> str:
    from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchRetry

    if isinstance(event, LaunchBegin):
        return f"begin {event.number} {event.time} {event.device} {event.case} {event.text}"
    if isinstance(event, LaunchEnd):
        return f"end {event.number} {event.elapsed_ms:.3f} ms"
    return f"{'retry' if isinstance(event, LaunchRetry) else 'fault'} {event.number} {event.text}"


def _document(run: str, log: Log) -> dict[str, object]:
    from gpuregress.foundation.records import to_json
    from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchRetry

    kinds = {LaunchBegin: "begin", LaunchEnd: "end", LaunchRetry: "retry"}
    return {
        "run": run,
        "head": dict(log.header),
        "events": [{"event": kinds.get(type(event), "fault"), **to_json(event)} for event in log.events],
        "unfinished": to_json(log.unfinished),
    }


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
def history_command(ctx: click.Context, /, cases: tuple[str, ...], **options: Any) -> int:
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
def report_command(
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
