"""Commands on baselines: `accept`, `reject`, `review`, `blame`, `calibrate`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context, values
from gpuregress.foundation.escapes import one_line

if TYPE_CHECKING:
    from gpuregress.foundation.records import Acceptance, Case, Verdict
    from gpuregress.session.accepting import Pending
    from gpuregress.session.runs.results import FinishedCase
    from gpuregress.store.project import Project


@click.command(
    "accept",
    short_help="make the last run's dumps the baselines",
    epilog="Example: gpuregress accept 'reduce/*' -m 'sum in pairs: smaller error'",
)
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--new-only", is_flag=True, help="Only cases that have no baseline yet.")
@click.option("--all", "everything", is_flag=True, help="All that differs or is new, without a question.")
@click.option("--run", "run_name", metavar="RUN", help="Take the dumps of this run instead of the last one.")
@context.message_option("Why; kept with the baseline.")
@click.option(
    "--for",
    "kind",
    metavar="KIND",
    help="Accept for one device (cpu, cuda) or architecture (sm_80) only, beside the common baseline; or for `common`.",
)
@context.unwritten_option
@click.option(
    "--prune", is_flag=True, help="Forget the cases that are gone and remove their baselines; accept nothing."
)
@context.json_option
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

    Where no CASE is named and some differ, it asks first; where there is no terminal, it needs -m or --all. An output
    of which no element was written is refused, unless --unwritten-ok says why that is right.

    A case that faulted, hung or could not run is never accepted; where there is one, the others are, and the exit
    code is 4. What was rejected is left out. Who, when, why (-m) and from which run is recorded: `gpuregress blame`.
    Where a case must differ on one architecture or device, --for gives that one a baseline of its own, which comes
    before the common one from then on; without --for, the baseline that the run was compared with is replaced.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import UsageError
    from gpuregress.foundation.records import to_json
    from gpuregress.session import accepting
    from gpuregress.session.events import Advanced

    project = context.find_project(ctx)
    if prune:
        return _prune(ctx, as_json=as_json)
    if everything and (cases or new_only):
        raise UsageError(f"--all is for everything: leave out {'--new-only' if new_only else 'the CASEs'}, or --all")
    terms = accepting.Terms(message, kind, unwritten_ok)
    can_ask = not as_json and context.is_interactive()
    confirm = _accept_silently if everything else _accept_ask if can_ask else _demand(message)
    with progress.transient() as show:
        done = accepting.accept(
            project,
            cases,
            terms,
            run=run_name,
            new_only=new_only,
            confirm=confirm,
            listen=lambda number, of: show(Advanced(number, of, "accepting")),
        )
    if as_json:
        context.print_json(to_json(done))
    else:
        for one in done.accepted:
            was = f", was {one.before}" if one.before and one.before != one.revision else ""
            of = f" for {one.kind}" if one.kind else ""
            console.say(f"accepted {one.case}{of} at revision {one.revision}{was}: {', '.join(one.buffers)}")
            for remark in one.remarks:
                console.say(f"  {remark}")
    for refusal in done.left:
        console.say(f"left out: {refusal.case}: {refusal.reason}", err=True)
    for refusal in done.refused:
        console.say(f"not accepted: {refusal.case}: {refusal.reason}", err=True)
    return 4 if done.refused else 0


def _accept_silently(_differing: Sequence[FinishedCase]) -> None:
    """Accept without a question: the user said --all."""


def _accept_ask(differing: Sequence[FinishedCase]) -> None:
    """Ask on the terminal."""
    from gpuregress.foundation.errors import NothingToDo

    if not click.confirm(f"accept {_counted(differing)}?", default=False):
        raise NothingToDo("nothing was accepted")


def _demand(message: str) -> Callable[[Sequence[FinishedCase]], None]:
    """Require a message where nobody can be asked: it shows that the accept is meant."""

    def refuse(differing: Sequence[FinishedCase]) -> None:
        from gpuregress.foundation.errors import UsageError

        if not message:
            raise UsageError(
                f"{_counted(differing)} would be accepted: name them, or say why with -m, or --all; "
                "--new-only takes those without a baseline"
            )

    return refuse


def _counted(differing: Sequence[FinishedCase]) -> str:
    """`37 differing cases of 3 jobs`."""
    jobs = len({one.case.job for one in differing})
    cases = f"{len(differing)} differing case{'s' if len(differing) > 1 else ''}"
    return f"{cases} of {jobs} job{'s' if jobs > 1 else ''}"


def _prune(ctx: click.Context, *, as_json: bool) -> int:
    from gpuregress.foundation.errors import NothingToDo
    from gpuregress.jobs import plan
    from gpuregress.session import accepting, missing_cases
    from gpuregress.session.runs import run_folders
    from gpuregress.store import baselines

    project = context.find_project(ctx)
    present: tuple[Case, ...] = ()
    with contextlib.suppress(NothingToDo):  # no job is left: every baseline goes
        present = tuple(plan.make(project, ()).cases)
    gone = accepting.obsolete(project, [case.name for case in present])
    store = baselines.BaselineStore.of(project, project.runs / run_folders.ACCEPTING)
    for name in gone:
        store.remove(name)
        if not as_json:
            console.say(f"removed the baseline {name}: its case is gone")
    forgotten = [name for name in missing_cases.forget(project, store, present) if name not in gone]
    if as_json:
        context.print_json({"removed": list(gone), "forgotten": forgotten})
        return 0
    for name in forgotten:
        console.say(f"forgot {name}: the next nightly run does not expect it")
    if not gone and not forgotten:
        console.say("every baseline has its case")
    return 0


@click.command(
    "reject",
    short_help="find a run's results wrong: keep the baseline, never accept them",
    epilog="Example: gpuregress reject reduce/n=1000,tile=128 -m 'the last block is not written'",
)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@click.option("--run", "run_name", metavar="RUN", help="Of this run instead of the last one.")
@context.message_option("Why; shown whenever the same results come again.")
@click.option("--undo", is_flag=True, help="Take the rejections of the CASEs back.")
@context.json_option
@click.pass_context
def reject_command(
    ctx: click.Context, /, cases: tuple[str, ...], run_name: str | None, message: str, undo: bool, as_json: bool
) -> int:
    """Mark the results of the CASEs that differ or are new as known to be bad.

    The baselines stay as they are. `accept` and `review` leave these results out from now on, and refuse them where
    they are named. A later run that gives the same bytes still differs, and says who rejected them and why.
    """
    from gpuregress.foundation.records import to_json
    from gpuregress.session import accepting

    project = context.find_project(ctx)
    done = accepting.take_back(project, cases) if undo else accepting.reject(project, cases, run=run_name, why=message)
    if as_json:
        context.print_json({"undone" if undo else "rejected": to_json(done)})
        return 0
    for one in done:
        state = "no longer rejected" if undo else "rejected"
        console.say(f"{state}: {one.case}: {one.buffer} of revision {one.revision}")
    return 0


_KEYS = "a accept, r reject, s skip, d details, m message, q quit"


@click.command(
    "review",
    short_help="decide one difference after another, by keys",
    epilog="Example: gpuregress review reduce",
)
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--run", "run_name", metavar="RUN", help="Of this run instead of the last one.")
@click.option("-m", "--message", default="", metavar="WHY", help="Why; kept with what is accepted or rejected.")
@context.unwritten_option
@context.json_option
@click.pass_context
def review_command(
    ctx: click.Context, /, cases: tuple[str, ...], run_name: str | None, message: str, unwritten_ok: str, as_json: bool
) -> int:
    """Show each case of the last run that differs or is new, and take a single key for it.

    a accepts it, r rejects it, s skips it, d shows all that is known of it, m asks for the message that is kept with
    what is decided from then on, q ends. An output of which nothing was written is refused, as by `accept`. Where
    there is no terminal, the cases are listed with the exact commands.
    Exits with 1 while something is left undecided, 5 where there is nothing to decide.
    """
    from gpuregress.session import accepting

    project = context.find_project(ctx)
    pending = accepting.pending(project, cases, run=run_name)
    if as_json:
        from gpuregress.report import json_report

        entries = [json_report.case_document(verdict) for verdict in pending.verdicts]
        context.print_json(json_report.finite({"version": 1, "run": pending.run, "cases": entries}))
        return 1
    if not context.is_interactive():
        _list(pending)
        return 1
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
        console.say()
        console.say_spans([(f"{number} of {len(pending.verdicts)}  ", None), *_head(verdict)])
        if verdict.reason:
            console.say(f"  {verdict.reason}")
        while (key := _key()) in ("d", "m"):
            if key == "d":
                _show_details(verdict, project.root)
            else:
                message = click.prompt("message", default=message, value_proc=context.message)
        if key == "q":
            return 1
        if key == "s":
            undecided += 1
        elif key == "a":
            undecided += not _accept(project, pending.run, verdict, message, unwritten_ok)
        else:
            _reject(project, pending.run, verdict, message)
    return 1 if undecided else 0


def _head(verdict: Verdict) -> tuple[tuple[str, str | None], ...]:
    from gpuregress.report import terminal

    was = f", was {verdict.baseline_revision}" if verdict.baseline_revision else ""
    coloured = f"{verdict.status} {verdict.case}", terminal.colour(verdict.status)
    return coloured, (f"  revision {verdict.revision}{was}", None)


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
    from gpuregress.report import terminal

    for line in terminal.details(verdict, root) or ["there is no baseline to compare with"]:
        console.say(f"  {line}")


def _accept(project: Project, run: str, verdict: Verdict, message: str, unwritten_ok: str) -> bool:
    """Accept a case; False where it is refused, with a message."""
    from gpuregress.foundation.errors import BaselineError
    from gpuregress.session import accepting

    try:
        terms = accepting.Terms(message, unwritten_ok=unwritten_ok)
        done = accepting.accept(project, (verdict.case,), terms, run=run)
    except BaselineError as error:
        console.say(f"  {error}")
        return False
    console.say(f"  accepted at revision {verdict.revision}")
    for remark in done.accepted[0].remarks:
        console.say(f"  {remark}")
    return True


def _reject(project: Project, run: str, verdict: Verdict, message: str) -> None:
    from gpuregress.session import accepting

    accepting.reject(project, (verdict.case,), run=run, why=message)
    console.say("  rejected: the baseline stays")


@click.command(
    "blame",
    short_help="who accepted a case's baseline, when, why, from which run",
    epilog="Example: gpuregress blame reduce/n=1000,tile=128",
)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@context.json_option
@click.pass_context
def blame_command(ctx: click.Context, /, cases: tuple[str, ...], as_json: bool) -> int:
    """Show every accept of the CASEs (names, or jobs for all their cases), the newest first.

    Exits with 5 where nothing was ever accepted.
    """
    from gpuregress.foundation.errors import NothingToDo
    from gpuregress.foundation.records import to_json
    from gpuregress.store import baselines

    store = baselines.BaselineStore.of(context.find_project(ctx))
    names = [name for name in store.case_names() if any(one in (name, name.partition("/")[0]) for one in cases)]
    if not names:
        raise NothingToDo(f"nothing was ever accepted of {', '.join(cases)}: `gpuregress list` shows all cases")
    histories_of = {name: store.histories(name) for name in names}
    if as_json:
        flat = [(name, kind, events) for name, histories in histories_of.items() for kind, events in histories.items()]
        context.print_json([{"case": name, "for": kind, "accepts": to_json(events)} for name, kind, events in flat])
        return 0
    for name, histories in histories_of.items():
        for kind, events in histories.items():
            console.say(f"{name}{f' for {kind}' if kind else ''}")
            for event in reversed(events):
                console.say(f"  {_line(event)}")
    return 0


def _line(event: Acceptance) -> str:
    """`2026-11-20T02:00:00Z  ada  1.4  from 20261120T020000Z-3f2a  sum in pairs: smaller error`."""
    run = f"from {event.run}" if event.run else "from no run"
    unwritten = f"unwritten: {event.unwritten_ok}" if event.unwritten_ok else ""
    parts = (event.when, event.who or "?", event.revision, run, event.why, unwritten)
    return one_line("  ".join(part for part in parts if part))


@click.command(
    "calibrate",
    short_help="propose the tightest rules that hold, with the evidence",
    epilog="Example: gpuregress calibrate dot --repeat 20",
)
@click.argument("case")
@click.option(
    "--repeat",
    type=click.IntRange(2, values.MOST_REPEATS),
    default=20,
    show_default=True,
    metavar="N",
    help="Runs on each device.",
)
@click.option(
    "--device", "devices", multiple=True, metavar="cpu|cuda[:N]", help="Where; can be repeated.  [default: all]"
)
@context.json_option
@click.pass_context
def calibrate_command(ctx: click.Context, /, case: str, repeat: int, devices: tuple[str, ...], as_json: bool) -> int:
    """Run a CASE (or every case of a job) many times on every device of this machine, and print rules as YAML.

    For each buffer: every bit equal if all results are, else `order: any` if values only move, else ULPs, else a
    tolerance. The results are compared with one another and with the accepted baseline; a bound is twice the largest
    error seen. Exits with 1 where no rule holds for some buffer.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.records import to_json
    from gpuregress.lab import calibrate

    with progress.transient() as listen:
        done = calibrate.calibrate(context.find_project(ctx), case, repeat=repeat, devices=devices, listen=listen)
    if as_json:
        context.print_json(to_json(done))
    else:
        for line in done.yaml():
            console.say(line)
    return 0 if all(proposal.holds for proposal in done.proposals) else 1
