"""Command `gpuregress accept`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.foundation.records import Case
    from gpuregress.session.runs.results import FinishedCase


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
def command(
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
    confirm = _accept_silently if everything else _ask if can_ask else _demand(message)
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


def _ask(differing: Sequence[FinishedCase]) -> None:
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
