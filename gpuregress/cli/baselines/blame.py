"""Command `gpuregress blame`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context
from gpuregress.foundation.escapes import one_line

if TYPE_CHECKING:
    from gpuregress.foundation.records import Acceptance


@click.command(
    "blame",
    short_help="who accepted a case's baseline, when, why, from which run",
    epilog="Example: gpuregress blame reduce/n=1000,tile=128",
)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, cases: tuple[str, ...], as_json: bool) -> int:
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
