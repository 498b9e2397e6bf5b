"""Commands on the results of runs: `log`, `history`, `report`."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, report_files, shared_options, values
from gpuregress.foundation import git
from gpuregress.foundation.errors import NothingToDo, StorageError
from gpuregress.foundation.escapes import json_text, one_line
from gpuregress.foundation.records import PastResult, PastRun, State, to_json
from gpuregress.foundation.wording import plural
from gpuregress.report import history_text, html, terminal
from gpuregress.session import earlier_nights, merging, shards
from gpuregress.session.runs import cut_short, history_entry, journal, past_runs, results, run_folders
from gpuregress.session.runs.past_runs import FailingCase, WantedCases
from gpuregress.session.runs.source_texts import SourceTexts
from gpuregress.store import launch_log
from gpuregress.store.dumps import run_names
from gpuregress.store.history import History
from gpuregress.store.launch_log import Event, LaunchBegin, LaunchEnd, LaunchFault, LaunchRetry, Log
from gpuregress.store.project import Project

_IMPORT = "import"
_DEFAULT_LAST = 30
_MOST_NIGHTS = 60
_CSV_LINES_AT_ONCE = 1000


@click.command("log", epilog="Example: gpuregress log   (the last run)")
@click.argument("run", required=False)
@click.option("--blame", is_flag=True, help="Only the launches that never returned, or ended with a fault.")
@shared_options.json_option
@click.pass_context
def log_command(ctx: click.Context, /, run: str | None, blame: bool, as_json: bool) -> int:
    """Show the launch log of RUN: a name or its beginning, or the file of a log; the last run if none.

    Each launch is in the log on disk before it starts. After any crash, kill or power cut, the last `begin` without an
    `end` names the launch that was running.
    """
    if run is not None and Path(run).is_file():  # one that `gpuregress capture` wrote
        log = launch_log.read(Path(run))
        if as_json:
            context.print_json(_log_document(str(Path(run)), log))
        else:
            _say_log(log, Path(run), blame=blame)
        return 0
    project = context.find_project(ctx)
    folder = run_names.find(project.runs, run)
    path = folder / run_folders.LAUNCH_LOG
    read, description = journal.read(folder), cut_short.describe(folder)
    log = _read_log(path, read.state)
    code = 0
    if read.end is not None and read.end.log not in ("", results.log_digest(folder)):
        console.say(f"{path}: edited or cut short after the run had ended", err=True)
        code = StorageError.exit_code
    if as_json:
        context.print_json({"state": read.state, "said": description, **_log_document(folder.name, log)})
        return code
    _say_log(log, path, blame=blame)
    if description:
        console.say(description)
    return code


def _read_log(path: Path, state: State) -> Log:
    """The run's launch log; an empty one where the run did not begin one."""
    if state in ("running", "cut short") and not path.exists():
        return Log({}, ())
    return launch_log.read(path)


def _say_log(log: Log, path: Path, *, blame: bool) -> None:
    if not blame:
        for key, value in log.header.items():
            console.say(one_line(f"# {key}: {value}"))
        for event in log.events:
            console.say(one_line(_event_line(event)))
    for number in log.unreadable:
        console.say(f"line {number} of {path} holds no event: it was cut short or edited", err=True)
    for begin in log.unfinished:
        console.say(f"never returned: launch {begin.number} on {begin.device}, {begin.case}: {begin.call}")
    if not blame:
        return
    begins = {event.number: event for event in log.events if isinstance(event, LaunchBegin)}
    has_fault = False
    for event in log.events:
        if isinstance(event, LaunchFault) and event.number in begins:
            has_fault = True
            begin = begins[event.number]
            place = f"launch {begin.number} on {begin.device}, {begin.case}"
            console.say(one_line(f"ended with a fault: {place}: {event.text}"))
    if not log.unfinished and not has_fault:
        console.say("every launch returned")


def _event_line(event: Event) -> str:
    if isinstance(event, LaunchBegin):
        return f"begin {event.number} {event.time} {event.device} {event.case} {event.text}"
    if isinstance(event, LaunchEnd):
        return f"end {event.number} {event.elapsed_ms:.3f} ms"
    return f"{_event_name(event)} {event.number} {event.text}"


def _event_name(event: Event) -> str:
    return {LaunchBegin: "begin", LaunchEnd: "end", LaunchRetry: "retry"}.get(type(event), "fault")


def _log_document(run: str, log: Log) -> dict[str, object]:
    return {
        "run": run,
        "head": dict(log.header),
        "events": [{"event": _event_name(event), **to_json(event)} for event in log.events],
        "unfinished": to_json(log.unfinished),
    }


@click.command("flaky", epilog="Example: gpuregress flaky --json")
@shared_options.json_option
@click.pass_context
def flaky_command(ctx: click.Context, /, as_json: bool) -> int:
    """List the cases whose verdict changes from night to night although their code does not.

    A case is flaky after three changes of its verdict within ten nights of one revision. It is reported once. After
    that, a difference or timeout like those before does not fail a night until the source of the kernel changes. Exits
    with 1 if there is one.
    """
    with history_entry.opened(context.find_project(ctx)) as history:
        cases = list(earlier_nights.flaky_cases(history))
    if as_json:
        context.print_json(to_json(cases))
    elif not cases:
        console.say("no case is flaky")
    else:
        for case in cases:
            revision = f"  revision {case.revision}" if case.revision else ""
            console.say(f"{case.case}  {case.device}{revision}  {' '.join(case.verdicts)}")
    return int(bool(cases))


@click.command(
    "history",
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
@click.option(
    "--times",
    "writes_times",
    is_flag=True,
    help=f"Write the time of each case to {shards.FILE} beside the baselines, which balances run --shard.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print a line of CSV for each case of each run.")
@shared_options.json_option
@click.pass_context
def history_command(ctx: click.Context, /, cases: tuple[str, ...], **options: Any) -> int:
    """Show the last runs and the verdict of each case in them, oldest first.

    With CASEs (names, jobs or globs), show each of their results. Goes back further than the runs that are kept.
    `import` adds the runs of other hosts.
    """
    project = context.find_project(ctx)
    if cases[:1] == (_IMPORT,):
        return _import(ctx, project, cases[1:])
    if options["writes_times"]:
        return _write_times(ctx, project)
    as_csv, as_json, only_failing = options["as_csv"], options["as_json"], options["failing"]
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    console.say_lines(cut_short.describe_all(project.runs), err=as_csv or as_json)
    last = options["last"]
    if last is None and not as_csv:
        last = _DEFAULT_LAST
    last_runs = last
    if cases and not as_csv and not only_failing:
        last_runs = None  # the number is that of each case's results
    query = past_runs.HistoryQuery(cases, options["since"], last_runs, options["removed"])
    with history_entry.opened(project) as history:
        runs = past_runs.period(history, query)
        wanted = past_runs.WantedCases(project, query, history.case_names())
        if only_failing:
            failing = past_runs.failing(history, runs, wanted)
            if not as_csv:
                return _show_failing(failing, wanted, as_json=as_json)
            wanted.names = frozenset(failure.newest.case for failure in failing)
        if as_csv:
            return _print_csv(history, runs, wanted.names)
        if cases:
            case_results = tuple(past_runs.case_results(history, runs, last, wanted.names))
            return _show_results(project, case_results, as_json=as_json)
        return _show_overview(history, runs, wanted, as_json=as_json)


def _write_times(ctx: click.Context, project: Project) -> int:
    if _given(ctx) != ["writes_times"]:
        raise click.UsageError("history --times takes no cases and no other options: it covers the whole project")
    with history_entry.opened(project) as history:
        written = shards.write_times(project, history)
    text = f"{context.relative(written.path)}: the times of {plural(written.cases, 'case')}"
    if written.kept:
        text += f", {written.kept} of them as before, because this history lacks them"
    console.say(f"{text}; commit it with the baselines")
    return 0


def _given(ctx: click.Context) -> list[str]:
    return [name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]


def _import(ctx: click.Context, project: Project, folders: Sequence[str]) -> int:
    """Import runs; one that cannot be read does not keep the others out."""
    if not folders or _given(ctx) != ["cases"]:
        raise click.UsageError("history import takes the folders of runs, at least one, and no options")
    code = 0
    for imported in past_runs.import_runs(project, [Path(folder) for folder in folders]):
        summary = imported.summary
        if summary is None:
            code = StorageError.exit_code
            console.say(imported.problem, err=True)
            continue
        name = f"{summary.run} ({imported.kind} on {summary.host}, {summary.started[:10]})"
        if imported.is_new:
            console.say(f"{name}: imported: {plural(len(summary.verdicts), 'case')}")
        else:
            console.say(f"{name} is in the history already")
    return code


def _show_overview(history: History, runs: Sequence[PastRun], wanted: WantedCases, *, as_json: bool) -> int:
    overview = past_runs.overview(history, runs, wanted)
    newest_last = tuple(reversed(overview.runs))
    if as_json:
        context.print_json([history_text.run_row(run) for run in newest_last])
        return 0
    console.say_lines(history_text.run_table(newest_last, console.width(sys.stdout)))
    if overview.trends:
        console.say("")
        trends = [(trend.case, trend.device, trend.source, trend.results) for trend in overview.trends]
        console.say_lines(history_text.trend_table(trends, len(runs), console.width(sys.stdout)))
    console.say(history_text.LEGEND)
    _say_hidden(wanted)
    return 0


def _show_results(project: Project, case_results: Sequence[PastResult], *, as_json: bool) -> int:
    if as_json:
        context.print_json([history_text.result_row(result) for result in case_results])
        return 0
    lacks_commit = functools.partial(git.lacks_commit, project.root)
    for number, (case, group) in enumerate(itertools.groupby(case_results, key=lambda result: result.case)):
        if number:
            console.say()
        console.say(case)
        past = tuple(group)
        console.say_lines(history_text.result_table(past, console.width(sys.stdout)))
        console.say_lines(past_runs.timing_steps(reversed(past), lacks_commit))
    if not case_results:
        console.say("none of these cases ran in that time")
    return 0


def _show_failing(failing: Sequence[FailingCase], wanted: WantedCases, *, as_json: bool) -> int:
    if as_json:
        context.print_json([_failing_document(failure) for failure in failing])
        return 0
    if failing:
        rows = [(failure.newest, failure.since, failure.failures) for failure in failing]
        console.say_lines(history_text.failing_table(rows, console.width(sys.stdout)))
    else:
        console.say("no case fails")
    _say_hidden(wanted)
    return 0


def _failing_document(failure: FailingCase) -> dict[str, Any]:
    first = failure.since
    since = {"run": first.run, "started": first.started, "commit": first.commit, "branch": first.branch}
    return {**history_text.result_row(failure.newest), "failures": failure.failures, "since": since}


def _print_csv(history: History, runs: Sequence[PastRun], names: frozenset[str]) -> int:
    console.say(history_text.csv_line(history_text.CSV_COLUMNS))
    lines: list[str] = []
    for result in past_runs.all_results(history, runs, names):
        lines.append(history_text.csv_line(history_text.csv_values(result)) + "\n")
        if len(lines) == _CSV_LINES_AT_ONCE:
            console.say_document("".join(lines))
            lines.clear()
    if lines:
        console.say_document("".join(lines))
    return 0


def _say_hidden(wanted: WantedCases) -> None:
    if wanted.hidden:
        of = "case that no job has" if wanted.hidden == 1 else "cases that no job has"
        console.say(f"{wanted.hidden} {of} any more: --removed shows them")


@click.command(
    "report", epilog="Example: gpuregress report -o report.html   (or: gpuregress report --report sarif=results.sarif)"
)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--merge",
    "is_merged",
    is_flag=True,
    help="Merge several RUNs into one result, for example the shards of other hosts: names, or folders of runs.",
)
@click.option("-o", "--output", metavar="F", type=values.REPORT, help="Where to write the page  [default: stdout]")
@click.option(
    "--compare",
    nargs=2,
    type=(values.NonEmpty(), values.NonEmpty()),
    metavar="RUN_A RUN_B",
    help="Write a page with two runs side by side: names, or folders of runs.",
)
@click.option("--trend", is_flag=True, help="Write a page on the last nights of the project, with their commits.")
@shared_options.report_files_option
@shared_options.json_option
@click.pass_context
def report_command(
    ctx: click.Context,
    /,
    runs: tuple[str, ...],
    output: str | None,
    compare: tuple[str, str] | None,
    reports: tuple[values.Target, ...],
    *,
    as_json: bool,
    is_merged: bool,
    trend: bool,
) -> int:
    """Write RUN (a name or its beginning; the last run if none) as one HTML page that needs no other file.

    With --report, the page is written only if -o names its file. With --merge, the exit code is the worst of the runs,
    and 4 if a shard is missing; runs that overlap are refused.
    """
    if compare or trend:
        if runs or reports or as_json or is_merged or (compare and trend):
            raise click.UsageError(
                "--compare and --trend make a page of their own: no other RUN, --merge, --report or --json"
            )
        text = _comparison(ctx, *compare) if compare else _nights(context.find_project(ctx))
        context.write_report(output or "-", text)
        return 0
    targets = list(reports)
    if output is not None:
        targets.insert(0, ("html", output))
    elif not reports and not as_json:
        targets.append(("html", "-"))
    # `--json` is written after the others, by a function of its own.
    is_stdout_taken = context.writes_to_stdout({"reports": [*targets, ("json", "-")] if as_json else targets})
    if is_merged:
        project = _project_of(ctx, runs)
        if as_json:
            targets.append(("json", "-"))
        return _report_merged(project, runs, targets, to_stderr=is_stdout_taken)
    project = context.find_project(ctx)
    if len(runs) > 1:
        raise click.UsageError("report writes a page on one RUN; --merge joins several")
    folder = run_names.find(project.runs, runs[0] if runs else None)
    document = results.document(folder)
    description = cut_short.describe(folder)
    if description:
        console.say(f"gpuregress: {description}", err=True)
    for name, target in targets:
        context.write_report(target, _report_text(name, folder, document))
    if as_json:
        context.print_json(document)
    return 0


def _project_of(ctx: click.Context, runs: Sequence[str]) -> Project:
    """The project of some runs; a host that has only their folders needs none."""
    if all(Path(run).is_dir() for run in runs):
        return context.find_or_begin_project(ctx)
    return context.find_project(ctx)


def _report_merged(project: Project, runs: Sequence[str], targets: Sequence[values.Target], *, to_stderr: bool) -> int:
    if not runs:
        raise click.UsageError("report --merge needs the names or folders of runs")
    folders: list[Path] = []
    for run in runs:
        folders += past_runs.runs_of(Path(run)) if Path(run).is_dir() else [run_names.find(project.runs, run)]
    summary = merging.merge(folders)
    for name, target in targets:
        if name == "html":
            with history_entry.trends(project.runs, html.LAST) as trends:
                context.write_report(target, html.render(summary, trends, SourceTexts(project.runs).versions))
        else:
            context.write_report(target, report_files.render(name, summary))
    console.say_lines((*terminal.missing_lines(summary), terminal.counts(summary)), err=to_stderr)
    return summary.exit_code


def _comparison(ctx: click.Context, first: str, second: str) -> str:
    """The page of two runs, each by its name or folder."""
    project = _project_of(ctx, (first, second))
    documents = []
    for name in (first, second):
        folders = past_runs.runs_of(Path(name)) if Path(name).is_dir() else [run_names.find(project.runs, name)]
        if len(folders) > 1:
            raise click.UsageError(f"--compare: {name} holds {len(folders)} runs; name the folder of one")
        documents.append(results.document(folders[0]))
    return html.comparison_page(*documents)


def _nights(project: Project) -> str:
    """The page of the last nights.

    Raises:
        NothingToDo: there is none.
    """
    with history_entry.opened(project) as history:
        nights = earlier_nights.trend(project, history, _MOST_NIGHTS)
    if not nights:
        raise NothingToDo(f"no night in {project.runs} has ended yet")
    return html.nights_page(project.root.name, nights)


def _report_text(name: str, folder: Path, document: dict[str, Any]) -> str:
    """The report of a run in one format; the page and the JSON are those of the stored document."""
    if name == "html":
        with history_entry.trends(folder.parent, html.LAST, document["started"]) as trends:
            return html.page(document, trends, SourceTexts(folder.parent).versions)
    if name == "json":
        return json_text(document, indent=1) + "\n"
    return report_files.render(name, results.summary_of(journal.read(folder)))
