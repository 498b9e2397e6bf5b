"""Source of a job: its file, its compilation, and the revision of its dumps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuregress import records, revision, storage, toolchain
from gpuregress.document.problems import Problems
from gpuregress.document.reader import Key
from gpuregress.project import Project
from gpuregress.revision import Labels
from gpuregress.spec import templates
from gpuregress.spec.load import JobFile
from gpuregress.spec.models.compilation import CompileSpec
from gpuregress.spec.models.job import JobSpec
from gpuregress.spec.resolve import paths
from gpuregress.spec.resolve.compilation import CompileSettings, compile_settings
from gpuregress.spec.resolve.scope import Scope
from gpuregress.toolchain import cxx_declarations, include_scanner

SUFFIXES = (*include_scanner.SUFFIXES, ".ptx", ".cubin")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts of a source that the cases of a job share.

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


class JobSources:
    """The sources of a job: one, unless `source` or its compilation depends on a parameter.

    Args:
        file: the job.
        job_name: whose dumps may already carry a label.
        project: where they are.
        problems: collects the errors.
        labels: those of this planning.
    """

    def __init__(self, file: JobFile, job_name: str, project: Project, problems: Problems, labels: Labels) -> None:
        self._file, self._job_name, self._project, self._labels = file, job_name, project, labels
        self._problems = problems
        self._known: dict[tuple[object, ...], SourceFacts | None] = {}

    @property
    def known(self) -> tuple[SourceFacts, ...]:
        """The distinct sources so far."""
        return tuple(facts for facts in self._known.values() if facts is not None)

    def facts(self, scope: Scope) -> SourceFacts | None:
        """Locate the source of a case; None if it is invalid, which is reported.

        Args:
            scope: the case's values.
        """
        job = self._file.job
        if self._file.is_broken("source"):
            return None
        source = scope.text(job.source, ("source",))
        settings = compile_settings(scope, job.compile, ("compile",))
        if settings is None and source is not None:  # its file and folders may be wrong, too
            self._located(source, _folders_only(scope, job), {})
        if source is None or settings is None:
            return None
        telling = {name: text for name, text in settings.defines.items() if include_scanner.is_telling(text)}
        key = (source, settings.options, settings.include, tuple(telling.items()))
        if key not in self._known:
            self._known[key] = self._located(source, settings, telling)
        return self._known[key]

    def facts_without_parameters(self) -> SourceFacts | None:
        """Locate the source of a job whose parameters are wrong, to report what else is; None if it depends on them."""
        job, scope = self._file.job, Scope({}, self._problems)
        if templates.is_template(job.source) or self._file.is_broken("source"):
            return None
        plain = {"options": job.compile.options, "include": job.compile.include}
        settings = compile_settings(scope, CompileSpec.model_validate(plain), ("compile",))
        return self._located(job.source, settings or _folders_only(scope, job), {})

    def _located(self, source: str, settings: CompileSettings, telling: Mapping[str, str]) -> SourceFacts | None:
        job, problems = self._file.job, self._problems
        path = paths.existing(problems, ("source",), source, "source")
        if path is not None and path.suffix not in SUFFIXES:
            problems.add(("source",), f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin")
            path = None
        _check_effect(self._file, problems, path)
        folders = _folders(problems, settings, ("compile",))
        wrong = revision.problem(job.revision) if job.revision != "auto" else None
        if wrong:
            problems.add(("revision",), wrong)
        if path is None or wrong:
            return None
        return self._labelled(path, folders, settings, telling)

    def _labelled(
        self, path: Path, include: tuple[Path, ...], settings: CompileSettings, telling: Mapping[str, str]
    ) -> SourceFacts | None:
        job, project = self._file.job, self._project
        probe = records.Source(str(path), settings.options, tuple(str(folder) for folder in include), telling)
        try:
            inputs = toolchain.inputs(probe)
            label = self._labels.of(path, inputs) if job.revision == "auto" else job.revision
        except OSError as error:
            text = f"{error.filename or path} cannot be read: {error.strerror or error}"
            self._problems.add(("source",), text)
            return None
        if inputs.unknown:  # the program decides, once it is compiled: see `of_program`
            return SourceFacts(path, include, inputs.digest, label, None)

        def recorded(text: str) -> Collection[str]:
            return revision.recorded(project.baselines, project.runs, self._job_name, text)

        name, note = revision.resolve(label, inputs.digest, recorded)
        if note and inputs.digest in revision.accepted(project.baselines, self._job_name, name):
            note = None  # known since the accept: a nightly run does not repeat it
        return SourceFacts(path, include, inputs.digest, name, f"{self._job_name}: {note}" if note else None)


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


def _check_effect(file: JobFile, problems: Problems, path: Path | None) -> None:
    """Report settings of the compilation of a source that is not compiled."""
    if path is None or path.suffix in include_scanner.SUFFIXES:
        return
    for name in ("options", "include", "defines", "arch"):
        if name in file.job.compile.model_fields_set and not file.is_broken("compile"):
            problems.add(("compile", name), f"has no effect: {path.name} is taken as it is, not compiled")


def source(
    file: JobFile,
    known: SourceFacts,
    scope: Scope,
    launches: tuple[records.Launch, ...],
    buffers: Mapping[str, records.Buffer],
) -> records.Source | None:
    """Return the source as a case compiles it; None if its compilation is invalid, which is reported.

    Args:
        file: the job.
        known: from `JobSources.facts`.
        scope: the case's values.
        launches: the case's.
        buffers: the case's.
    """
    settings = compile_settings(scope, file.job.compile, ("compile",))
    if settings is None:
        return None
    compiled = _compiled(known.path, known.include, settings, launches, _symbols(buffers))
    return dataclasses.replace(compiled, digest=known.digest)


def of_reference(
    file: JobFile,
    known: SourceFacts,
    scope: Scope,
    launches: tuple[records.Launch, ...],
    buffers: Mapping[str, records.Buffer],
    name: str,
) -> records.Source | None:
    """Return the source of a reference's kernels; None if it does not exist, which is reported.

    Args:
        file: the job.
        known: the case's own source, from `JobSources.facts`.
        scope: the case's values.
        launches: the reference's.
        buffers: the case's.
        name: of the buffer.
    """
    item = file.job.reference[name]
    own_key: Key = ("reference", name)
    path = known.path if item.source is None else _reference_path(scope, (*own_key, "source"), item.source)
    given = item.compile or file.job.compile
    key: Key = ("compile",) if item.compile is None else (*own_key, "compile")
    settings = compile_settings(scope, given, key)
    if path is None or settings is None:
        return None
    include = known.include if item.compile is None else _folders(scope.problems, settings, key)
    symbols = _symbols(buffers)
    if path != known.path:
        declared = cxx_declarations.variable_names(path.read_text(encoding="utf-8", errors="replace"))
        symbols = tuple(symbol for symbol in symbols if symbol.rpartition("::")[2] in declared)
    compiled = _compiled(path, include, settings, launches, symbols)
    is_own = path == known.path and item.compile is None
    return dataclasses.replace(compiled, digest=known.digest) if is_own else compiled


def _folders_only(scope: Scope, job: JobSpec) -> CompileSettings:
    folders = (scope.text(text, ("compile", "include", at)) for at, text in enumerate(job.compile.include))
    return CompileSettings((), tuple(text for text in folders if text is not None), {}, "pinned", "")


def _reference_path(scope: Scope, key: Key, text: str) -> Path | None:
    filled = scope.text(text, key)
    path = None if filled is None else paths.existing(scope.problems, key, filled, "source")
    if path is not None and path.suffix not in SUFFIXES:
        scope.problems.add(key, f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin")
        return None
    return path


def _symbols(buffers: Mapping[str, records.Buffer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(buffer.symbol for buffer in buffers.values() if buffer.symbol))


def _folders(problems: Problems, settings: CompileSettings, key: Key) -> tuple[Path, ...]:
    """Locate the include folders; those that do not exist are reported."""
    folders = [paths.existing_folder(problems, (*key, "include", at), text) for at, text in enumerate(settings.include)]
    return tuple(folder for folder in folders if folder is not None)


def _compiled(
    path: Path,
    include: tuple[Path, ...],
    settings: CompileSettings,
    launches: tuple[records.Launch, ...],
    symbols: tuple[str, ...],
) -> records.Source:
    return records.Source(
        path=str(path),
        options=settings.options,
        include=tuple(str(folder) for folder in include),
        defines=settings.defines,
        contract=settings.contract,
        arch=settings.arch,
        kernels=tuple(dict.fromkeys(launch.kernel for launch in launches)),
        symbols=symbols,
    )
