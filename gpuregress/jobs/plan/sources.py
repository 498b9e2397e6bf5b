"""Sources of a job: their files, their compilation, and the revision of the dumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from gpuregress.foundation import records
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import revision
from gpuregress.jobs.plan import source_files
from gpuregress.jobs.plan.job_plan import AUTO, LabelRequest
from gpuregress.jobs.plan.source_files import SourceFile, SourcePath, SourceTexts
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.values import PythonSourceSpec
from gpuregress.jobs.spec.resolve import python_kernels
from gpuregress.jobs.spec.resolve.compilation import CompileSettings, compile_settings
from gpuregress.jobs.spec.resolve.scope import Scope, existing_folder
from gpuregress.toolchain import cxx_declarations, include_scanner, programs


class SourceFacts(Record):
    """Facts of the sources that cases of a job share.

    Attributes:
        files: those that the launches take kernels from.
        of_launch: entry of `launches` → the position of its source among them.
        located: the job's own source, None without one.
        include: folders, absolute.
        digest: of the sources and all they include.
        request: the position of these sources among those whose revision is wanted.
    """

    files: tuple[SourceFile, ...]
    of_launch: Mapping[int, int]
    located: SourcePath | None
    include: tuple[Path, ...]
    digest: str
    request: int

    @property
    def paths(self) -> tuple[Path, ...]:
        """The sources, absolute."""
        return tuple(file.path for file in self.files)

    @property
    def has_cubin(self) -> bool:
        """Tell whether a source is machine code, which runs on GPUs only."""
        return any(path.suffix == ".cubin" for path in self.paths)

    def launched(self, launches: tuple[records.Launch, ...]) -> tuple[records.Launch, ...]:
        """Return the launches with the positions of their sources."""
        if not any(self.of_launch.values()):
            return launches
        changed: dict[int, records.Launch] = {}  # a step that is repeated a million times stays one object
        for launch in dict(zip(map(id, launches), launches, strict=True)).values():
            source = self.of_launch.get(launch.origin, 0)
            changed[id(launch)] = replace(launch, source=source) if source else launch
        return tuple(map(changed.__getitem__, map(id, launches)))


class JobSources:
    """The sources of a job: the same for all cases, unless a `source` or the compilation depends on a parameter.

    Args:
        file: the job.
        problems: collects the errors.

    Attributes:
        requests: the distinct sets of sources so far, whose revisions are wanted.
    """

    def __init__(self, file: JobFile, problems: Problems) -> None:
        self._file, self._problems = file, problems
        self._known: dict[tuple[object, ...], SourceFacts | None] = {}
        self.requests: list[LabelRequest] = []

    @property
    def known(self) -> tuple[SourceFacts, ...]:
        """The distinct sets of sources so far."""
        return tuple(facts for facts in self._known.values() if facts is not None)

    def facts(self, scope: Scope) -> SourceFacts | None:
        """Locate the sources of a case; None if one is invalid, which is reported.

        Args:
            scope: the case's values.
        """
        job = self._file.job
        if self._file.is_broken("source"):
            return None
        texts = source_files.texts(self._file, scope)
        settings = compile_settings(scope, job.compile, ("compile",), job.card)
        if settings is None and texts is not None:  # its file and folders may be wrong, too
            self._located(texts, _folders_only(scope, job), {})
        if texts is None or settings is None:
            return None
        telling = {name: text for name, text in settings.defines.items() if include_scanner.is_telling(text)}
        key = (texts, settings.options, settings.include, tuple(telling.items()))
        if key not in self._known:
            self._known[key] = self._located(texts, settings, telling)
        return self._known[key]

    def facts_without_parameters(self) -> SourceFacts | None:
        """Locate the sources of a job whose parameters are wrong, to report what else is; None if they need them."""
        job, scope = self._file.job, Scope({}, self._problems)
        sources = [job.source, *(launch.source for launch in job.launches)]
        texts = [one.python if isinstance(one, PythonSourceSpec) else one for one in sources]
        if any(templates.is_template(text or "") for text in texts) or self._file.is_broken("source"):
            return None
        plain = {"options": job.compile.options, "include": job.compile.include}
        settings = compile_settings(scope, CompileSpec.of(plain), ("compile",), job.card)
        filled = source_files.texts(self._file, scope)
        return self._located(filled, settings or _folders_only(scope, job), {}) if filled is not None else None

    def _located(self, texts: SourceTexts, settings: CompileSettings, telling: Mapping[str, str]) -> SourceFacts | None:
        job, problems = self._file.job, self._problems
        located = source_files.locate(self._file, problems, texts)
        launched = [one.path for one in located.launched] if located is not None else []
        _check_effect(self._file, problems, launched)
        folders = _folders(problems, settings, ("compile",))
        wrong = revision.problem(job.revision) if job.revision != AUTO else None
        if wrong:
            problems.add(("revision",), wrong)
        if located is None or wrong:
            return None
        files = self._read(located.launched, folders, settings, telling)
        if files is None:
            return None
        given = tuple((file.path, file.inputs) for file in files)
        self.requests.append(LabelRequest(job.revision, given))
        digest = revision.digest_of_all([inputs for _, inputs in given])
        of_launch = {origin: located.launched.index(path) for origin, path in located.of_launch.items()}
        return SourceFacts(files, of_launch, located.own, folders, digest, len(self.requests) - 1)

    def _read(
        self,
        sources: Sequence[SourcePath],
        include: tuple[Path, ...],
        settings: CompileSettings,
        telling: Mapping[str, str],
    ) -> tuple[SourceFile, ...] | None:
        """Read the files of the sources; None if one cannot be read, which is reported."""
        files: list[SourceFile] = []
        for located in sources:
            path = located.path
            probe = records.Source(str(path), settings.options, tuple(str(folder) for folder in include), telling)
            try:
                files.append(SourceFile(located, programs.inputs(probe)))
            except OSError as error:
                text = f"{error.filename or path} cannot be read: {error.strerror or error}"
                self._problems.add(("source",), text)
                return None
        return tuple(files)


def _check_effect(file: JobFile, problems: Problems, sources: Sequence[Path]) -> None:
    """Report settings of the compilation that have no effect on any of the sources."""
    _check_language(file, problems, sources)
    if not sources or any(path.suffix in include_scanner.SUFFIXES for path in sources):
        return
    shown = " and ".join(path.name for path in sources)
    taken = f"{shown} {'is taken as it is' if len(sources) == 1 else 'are taken as they are'}, not compiled"
    is_python = any(path.suffix == ".py" for path in sources)
    if is_python:
        taken = f"{shown} {'is' if len(sources) == 1 else 'are'} in Python, and macros and folders are for C++"
    for name in (
        ("include", "defines", "host_code") if is_python else ("options", "include", "defines", "arch", "host_code")
    ):
        if name in file.job.compile.written and not file.is_broken("compile"):
            problems.add(("compile", name), f"has no effect: {taken}")


def _check_language(file: JobFile, problems: Problems, sources: Sequence[Path]) -> None:
    """Report settings of kernels in Python in a job that has none, and launch settings that Triton fills in."""
    job = file.job
    names = ("language", "signature", "constants", "num_warps", "num_stages", "num_ctas")
    if sources and not any(path.suffix == ".py" for path in sources):
        shown = " and ".join(dict.fromkeys(path.name for path in sources))
        for name in names:
            if name in job.written and not file.is_broken(name):
                problems.add((name,), f"is for kernels in Python, and the source is {shown}")
    elif job.language is None and any(name in job.written for name in names[1:]):
        problems.add(("language",), "missing key: triton or numba")
    if job.language == "triton" and job.function is not None:
        problems.add(("function",), "is for C++: a Triton function cannot be called alone")
    written = file.document.data.get("launches") if job.language == "triton" else None
    for position, launch in enumerate(written if isinstance(written, list) else []):
        for name in ("block", "shared"):
            if isinstance(launch, dict) and name in launch and ".py" in str(launch.get("source", job.source)):
                problems.add(
                    ("launches", position, name), "is filled in by Triton (num_warps * 32 threads): leave it out"
                )


def of_case(
    file: JobFile,
    known: SourceFacts,
    scope: Scope,
    launches: tuple[records.Launch, ...],
    buffers: Mapping[str, records.Buffer],
) -> tuple[records.Source, ...]:
    """Return the sources as a case compiles them; none if the compilation is invalid, which is reported.

    Args:
        file: the job.
        known: from `JobSources.facts`.
        scope: the case's values.
        launches: the case's, with the positions of their sources.
        buffers: the case's, with those of their variables.
    """
    settings = compile_settings(scope, file.job.compile, ("compile",), file.job.card)
    if settings is None:
        return ()
    compiled = []
    taken: list[tuple[records.PythonKernel, Sequence[records.Launch]]] = []
    for at, one in enumerate(known.files):
        own = launches if len(known.files) == 1 else tuple(launch for launch in launches if launch.source == at)
        source = _compiled(one.path, known.include, settings, own, _symbols(buffers, at))
        kernel = _python_kernel(file, scope, one, settings) if one.located.language else None
        if kernel is not None:
            python_kernels.check_arguments(scope, kernel, own, buffers)
            kernel = python_kernels.with_arguments(scope, kernel, one.inputs.contents[0], own, buffers)
            taken.append((kernel, own))
        compiled.append(replace(source, digest=one.inputs.digest, python=kernel))
    python_kernels.check_descriptors(scope, taken, buffers)
    return tuple(compiled)


def _python_kernel(
    file: JobFile, scope: Scope, source: SourceFile, settings: CompileSettings
) -> records.PythonKernel | None:
    located = source.located
    assert located.language
    content = source.inputs.contents[0]
    levels = python_kernels.job_levels(file, located.launch)
    return python_kernels.resolve(file, scope, located.function, located.language, levels, content, settings.options)


def of_reference(
    file: JobFile,
    known: SourceFacts,
    scope: Scope,
    launches: tuple[records.Launch, ...],
    buffers: Mapping[str, records.Buffer],
    name: str,
) -> tuple[records.Source, tuple[records.Launch, ...]] | None:
    """Return the source of a reference's kernels, and their launches; None if it does not exist, which is reported.

    Args:
        file: the job.
        known: the case's own sources, from `JobSources.facts`.
        scope: the case's values.
        launches: the reference's.
        buffers: the case's.
        name: of the buffer.
    """
    item = file.job.reference[name]
    own_key: Key = ("reference", name)
    located = _reference_source(file, known, scope, name)
    given = item.compile or file.job.compile
    key: Key = ("compile",) if item.compile is None else (*own_key, "compile")
    settings = compile_settings(scope, given, key, file.job.card)
    if located is None or settings is None:
        return None
    path = located.path
    include = known.include if item.compile is None else _folders(scope.problems, settings, key)
    at = known.paths.index(path) if path in known.paths else None
    if located.language:
        python = _python_reference(file, scope, located, settings, launches, buffers, name)
        return (python, launches) if python is not None else None
    symbols = _symbols(buffers, at)
    probe = records.Source(str(path), settings.options, tuple(map(str, include)), settings.defines)
    contents = known.files[at].inputs.contents if at is not None else programs.inputs(probe).contents
    launches = source_files.resolved(launches, [contents], buffers, lambda: settings.defines)
    if at is None:
        declared = cxx_declarations.variable_names(path.read_text(encoding="utf-8", errors="replace"))
        symbols = tuple(symbol for symbol in symbols if symbol.rpartition("::")[2] in declared)
    compiled = _compiled(path, include, settings, launches, symbols)
    if at is None or item.compile is not None:
        return compiled, launches
    return replace(compiled, digest=known.files[at].inputs.digest), launches


def _reference_source(file: JobFile, known: SourceFacts, scope: Scope, name: str) -> SourcePath | None:
    """Locate the source of a reference's kernels; None if it does not exist, which is reported."""
    item, key = file.job.reference[name], ("reference", name)
    if item.source is None:
        if known.located is None:
            missing = f"missing key: reference.{name}.source; the job has no source of its own"
            scope.problems.add(key, missing)
        elif item.language is not None:
            scope.problems.add((*key, "language"), f"belongs to a source: name it in reference.{name}.source")
        return known.located
    text = scope.text(item.source, (*key, "source"))
    if text is None:
        return None
    located = source_files.of_reference(file, scope.problems, (*key, "source"), text, item.language)
    if located is not None and not located.language:
        for setting in ("language", "signature", "constants", "num_warps", "num_stages", "num_ctas"):
            if setting in item.written:
                odd = f"is for kernels in Python, and the source is {located.path.name}"
                scope.problems.add((*key, setting), odd)
    return located


def _python_reference(
    file: JobFile,
    scope: Scope,
    located: SourcePath,
    settings: CompileSettings,
    launches: tuple[records.Launch, ...],
    buffers: Mapping[str, records.Buffer],
    name: str,
) -> records.Source | None:
    """Return the source of a reference whose kernel is in Python."""
    assert located.language
    source = _compiled(located.path, (), settings, launches, ())
    try:
        files = programs.inputs(source)
    except OSError as error:
        scope.problems.add(("reference", name, "source"), f"cannot be read: {error.strerror or error}")
        return None
    levels = python_kernels.reference_levels(file, name)
    kernel = python_kernels.resolve(
        file, scope, located.function, located.language, levels, files.contents[0], settings.options
    )
    if kernel is None:
        return None
    section = ("reference", name, "launches")
    python_kernels.check_arguments(scope, kernel, launches, buffers, section)
    kernel = python_kernels.with_arguments(scope, kernel, files.contents[0], launches, buffers, section)
    return replace(source, digest=files.digest, python=kernel)


def _folders_only(scope: Scope, job: JobSpec) -> CompileSettings:
    folders = (scope.text(text, ("compile", "include", at)) for at, text in enumerate(job.compile.include))
    return CompileSettings((), tuple(text for text in folders if text is not None), {}, "pinned", "")


def _symbols(buffers: Mapping[str, records.Buffer], source: int | None) -> tuple[str, ...]:
    """The variables of a source that are buffers; None: of all sources."""
    own = (buffer for buffer in buffers.values() if source in (None, buffer.symbol_source))
    return tuple(dict.fromkeys(buffer.symbol for buffer in own if buffer.symbol))


def _folders(problems: Problems, settings: CompileSettings, key: Key) -> tuple[Path, ...]:
    """Locate the include folders; those that do not exist are reported."""
    folders = [existing_folder(problems, (*key, "include", at), text) for at, text in enumerate(settings.include)]
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
        kernels=tuple(dict.fromkeys(map(attrgetter("kernel"), launches))),
        symbols=symbols,
        card=settings.card,
        host_code=settings.host_code,
    )
