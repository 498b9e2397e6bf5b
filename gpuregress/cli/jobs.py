"""Commands on jobs: `list`, `show`, `check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuregress.foundation.errors import JobError
    from gpuregress.foundation.records import Case, Program
    from gpuregress.session.compilation import Built
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
def list_command(
    ctx: click.Context, /, jobs: tuple[str, ...], name_glob: str | None, tags: tuple[str, ...], as_json: bool
) -> int:
    """List the cases of the JOBs, all of configs/ if none: name, revision of the source, accepted revision, tags."""
    from gpuregress.foundation.errors import BaselineError
    from gpuregress.jobs import plan
    from gpuregress.report.layout import table
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


@click.command(
    "show",
    short_help="one case's plan with every number worked out",
    epilog="Example: gpuregress show reduce/n=1000,tile=128",
)
@click.argument("case")
@click.option("--ptx", is_flag=True, help="Compile it and print the PTX instead.")
@click.option("--source", "source_text", is_flag=True, help="Print the source as it is compiled: without host code.")
@click.option("--llvm", is_flag=True, help="Compile it and print the LLVM IR that the cpu device makes of its kernels.")
@context.json_option
@click.pass_context
def show_command(ctx: click.Context, /, case: str, ptx: bool, source_text: bool, llvm: bool, as_json: bool) -> int:
    """Show the plan of a CASE: source, buffers with sizes and seeds, launches, rules, limits. Runs nothing.

    A kernel in Python is compiled, because its compiler fills in the launch.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.foundation.records import to_json
    from gpuregress.jobs import plan

    project = context.find_project(ctx)
    cases = plan.make(project, (case,)).cases
    if len(cases) > 1:
        names = ", ".join(one.name for one in cases[:8])
        raise UsageError(f"{case!r} is {len(cases)} cases; say which: {names}{', …' if len(cases) > 8 else ''}")
    if ptx:
        console.say_document(_ptx(cases[0]))
    elif source_text:
        console.say_document(_source(cases[0]))
    elif llvm:
        console.say_document(_llvm(cases[0]))
    elif as_json:
        context.print_json(to_json(cases[0]))
    else:
        from gpuregress.jobs.plan.explain import explain

        completed, trouble = _completed(cases[0])
        for line in explain(completed):
            console.say(line)
        if trouble:
            console.say(f"note: it is not compiled, which decides the launch: {trouble}", err=True)
    return 0


def _completed(case: Case) -> tuple[Case, str]:
    """A case with what the compiler of a kernel in Python fills in; or why it is not known."""
    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.jobs import plan
    from gpuregress.session.compilation import compile_source

    trusted = {name: kernel.source for name, kernel in case.reference_kernels.items() if kernel.source.python}
    if not trusted and all(source.python is None for source in case.sources):
        return case, ""
    try:
        references = {name: compile_source(source) for name, source in trusted.items()}
        return plan.completed(case, _programs(case), references), ""
    except GpuregressError as error:
        return case, str(error)


def _ptx(case: Case) -> str:
    """The PTX of a case's sources; of several, each under its name."""
    texts = [Path(program.ptx).read_text(encoding="utf-8") for program in _programs(case)]
    return _together(case, texts, "//")


def _source(case: Case) -> str:
    """The texts that NVRTC compiles; the project's headers that changed are under their names."""
    from gpuregress.toolchain import nvrtc

    return _together(case, [nvrtc.compiled_text(source) for source in case.sources], "//")


def _llvm(case: Case) -> str:
    from gpuregress.virtual_gpu.compilation.translate import llvm_text

    texts = []
    for program in _programs(case):
        kernels = [entry.mangled for entry in program.entries.values()]
        texts.append(llvm_text(Path(program.ptx).read_text(encoding="utf-8"), kernels, program.library_files))
    return _together(case, texts, ";")


def _programs(case: Case) -> list[Program]:
    from gpuregress.session.compilation import compile_source

    return [compile_source(source) for source in case.sources]


def _together(case: Case, texts: list[str], comment: str) -> str:
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{comment} {name}\n{text}" for name, text in zip(case.source_names, texts, strict=True))


@click.command(
    "check",
    short_help="every error of every job at once; runs nothing",
    epilog="Example: gpuregress check configs/reduce.yaml",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--no-compile", is_flag=True, help="Do not compile the sources to check the arguments.")
@context.json_option
@click.pass_context
def check_command(ctx: click.Context, /, jobs: tuple[str, ...], no_compile: bool, as_json: bool) -> int:
    """Check the JOBs, all of configs/ if none: every error with file, line, key, and what would have been right.

    Compiles the sources, too, and checks each launch's arguments against the kernel's own signature. Exits with 0 when
    all is well, 2 when a job is wrong, 3 when a source does not compile.
    """
    from gpuregress.foundation.errors import JobErrors
    from gpuregress.jobs import plan

    project = context.find_project(ctx, jobs)
    try:
        planned = plan.make(project, jobs)
        cases = planned.cases
        failures, refused = ({}, {}) if no_compile else _compile(cases)
        refused |= {case.name: case.settings.refused for case in cases if case.settings.refused}
    except JobErrors as errors:
        if not as_json:
            raise
        context.print_json({"jobs": 0, "cases": 0, "errors": [_document(error) for error in errors.errors]})
        return errors.exit_code
    for note in planned.notes:
        console.say(f"note: {note}", err=True)
    names = {case.job for case in cases}
    if as_json:
        failed = [{"path": path, "line": None, "key": "source", "message": text} for path, text in failures.items()]
        infeasible = {"infeasible": refused} if refused else {}
        context.print_json({"jobs": len(names), "cases": len(cases), "errors": failed, **infeasible})
        return 3 if failures else 0
    for text in failures.values():
        console.say(f"gpuregress: {text}", err=True)
    if failures:
        return 3
    skipped = f", {len(refused)} of them infeasible" if refused else ""
    console.say(f"{_count(len(names), 'job')}, {_count(len(cases), 'case')}{skipped}: no errors")
    return 0


def _compile(cases: Sequence[Case]) -> tuple[dict[str, str], dict[str, str]]:
    """Compile the cases and check their arguments.

    Returns:
        Source → the error of one that does not compile; and case → why it is infeasible, where its job skips it.
    """
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import CompileError, InfeasibleSource
    from gpuregress.session import checking
    from gpuregress.session.compilation import CasePrograms, compile_cases

    cases = [case for case in cases if case.settings.refused is None]
    with progress.transient() as listen:
        compiled = compile_cases(cases, listen)
    checking.check_arguments(cases, compiled)
    for remark in checking.untyped([case for case in cases if case.name in compiled], compiled):
        console.say(f"note: {remark}", err=True)
    by_name = {case.name: case for case in cases}
    failures: dict[str, str] = {}
    refused: dict[str, str] = {}
    for name, error in compiled.items():
        if isinstance(error, CasePrograms):
            continue
        if isinstance(error, InfeasibleSource) and by_name[name].settings.infeasible:
            refused[name] = str(error).partition("\n")[0]
        elif isinstance(error, CompileError):
            failures[_failing_path(by_name[name], str(error))] = str(error)
        else:  # no compiler here: the jobs themselves are well
            console.say(f"note: the sources were not compiled: {error}", err=True)
            break
    return failures | _untranslated(cases, compiled), refused


def _untranslated(cases: Sequence[Case], compiled: Mapping[str, Built]) -> dict[str, str]:
    """PTX source → why the CPU device cannot run it, where a case may run there."""
    from gpuregress.foundation.errors import CompileError, UnsupportedError
    from gpuregress.session.compilation import CasePrograms
    from gpuregress.toolchain import compiler_messages
    from gpuregress.virtual_gpu.compilation import translate

    failures: dict[str, str] = {}
    asked: dict[tuple[str, tuple[str, ...]], Program] = {}
    for case in cases:
        built = compiled[case.name]
        if isinstance(built, CasePrograms) and "cpu" in (case.settings.on or ("cpu",)):
            for source, program in zip(case.sources, built.programs, strict=True):
                kernels = tuple(program.entries[name].mangled for name in source.kernels)
                if Path(source.path).suffix == ".ptx":
                    asked[source.path, kernels] = program
    for (path, kernels), program in asked.items():
        try:
            translate.check_ptx(Path(program.ptx).read_text(encoding="utf-8"), kernels, program.library_files)
        except (CompileError, UnsupportedError) as error:
            failures[path] = compiler_messages.in_ptx_file(str(error), Path(path))
    return failures


def _failing_path(case: Any, text: str) -> str:
    """The source that an error is of: of several, the one that its first line names."""
    first = text.partition("\n")[0]
    named = (source.path for source in case.sources if Path(source.path).name in first)
    return str(next(named, case.source.path))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _document(error: JobError) -> dict[str, Any]:
    return {"path": str(error.path), "line": error.line, "key": error.key, "message": error.message}
