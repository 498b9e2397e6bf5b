"""Commands on jobs: `list`, `show`, `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import field

from gpuregress.cli import console, context, progress, shared_options
from gpuregress.cli.errors import say_job_errors
from gpuregress.execution import device_registry
from gpuregress.foundation.errors import (
    BaselineError,
    CompileError,
    DeviceError,
    GpuregressError,
    InfeasibleSource,
    JobError,
    JobErrors,
    UnknownNames,
    UnsupportedError,
    UsageError,
)
from gpuregress.foundation.records import Case, Program, to_json
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.jobs.plan.explain import explain
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.report.layout import table
from gpuregress.session import checking
from gpuregress.session.compilation import Built, CasePrograms, compile_cases, compile_source
from gpuregress.store import baselines
from gpuregress.store.baselines import BaselineStore
from gpuregress.toolchain import compiler_messages, nvrtc

_MOST_NAMES = 8


class ListedCase(Record):
    """A case with what is accepted of it.

    Attributes:
        case: the case.
        accepted: the accepted revision; "" without a baseline, `damaged` where it cannot be read.
        others: architecture or device → the revision accepted for it only.
        damage: why the baseline cannot be read; "" where it can.
    """

    case: Case
    accepted: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    damage: str = ""

    @property
    def row(self) -> tuple[str, str, str, str]:
        """A row of the table."""
        accepted = [self.accepted or "-", *(f"{kind}: {revision}" for kind, revision in self.others.items())]
        remarks = list(self.case.tags)
        known = self.case.settings.known_failing
        if self.case.settings.refused:
            remarks.append(f"infeasible: {self.case.settings.refused}")
        if known:
            remarks.append(f"known failing until {known.until}: {known.failure}")
        return self.case.name, self.case.revision, ", ".join(accepted), " ".join(remarks)

    @property
    def document(self) -> dict[str, Any]:
        """The case as plain JSON values."""
        document: dict[str, Any] = {
            "job": self.case.job,
            "case": self.case.name,
            "path": self.case.path,
            "revision": self.case.revision,
            "baseline_revision": self.accepted,
            "own_baselines": dict(self.others),
            "damaged": self.damage,
            "tags": list(self.case.tags),
            "devices": list(self.case.devices),
        }
        if self.case.settings.refused:
            document["infeasible"] = self.case.settings.refused
        if self.case.settings.known_failing:
            document["known_failing"] = self.case.settings.known_failing.until
        return document


@click.command("list", epilog="Example: gpuregress list reduce --json")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@shared_options.name_option
@shared_options.tag_option
@shared_options.json_option
@click.pass_context
def list_command(
    ctx: click.Context, /, jobs: tuple[str, ...], name_glob: str | None, tags: tuple[str, ...], as_json: bool
) -> int:
    """List the cases of the JOBs, all of configs/ if none: name, revision of the source, accepted revision, tags."""
    project = context.find_project(ctx, jobs)
    planned = plan.make(project, jobs, plan.CaseFilter(name_glob, tags))
    store = baselines.BaselineStore.of(project)
    listed = [_listed(store, case) for case in planned.cases]
    damages = [entry.damage for entry in listed if entry.damage]
    code = BaselineError.exit_code if damages else 0
    if as_json:
        context.print_json([entry.document for entry in listed])
        return code
    console.say_lines(table(("case", "revision", "accepted", "tags"), [entry.row for entry in listed]))
    for damage in damages:
        console.say(f"gpuregress: {damage}", err=True)
    console.say_notes(planned.notes)
    if not (jobs or name_glob or tags):
        planned_names = {case.name for case in planned.cases}
        for name in store.case_names():
            if name not in planned_names:
                advice = "(`gpuregress accept --prune` removes it)"
                console.say(f"note: the baseline {name} has no case any more {advice}", err=True)
    return code


def _listed(store: BaselineStore, case: Case) -> ListedCase:
    try:
        accepted = store.load(case.name)
        histories = store.histories(case.name)
    except BaselineError as error:
        return ListedCase(case, "damaged", damage=str(error))
    others = {}
    for kind, events in histories.items():
        if kind and events:
            others[kind] = events[-1].revision
    return ListedCase(case, accepted.revision if accepted else "", others)


@click.command("show", epilog="Example: gpuregress show reduce/n=1000,tile=128")
@click.argument("case")
@shared_options.set_option
@click.option("--ptx", is_flag=True, help="Compile it and print the PTX instead.")
@click.option("--source", "source_text", is_flag=True, help="Print the source as it is compiled: without host code.")
@click.option("--llvm", is_flag=True, help="Compile it and print the LLVM IR that the cpu device makes of its kernels.")
@shared_options.json_option
@click.pass_context
def show_command(
    ctx: click.Context,
    /,
    case: str,
    overrides: tuple[str, ...],
    ptx: bool,
    source_text: bool,
    llvm: bool,
    as_json: bool,
) -> int:
    """Show the plan of a CASE: source, buffers with sizes and seeds, launches, rules, limits. Runs nothing.

    A kernel in Python is compiled, because its compiler fills in the launch.
    """
    project = context.find_project(ctx)
    shown = plan.make(project, (case,), overrides=plan.CaseOverrides(parameters=of_texts(overrides)))
    if overrides:
        console.say_notes(shown.notes)
    cases = shown.cases
    if len(cases) > 1:
        names = ", ".join(candidate.name for candidate in cases[:_MOST_NAMES])
        more = ", …" if len(cases) > _MOST_NAMES else ""
        raise UsageError(f"{case!r} is {len(cases)} cases; name one: {names}{more}")
    planned = cases[0]
    if planned.program is not None and (ptx or source_text or llvm):
        raise UsageError(f"{planned.name} runs a whole program: it has no kernel source of its own")
    if ptx:
        texts = [_read_ptx(program) for program in _programs(planned)]
        console.say_document(_join_texts(planned, texts, "//"))
    elif source_text:
        texts = [nvrtc.compiled_text(source) for source in planned.sources]
        console.say_document(_join_texts(planned, texts, "//"))
    elif llvm:
        lack = device_registry.cpu_lack("--llvm")
        if lack:
            raise DeviceError(lack)
        texts = [_llvm(program) for program in _programs(planned)]
        console.say_document(_join_texts(planned, texts, ";"))
    elif as_json:
        context.print_json(to_json(planned))
    else:
        completed, trouble = _completed(planned)
        console.say_lines(explain(completed))
        if trouble:
            console.say(f"note: the kernel is not compiled, and its compiler decides the launch: {trouble}", err=True)
    return 0


def _completed(case: Case) -> tuple[Case, str]:
    """A case with what the compiler of a kernel in Python fills in; or why it is not known."""
    trusted = {}
    for name, kernel in case.reference_kernels.items():
        if kernel.source.python:
            trusted[name] = kernel.source
    if not trusted and all(source.python is None for source in case.sources):
        return case, ""
    try:
        references = {name: compile_source(source) for name, source in trusted.items()}
        return plan.completed(case, _programs(case), references), ""
    except GpuregressError as error:
        return case, str(error)


def _programs(case: Case) -> list[Program]:
    return [compile_source(source) for source in case.sources]


def _read_ptx(program: Program) -> str:
    return Path(program.ptx).read_text(encoding="utf-8")


def _llvm(program: Program) -> str:
    from gpuregress.virtual_gpu.compilation import translate  # noqa: PLC0415 - loads LLVM, which is an extra

    kernels = [entry.mangled for entry in program.entries.values()]
    return translate.llvm_text(_read_ptx(program), kernels, program.library_files)


def _join_texts(case: Case, texts: list[str], comment: str) -> str:
    """The texts of a case's sources; of several, each under its name."""
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{comment} {name}\n{text}" for name, text in zip(case.source_names, texts, strict=True))


@click.command("check", epilog="Example: gpuregress check configs/reduce.yaml")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--no-compile", is_flag=True, help="Do not compile the sources to check the arguments.")
@shared_options.json_option
@click.pass_context
def check_command(ctx: click.Context, /, jobs: tuple[str, ...], no_compile: bool, as_json: bool) -> int:
    """Check the JOBs, all of configs/ if none, and report every error with file, line, key, and what is expected.

    Compiles the sources, too, and checks each launch's arguments against the kernel's own signature. Exits with 0 when
    all is well, 2 when a job is wrong, 3 when a source does not compile.
    """
    project = context.find_project(ctx, jobs)
    planned = plan.make(project, jobs, keep_going=True)
    wrong = [error for job in planned.broken for error in job.errors]
    failures: dict[str, str] = {}
    refused: dict[str, str] = {}
    if planned.cases and not no_compile:
        compiled = _compile(planned.cases)
        wrong += compiled.errors
        failures, refused = compiled.failures, compiled.refused
    if wrong:
        if as_json:
            errors = [*map(_error_document, wrong), *_failure_documents(failures)]
            context.print_json({"jobs": 0, "cases": 0, "errors": errors})
        else:
            say_job_errors(dict.fromkeys(wrong))
            for text in failures.values():
                console.say(f"gpuregress: {text}", err=True)
        return CompileError.exit_code if failures else JobErrors.exit_code
    for case in planned.cases:
        if case.settings.refused:
            refused[case.name] = case.settings.refused
    console.say_notes(planned.notes)
    job_count = len({case.job for case in planned.cases})
    if as_json:
        errors = _failure_documents(failures)
        document: dict[str, Any] = {"jobs": job_count, "cases": len(planned.cases), "errors": errors}
        if refused:
            document["infeasible"] = refused
        context.print_json(document)
        return CompileError.exit_code if failures else 0
    for text in failures.values():
        console.say(f"gpuregress: {text}", err=True)
    if failures:
        return CompileError.exit_code
    skipped = f", {len(refused)} of them infeasible" if refused else ""
    counts = f"{plural(job_count, 'job')}, {plural(len(planned.cases), 'case')}"
    console.say(f"{counts}{skipped}: no errors")
    return 0


class CheckedCases(Record):
    """What came of compiling the cases of a check.

    Attributes:
        errors: names and arguments that do not fit their kernels.
        failures: source → the error of one that does not compile.
        refused: case → why it is infeasible, where its job skips it.
    """

    errors: tuple[JobError, ...]
    failures: dict[str, str]
    refused: dict[str, str]


def _compile(cases: Sequence[Case]) -> CheckedCases:
    """Compile the cases and check their arguments."""
    cases = [case for case in cases if case.settings.refused is None]
    with progress.transient() as listen:
        compiled = compile_cases(cases, listen)
    errors: dict[JobError, None] = {}
    for case in cases:
        errors |= dict.fromkeys(checking.contradictions(case, compiled[case.name]))
    console.say_notes(checking.untyped([case for case in cases if case.name in compiled], compiled))
    by_name = {case.name: case for case in cases}
    failures: dict[str, str] = {}
    refused: dict[str, str] = {}
    for name, error in compiled.items():
        if isinstance(error, CasePrograms | UnknownNames):
            continue
        if isinstance(error, InfeasibleSource) and by_name[name].settings.infeasible:
            refused[name] = str(error).partition("\n")[0]
        elif isinstance(error, CompileError):
            failures[_failing_path(by_name[name], str(error))] = str(error)
        else:  # no compiler here: the jobs themselves are well
            console.say(f"note: the sources were not compiled: {error}", err=True)
            break
    return CheckedCases(tuple(errors), failures | _untranslated(cases, compiled), refused)


def _untranslated(cases: Sequence[Case], compiled: Mapping[str, Built]) -> dict[str, str]:
    """PTX source → why the CPU device cannot run it, where a case may run there."""
    programs: dict[tuple[str, tuple[str, ...]], Program] = {}
    for case in cases:
        built = compiled[case.name]
        if not isinstance(built, CasePrograms) or "cpu" not in (case.settings.on or ("cpu",)):
            continue
        for source, program in zip(case.sources, built.programs, strict=True):
            if Path(source.path).suffix == ".ptx":
                kernels = tuple(program.entries[name].mangled for name in source.kernels)
                programs[source.path, kernels] = program
    failures: dict[str, str] = {}
    lack = device_registry.cpu_lack("the check that the CPU device can run PTX sources")
    if lack and programs:
        console.say(f"note: {lack}", err=True)
    if lack or not programs:
        return failures
    from gpuregress.virtual_gpu.compilation import translate  # noqa: PLC0415 - as in `_llvm`

    for (path, kernels), program in programs.items():
        try:
            translate.check_ptx(_read_ptx(program), kernels, program.library_files)
        except (CompileError, UnsupportedError) as error:
            failures[path] = compiler_messages.in_ptx_file(str(error), Path(path))
    return failures


def _failing_path(case: Case, text: str) -> str:
    """The source that an error is of: of several, the one that its first line names."""
    first_line = text.partition("\n")[0]
    for source in case.sources:
        if Path(source.path).name in first_line:
            return source.path
    return case.source.path


def _failure_documents(failures: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"path": path, "line": None, "key": "source", "message": text} for path, text in failures.items()]


def _error_document(error: JobError) -> dict[str, Any]:
    return {"path": str(error.path), "line": error.line, "key": error.key, "message": error.message}
