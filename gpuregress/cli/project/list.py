"""Command `gpuregress list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.foundation.records import Case
    from gpuregress.store.baselines import BaselineStore


@click.command(
    "list",
    short_help="the cases, with their revision and what is accepted",
    epilog="Example: gpuregress list reduce --json",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@context.name_option
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only jobs with this tag; can be repeated.")
@context.json_option
@click.pass_context
def command(
    ctx: click.Context, /, jobs: tuple[str, ...], name_glob: str | None, tags: tuple[str, ...], as_json: bool
) -> int:
    """List the cases of the JOBs, all of configs/ if none: name, revision of the source, accepted revision, tags."""
    from gpuregress.foundation.errors import BaselineError
    from gpuregress.jobs import plan
    from gpuregress.report.terminal import table
    from gpuregress.store import baselines

    project = context.find_project(ctx, jobs)
    planned = plan.make(project, jobs, plan.CaseFilter(name_glob, tags))
    store = baselines.BaselineStore.of(project)
    revisions: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {}
    damaged: dict[str, str] = {}
    for case in planned.cases:
        try:
            accepted = store.load(case.name)
            revisions[case.name] = accepted.revision if accepted else ""
            own[case.name] = _own_revisions(store, case.name)
        except BaselineError as error:
            revisions[case.name], own[case.name], damaged[case.name] = "damaged", {}, str(error)
    if as_json:
        context.print_json(
            [
                {
                    "job": case.job,
                    "case": case.name,
                    "path": case.path,
                    "revision": case.revision,
                    "baseline_revision": revisions[case.name],
                    "own_baselines": own[case.name],
                    "damaged": damaged.get(case.name, ""),
                    "tags": list(case.tags),
                    "devices": list(case.devices),
                    **({"infeasible": case.settings.refused} if case.settings.refused else {}),
                    **({"known_failing": case.settings.known_failing.until} if case.settings.known_failing else {}),
                }
                for case in planned.cases
            ]
        )
        return BaselineError.exit_code if damaged else 0
    shown = {
        name: ", ".join([revisions[name] or "-", *(f"{kind}: {text}" for kind, text in own[name].items())])
        for name in revisions
    }
    rows = [(case.name, case.revision, shown[case.name], _remark(case)) for case in planned.cases]
    for line in table(("case", "revision", "accepted", "tags"), rows):
        console.say(line)
    for reason in damaged.values():
        console.say(f"gpuregress: {reason}", err=True)
    for note in planned.notes:
        console.say(f"note: {note}", err=True)
    if not (jobs or name_glob or tags):
        here = {case.name for case in planned.cases}
        for name in store.case_names():
            if name not in here:
                advice = "(`gpuregress accept --prune` removes it)"
                console.say(f"note: the baseline {name} has no case any more {advice}", err=True)
    return BaselineError.exit_code if damaged else 0


def _remark(case: Case) -> str:
    """The tags of a case, why it is skipped, and until when its failure is known."""
    refused, known = case.settings.refused, case.settings.known_failing
    told = list(case.tags)
    if refused:
        told.append(f"infeasible: {refused}")
    if known:
        told.append(f"known failing until {known.until}: {known.failure}")
    return " ".join(told)


def _own_revisions(store: BaselineStore, case: str) -> dict[str, str]:
    """Architecture or device → the revision accepted for it only."""
    return {kind: events[-1].revision for kind, events in store.histories(case).items() if kind and events}
