"""Commands on baselines: `accept`, `reject`, `review`, `blame`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from gpuregress.cli import console, context, progress, shared_options
from gpuregress.foundation.errors import BaselineError, ExitCode, NothingToDo, UsageError
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Acceptance, Case, Verdict, to_json
from gpuregress.foundation.wording import plural
from gpuregress.jobs import plan
from gpuregress.report import json_report, terminal
from gpuregress.session import accepting, missing_cases
from gpuregress.session.accepting import Pending
from gpuregress.session.events import Advanced
from gpuregress.session.runs import run_folders
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.project import Project


@click.command("accept", epilog="Example: gpuregress accept 'reduce/*' -m 'sum in pairs: smaller error'")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--new-only", is_flag=True, help="Only cases that have no baseline yet.")
@click.option("--all", "everything", is_flag=True, help="All that differs or is new, without a question.")
@click.option("--run", "run_name", metavar="RUN", help="Take the dumps of this run instead of the last one.")
@shared_options.message_option("Why; kept with the baseline.")
@click.option(
    "--for",
    "kind",
    metavar="KIND",
    help="Accept for one device (cpu, cuda) or architecture (sm_80) only, beside the common baseline; or for `common`.",
)
@shared_options.unwritten_option
@click.option(
    "--prune", is_flag=True, help="Forget the cases that are gone and remove their baselines; accept nothing."
)
@shared_options.json_option
@click.pass_context
def accept_command(
    ctx: click.Context,
    /,
    cases: tuple[str, ...],
    new_only: bool,
    everything: bool,
    run_name: str | None,
    message: str,
    kind: str | None,
    unwritten_ok: str,
    prune: bool,
    as_json: bool,
) -> int:
    """Make the last run's dumps the baselines: of the CASEs (names, jobs, globs), else of all that differ or are new.

    If no CASE is named and some differ, it asks first; without a terminal, it needs -m or --all. An output in which no
    element was written is refused, unless --unwritten-ok says why that is right.

    A case that faulted, hung or could not run is never accepted; if there is one, the others are accepted and the exit
    code is 4. Rejected results are left out. `gpuregress blame` shows who accepted what, when, why (-m) and from which
    run. If a case must differ on one architecture or device, --for gives that one a baseline of its own, which takes
    precedence over the common one; without --for, the baseline that the run was compared with is replaced.
    """
    project = context.find_project(ctx)
    if prune:
        return _prune(project, as_json=as_json)
    if everything and (cases or new_only):
        raise UsageError(f"--all accepts everything: leave out {'--new-only' if new_only else 'the CASEs'}, or --all")
    can_ask = not as_json and context.is_interactive()

    def confirm(differing: Sequence[FinishedCase]) -> None:
        if not everything:
            _confirm(differing, message, can_ask=can_ask)

    with progress.transient() as show:

        def listen(number: int, total: int) -> None:
            show(Advanced(number, total, "accepting"))

        done = accepting.accept(
            project,
            cases,
            accepting.Terms(message, kind, unwritten_ok),
            run=run_name,
            new_only=new_only,
            confirm=confirm,
            listen=listen,
        )
    if as_json:
        context.print_json(to_json(done))
    else:
        for accepted in done.accepted:
            was = f", was {accepted.before}" if accepted.before and accepted.before != accepted.revision else ""
            of = f" for {accepted.kind}" if accepted.kind else ""
            buffers = ", ".join(accepted.buffers)
            console.say(f"accepted {accepted.case}{of} at revision {accepted.revision}{was}: {buffers}")
            for remark in accepted.remarks:
                console.say(f"  {remark}")
    for refusal in done.left:
        console.say(f"left out: {refusal.case}: {refusal.reason}", err=True)
    for refusal in done.refused:
        console.say(f"not accepted: {refusal.case}: {refusal.reason}", err=True)
    return BaselineError.exit_code if done.refused else 0


def _confirm(differing: Sequence[FinishedCase], message: str, *, can_ask: bool) -> None:
    """Ask on the terminal; where nobody can be asked, require a message: it shows that the accept is meant."""
    jobs = len({finished.case.job for finished in differing})
    counts = f"{plural(len(differing), 'differing case')} of {plural(jobs, 'job')}"
    if can_ask:
        if not click.confirm(f"accept {counts}?", default=False):
            raise NothingToDo("nothing was accepted")
    elif not message:
        raise UsageError(
            f"{counts} would be accepted: name them, give the reason with -m, or use --all; "
            "--new-only takes those without a baseline"
        )


def _prune(project: Project, *, as_json: bool) -> int:
    present: tuple[Case, ...] = ()
    with contextlib.suppress(NothingToDo):  # no job is left: every baseline goes
        present = tuple(plan.make(project, ()).cases)
    obsolete = accepting.obsolete(project, [case.name for case in present])
    store = BaselineStore.of(project, project.runs / run_folders.ACCEPTING)
    for name in obsolete:
        store.remove(name)
        if not as_json:
            console.say(f"removed the baseline {name}: its case is gone")
    forgotten = [name for name in missing_cases.forget(project, store, present) if name not in obsolete]
    if as_json:
        context.print_json({"removed": list(obsolete), "forgotten": forgotten})
        return 0
    for name in forgotten:
        console.say(f"forgot {name}: the next nightly run does not expect it")
    if not obsolete and not forgotten:
        console.say("every baseline still has its case")
    return 0


@click.command("reject", epilog="Example: gpuregress reject reduce/n=1000,tile=128 -m 'the last block is not written'")
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@click.option("--run", "run_name", metavar="RUN", help="Take the results of this run instead of the last one.")
@shared_options.message_option("Why; shown whenever the same results come again.")
@click.option("--undo", is_flag=True, help="Withdraw the rejections of the CASEs.")
@shared_options.json_option
@click.pass_context
def reject_command(
    ctx: click.Context, /, cases: tuple[str, ...], run_name: str | None, message: str, undo: bool, as_json: bool
) -> int:
    """Mark the results of the CASEs that differ or are new as known to be bad.

    The baselines stay as they are. `accept` and `review` leave these results out from now on, and refuse them if they
    are named. A later run that gives the same bytes still differs, and reports who rejected them and why.
    """
    project = context.find_project(ctx)
    if undo:
        key, state = "undone", "no longer rejected"
        results = accepting.take_back(project, cases)
    else:
        key, state = "rejected", "rejected"
        results = accepting.reject(project, cases, run=run_name, why=message)
    if as_json:
        context.print_json({key: to_json(results)})
        return 0
    for result in results:
        console.say(f"{state}: {result.case}: {result.buffer} of revision {result.revision}")
    return 0


_KEYS = "a accept, r reject, s skip, d details, m message, q quit"


@click.command("review", epilog="Example: gpuregress review reduce")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--run", "run_name", metavar="RUN", help="Take the results of this run instead of the last one.")
@shared_options.message_option("Why; kept with what is accepted or rejected.")
@shared_options.unwritten_option
@shared_options.json_option
@click.pass_context
def review_command(
    ctx: click.Context, /, cases: tuple[str, ...], run_name: str | None, message: str, unwritten_ok: str, as_json: bool
) -> int:
    """Show each case of the last run that differs or is new, and accept or reject it by a single key.

    a accepts it, r rejects it, s skips it, d shows all details, m asks for a message that is kept with the decisions
    that follow, q ends. An output in which nothing was written is refused, as by `accept`. Without a terminal, the
    cases are listed with the exact commands.
    Exits with 1 while something is left undecided, 5 if there is nothing to decide.
    """
    project = context.find_project(ctx)
    pending = accepting.pending(project, cases, run=run_name)
    if as_json:
        entries = [json_report.case_document(verdict) for verdict in pending.verdicts]
        context.print_json(json_report.finite({"version": 1, "run": pending.run, "cases": entries}))
        return ExitCode.DIFFERS
    if not context.is_interactive():
        _list(pending)
        return ExitCode.DIFFERS
    return _review_ask(project, pending, message, unwritten_ok)


def _list(pending: Pending) -> None:
    """Print three lines for each case, for a pipe."""
    for verdict in pending.verdicts:
        name = shlex.quote(verdict.case)
        console.say(f"{verdict.status:<8} {verdict.case}  {verdict.reason}")
        console.say(f"  gpuregress accept --run {pending.run} {name}")
        console.say(f"  gpuregress reject --run {pending.run} {name}")


def _review_ask(project: Project, pending: Pending, message: str, unwritten_ok: str) -> int:
    undecided = 0
    for number, verdict in enumerate(pending.verdicts, 1):
        was = f", was {verdict.baseline_revision}" if verdict.baseline_revision else ""
        console.say()
        console.say_spans(
            [
                (f"{number} of {len(pending.verdicts)}  ", None),
                (f"{verdict.status} {verdict.case}", terminal.colour(verdict.status)),
                (f"  revision {verdict.revision}{was}", None),
            ]
        )
        if verdict.reason:
            console.say(f"  {verdict.reason}")
        key = _key()
        while key in ("d", "m"):
            if key == "d":
                _show_details(verdict, project.root)
            else:
                message = click.prompt("message", default=message, value_proc=shared_options.checked_message)
            key = _key()
        if key == "q":
            return ExitCode.DIFFERS
        if key == "s":
            undecided += 1
        elif key == "r":
            accepting.reject(project, (verdict.case,), run=pending.run, why=message)
            console.say("  rejected: the baseline stays")
        elif not _accept(project, pending.run, verdict, accepting.Terms(message, unwritten_ok=unwritten_ok)):
            undecided += 1
    return 1 if undecided else 0


def _key() -> str:
    """Read one of the keys; the end of the input is q."""
    console.say(f"  [{_KEYS}] ", nl=False)
    while True:
        try:
            key = click.getchar().lower()
        except EOFError:
            key = "q"
        if key in ("\x03", "\x04"):
            key = "q"
        if key in ("a", "r", "s", "d", "m", "q"):
            console.say(key)
            return key


def _show_details(verdict: Verdict, root: Path) -> None:
    for line in terminal.details(verdict, root) or ["there is no baseline to compare with"]:
        console.say(f"  {line}")


def _accept(project: Project, run: str, verdict: Verdict, terms: accepting.Terms) -> bool:
    """Accept a case; False where it is refused, with a message."""
    try:
        done = accepting.accept(project, (verdict.case,), terms, run=run)
    except BaselineError as error:
        console.say(f"  {error}")
        return False
    console.say(f"  accepted at revision {verdict.revision}")
    for remark in done.accepted[0].remarks:
        console.say(f"  {remark}")
    return True


@click.command("blame", epilog="Example: gpuregress blame reduce/n=1000,tile=128")
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@shared_options.json_option
@click.pass_context
def blame_command(ctx: click.Context, /, cases: tuple[str, ...], as_json: bool) -> int:
    """Show who accepted the CASEs (names, or jobs for all their cases), when, why and from which run; newest first.

    Exits with 5 if nothing was ever accepted.
    """
    store = BaselineStore.of(context.find_project(ctx))
    names = [name for name in store.case_names() if name in cases or name.partition("/")[0] in cases]
    if not names:
        raise NothingToDo(f"nothing was ever accepted for {', '.join(cases)}: `gpuregress list` shows all cases")
    accepted = [(name, kind, events) for name in names for kind, events in store.histories(name).items()]
    if as_json:
        context.print_json([{"case": name, "for": kind, "accepts": to_json(events)} for name, kind, events in accepted])
        return 0
    for name, kind, events in accepted:
        console.say(f"{name} for {kind}" if kind else name)
        for event in reversed(events):
            console.say(f"  {_line(event)}")
    return 0


def _line(event: Acceptance) -> str:
    """`2026-11-20T02:00:00Z  ada  1.4  from 20261120T020000Z-3f2a  sum in pairs: smaller error`."""
    run = f"from {event.run}" if event.run else "from no run"
    unwritten = f"unwritten: {event.unwritten_ok}" if event.unwritten_ok else ""
    parts = (event.when, event.who or "?", event.revision, run, event.why, unwritten)
    return one_line("  ".join(part for part in parts if part))
