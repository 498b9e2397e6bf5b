"""Source of a job: its file, its compilation, and the revision of its dumps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from gpuregress import records, revision, storage, toolchain
from gpuregress.document.problems import Problems
from gpuregress.document.reader import Key
from gpuregress.project import Project
from gpuregress.revision import Labels
from gpuregress.spec.load import JobFile
from gpuregress.spec.models.compilation import CompileSpec, PlainTextSpec
from gpuregress.spec.models.job import JobSpec
from gpuregress.spec.resolve import paths
from gpuregress.spec.resolve.scope import Scope
from gpuregress.toolchain import cxx_declarations, include_scanner

SUFFIXES = (*include_scanner.SUFFIXES, ".ptx", ".cubin")
_OWNED = {
    "-arch": "compile.arch",
    "--gpu-architecture": "compile.arch",
    "-I": "compile.include",
    "--include-path": "compile.include",
    "-D": "compile.defines",
    "--define-macro": "compile.defines",
}


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts of a source that all cases of a job share.

    Attributes:
        path: the source, absolute.
        include: folders, absolute.
        digest: of the source and all it includes.
        revision: the label of its dumps.
        note: a message for the user, or None.
    """

    path: Path
    include: tuple[Path, ...]
    digest: str
    revision: str
    note: str | None


def facts(file: JobFile, job_name: str, project: Project, problems: Problems, labels: Labels) -> SourceFacts | None:
    """Locate a job's source; None if it is invalid, which is reported.

    Args:
        file: the job.
        job_name: whose dumps may already carry the label.
        project: where they are.
        problems: collects the errors.
        labels: those of this planning.
    """
    job = file.job
    if file.is_broken("source"):
        return None
    path = paths.existing(problems, ("source",), job.source, "source")
    if path is not None and path.suffix not in SUFFIXES:
        problems.add(("source",), f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin")
        path = None
    _check_options(file, problems, path)
    include = [
        paths.existing_folder(problems, ("compile", "include", at), text) for at, text in enumerate(job.compile.include)
    ]
    folders = tuple(folder for folder in include if folder is not None)
    wrong = revision.problem(job.revision) if job.revision != "auto" else None
    if wrong:
        problems.add(("revision",), wrong)
    if path is None or wrong:
        return None
    return _labelled(job, path, folders, project, job_name, problems, labels)


def _labelled(
    job: JobSpec,
    path: Path,
    include: tuple[Path, ...],
    project: Project,
    job_name: str,
    problems: Problems,
    labels: Labels,
) -> SourceFacts | None:
    texts = {name: value.text for name, value in job.compile.defines.items() if isinstance(value, PlainTextSpec)}
    probe = records.Source(str(path), tuple(job.compile.options), tuple(str(folder) for folder in include), texts)
    try:
        inputs = toolchain.inputs(probe)
        label = labels.of(path, inputs) if job.revision == "auto" else job.revision
    except OSError as error:
        problems.add(("source",), f"{error.filename or path} cannot be read: {error.strerror or error}")
        return None
    if inputs.unknown:  # the program decides, once it is compiled: see `of_program`
        return SourceFacts(path, include, inputs.digest, label, None)

    def recorded(text: str) -> Collection[str]:
        return revision.recorded(project.baselines, project.runs, job_name, text)

    name, note = revision.resolve(label, inputs.digest, recorded)
    if note and inputs.digest in revision.accepted(project.baselines, job_name, name):
        note = None  # known since the accept: a nightly run does not repeat it
    return SourceFacts(path, include, inputs.digest, name, f"{job_name}: {note}" if note else None)


def of_program(
    case: records.Case, program: records.Program, recorded: Callable[[str, str], Collection[str]]
) -> tuple[records.Case, str | None]:
    """Return a case with the revision of its compiled program, and a note for the user.

    Where the source's text does not tell all that it reads, what it was compiled to does. Else the case is as planned.

    Args:
        case: as planned.
        program: its compiled source.
        recorded: job, label → the digests of the sources that were recorded under it before this run.
    """
    if not program.unknown:
        return case, None
    ptx = storage.read_bytes(Path(program.ptx))
    label, digest = revision.of_program(case.revision, case.source_digest, (*program.options, ptx))
    name, note = revision.resolve(label, digest, lambda text: recorded(case.job, text))
    return dataclasses.replace(case, revision=name, source_digest=digest), f"{case.job}: {note}" if note else None


def _check_options(file: JobFile, problems: Problems, path: Path | None) -> None:
    given = file.job.compile
    for position, option in enumerate(given.options):
        key = ("compile", "options", position)
        owner = next((key for flag, key in _OWNED.items() if _is_flag(option, flag)), None)
        if not option.startswith("-"):
            problems.add(key, f"invalid option {option!r}: it must begin with -")
        elif owner:
            problems.add(key, f"{option!r} is set by gpuregress: use {owner}")
    if path is not None and path.suffix not in include_scanner.SUFFIXES:
        for name in ("options", "include", "defines", "arch"):
            if name in given.model_fields_set and not file.is_broken("compile"):
                problems.add(("compile", name), f"has no effect: {path.name} is taken as it is, not compiled")


def _is_flag(option: str, flag: str) -> bool:
    return option == flag or option.startswith(f"{flag}=") or (len(flag) == 2 and option.startswith(flag))


def source(file: JobFile, known: SourceFacts, scope: Scope, launches: tuple[records.Launch, ...]) -> records.Source:
    """Return the source as a case compiles it.

    Args:
        file: the job.
        known: from `facts`.
        scope: the case's numbers.
        launches: the case's.
    """
    job = file.job
    symbols = tuple(dict.fromkeys(buffer.symbol for buffer in job.buffers.values() if buffer.symbol))
    compiled = _compiled(known.path, known.include, job.compile, scope, launches, symbols, ("compile",))
    return dataclasses.replace(compiled, digest=known.digest)


def of_reference(
    file: JobFile, known: SourceFacts, scope: Scope, launches: tuple[records.Launch, ...], name: str
) -> records.Source | None:
    """Return the source of a reference's kernels; None if it does not exist, which is reported.

    Args:
        file: the job.
        known: the job's own source, from `facts`.
        scope: the case's numbers.
        launches: the reference's.
        name: of the buffer.
    """
    job = file.job
    item = job.reference[name]
    own_key: Key = ("reference", name)
    path = known.path if item.source is None else _reference_path(scope.problems, (*own_key, "source"), item.source)
    include, given = known.include, job.compile
    key: Key = ("compile",)
    if item.compile is not None:
        given, key = item.compile, (*own_key, "compile")
        folders = [
            paths.existing_folder(scope.problems, (*key, "include", at), text) for at, text in enumerate(given.include)
        ]
        include = tuple(folder for folder in folders if folder is not None)
    if path is None:
        return None
    symbols = tuple(dict.fromkeys(buffer.symbol for buffer in job.buffers.values() if buffer.symbol))
    if path != known.path:
        declared = cxx_declarations.variable_names(path.read_text(encoding="utf-8", errors="replace"))
        symbols = tuple(symbol for symbol in symbols if symbol.rpartition("::")[2] in declared)
    compiled = _compiled(path, include, given, scope, launches, symbols, key)
    is_own = path == known.path and item.compile is None
    return dataclasses.replace(compiled, digest=known.digest) if is_own else compiled


def _reference_path(problems: Problems, key: Key, text: str) -> Path | None:
    path = paths.existing(problems, key, text, "source")
    if path is not None and path.suffix not in SUFFIXES:
        problems.add(key, f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin")
        return None
    return path


def _compiled(
    path: Path,
    include: tuple[Path, ...],
    given: CompileSpec,
    scope: Scope,
    launches: tuple[records.Launch, ...],
    symbols: tuple[str, ...],
    key: Key,
) -> records.Source:
    return records.Source(
        path=str(path),
        options=tuple(given.options),
        include=tuple(str(folder) for folder in include),
        defines=dict(_defines(given.defines, scope, key)),
        contract=given.contract,
        arch=given.arch,
        kernels=tuple(dict.fromkeys(launch.kernel for launch in launches)),
        symbols=symbols,
    )


def _defines(given: dict[str, int | float | str | PlainTextSpec], scope: Scope, key: Key) -> list[tuple[str, str]]:
    macros = []
    for name, value in given.items():
        if isinstance(value, PlainTextSpec):
            macros.append((name, value.text))
            continue
        number = scope.number(value, (*key, "defines", name))
        macros.append((name, str(int(number)) if isinstance(number, bool) else repr(number)))
    return macros
