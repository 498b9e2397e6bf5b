"""Command `gpuregress check`."""

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


@click.command(
    "check",
    short_help="every error of every job at once; runs nothing",
    epilog="Example: gpuregress check configs/reduce.yaml",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--no-compile", is_flag=True, help="Do not compile the sources to check the arguments.")
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, jobs: tuple[str, ...], no_compile: bool, as_json: bool) -> int:
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
