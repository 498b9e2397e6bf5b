"""Command `gpuregress review`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.foundation.records import Verdict
    from gpuregress.session.accepting import Pending
    from gpuregress.store.project import Project

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
def command(
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
    return _ask(project, pending, message, unwritten_ok)


def _list(pending: Pending) -> None:
    """Print three lines for each case, for a pipe."""
    for verdict in pending.verdicts:
        name = shlex.quote(verdict.case)
        console.say(f"{verdict.status:<8} {verdict.case}  {verdict.reason}")
        console.say(f"  gpuregress accept --run {pending.run} {name}")
        console.say(f"  gpuregress reject --run {pending.run} {name}")


def _ask(project: Project, pending: Pending, message: str, unwritten_ok: str) -> int:
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
