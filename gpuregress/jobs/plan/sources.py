"""Sources of a job: their files, their compilation, and the revision of the dumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import records
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import revision
from gpuregress.jobs.plan import source_files
from gpuregress.jobs.plan.job_plan import AUTO, LabelRequest
from gpuregress.jobs.plan.source_files import SourceFile, SourcePath, SourcePaths
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.launch import PYTHON_SETTINGS
from gpuregress.jobs.spec.models.values import PythonSourceSpec
from gpuregress.jobs.spec.resolve import python_kernels
from gpuregress.jobs.spec.resolve.compilation import CompileSettings, compile_settings
from gpuregress.jobs.spec.resolve.launches import changed_once
from gpuregress.jobs.spec.resolve.scope import Scope, existing_folder
from gpuregress.toolchain import cxx_declarations, include_scanner, programs
from gpuregress.toolchain.build_options.database import CompileCommands
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions


class SourceFacts(Record):
    """Facts of the sources that cases of a job share.

    Attributes:
        files: those that the launches take kernels from.
        of_launch: entry of `launches` → the position of its source among them.
        located: the job's own source, None without one.
        include: folders, absolute.
        commands: the compilation database of the project, None without one.
        digest: of the sources and all they include.
        request: the position of these sources among those whose revision is wanted.
    """

    files: tuple[SourceFile, ...]
    of_launch: Mapping[int, int]
    located: SourcePath | None
    include: tuple[Path, ...]
    commands: CompileCommands | None
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

        def locate(launch: records.Launch) -> records.Launch:
            source = self.of_launch.get(launch.origin, 0)
            return replace(launch, source=source) if source else launch

        return changed_once(launches, locate)


class JobSources:
    """The sources of a job: the same for all cases, unless a `source` or the compilation depends on a parameter.

    Args:
        file: the job.
        problems: collects the errors.
        commands: the compilation database of the project, None without one.

    Attributes:
        requests: the distinct sets of sources so far, whose revisions are wanted.
    """

    def __init__(self, file: JobFile, problems: Problems, commands: CompileCommands | None = None) -> None:
        self._file, self._problems, self._commands = file, problems, commands
        self._known: dict[tuple[object, ...], SourceFacts | None] = {}
        self._located: SourcePaths | None = None
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
        if self._located is None or self._has_templates():  # else it is the same for all cases
            self._located = source_files.locate(self._file, scope)
        located = self._located
        settings = compile_settings(scope, job.compile, ("compile",), job.card)
        if settings is None:
            self._read_all(located, _folders_only(scope, job), {})  # its file and folders may be wrong, too
            return None
        telling = {name: text for name, text in settings.defines.items() if include_scanner.is_telling(text)}
        key = (located, settings.options, settings.include, tuple(telling.items()))
        if key not in self._known:
            self._known[key] = self._read_all(located, settings, telling)
        return self._known[key]

    def facts_without_parameters(self) -> SourceFacts | None:
        """Locate the sources of a job whose parameters are wrong, to report what else is; None if they need them."""
        if self._file.is_broken("source") or self._has_templates():
            return None
        job = self._file.job
        scope = Scope({}, self._problems)
        plain = CompileSpec.of({"options": job.compile.options, "include": job.compile.include})
        settings = compile_settings(scope, plain, ("compile",), job.card)
        located = source_files.locate(self._file, scope)
        return self._read_all(located, settings or _folders_only(scope, job), {})

    def _has_templates(self) -> bool:
        """Tell whether the path of a source depends on a parameter."""
        job = self._file.job
        for source in (job.source, *(launch.source for launch in job.launches)):
            text = source.python if isinstance(source, PythonSourceSpec) else source
            if templates.is_template(text or ""):
                return True
        return False

    def _read_all(
        self, located: SourcePaths | None, settings: CompileSettings, telling: Mapping[str, str]
    ) -> SourceFacts | None:
        job, problems = self._file.job, self._problems
        launched = () if located is None else located.launched
        _check_effect(self._file, problems, [source.path for source in launched])
        folders = _folders(problems, settings, ("compile",))
        revision_problem = None
        if job.revision != AUTO:
            revision_problem = revision.problem(job.revision)
        if revision_problem:
            problems.add(("revision",), revision_problem)
        if located is None or revision_problem:
            return None
        files = self._read(launched, folders, settings, telling)
        if files is None:
            return None
        self.requests.append(LabelRequest(job.revision, tuple((file.path, file.inputs) for file in files)))
        return SourceFacts(
            files=files,
            of_launch={origin: launched.index(path) for origin, path in located.of_launch},
            located=located.own,
            include=folders,
            commands=self._commands,
            digest=revision.digest_of_all([file.inputs for file in files]),
            request=len(self.requests) - 1,
        )

    def _read(
        self,
        sources: Sequence[SourcePath],
        include: tuple[Path, ...],
        settings: CompileSettings,
        telling: Mapping[str, str],
    ) -> tuple[SourceFile, ...] | None:
        """Read the files of the sources; None if one cannot be read, which is reported."""
        folders = tuple(str(folder) for folder in include)
        files: list[SourceFile] = []
        for located in sources:
            probe = records.Source(str(located.path), settings.options, folders, telling, python=_named(located))
            build = _build_options(self._commands, located.path)
            try:
                files.append(SourceFile(located, programs.inputs(build.applied_to(probe)), build))
            except OSError as error:
                text = f"{error.filename or located.path} cannot be read: {error.strerror or error}"
                self._problems.add(("source",), text)
                return None
        return tuple(files)


def _named(located: SourcePath) -> records.PythonKernel | None:
    """Return a kernel in Python by its name alone, which decides the files that it is made of."""
    return records.PythonKernel(located.language, located.function) if located.language else None


def _check_effect(file: JobFile, problems: Problems, sources: Sequence[Path]) -> None:
    """Report settings of the compilation that have no effect on any of the sources."""
    _check_language(file, problems, sources)
    if not sources or any(path.suffix in include_scanner.SUFFIXES for path in sources):
        return
    shown = " and ".join(path.name for path in sources)
    is_one = len(sources) == 1
    if any(path.suffix == ".py" for path in sources):
        names: tuple[str, ...] = ("include", "defines", "host_code")
        reason = f"{shown} {'is' if is_one else 'are'} in Python, and macros and folders are for C++"
    else:
        names = ("options", "include", "defines", "arch", "host_code")
        reason = f"{shown} {'is taken as it is' if is_one else 'are taken as they are'}, not compiled"
    for name in names:
        if name in file.job.compile.written and not file.is_broken("compile"):
            problems.add(("compile", name), f"has no effect: {reason}")


_BY_TRITON = "is filled in by Triton (num_warps * 32 threads)"
_FILLED_IN = {
    "triton": {"block": _BY_TRITON, "shared": _BY_TRITON},
    "warp": {
        "grid": "follows from dim, the threads along each axis",
        "block": "is filled in by Warp (256 threads; compile: {options: [--block_dim=128]} for 128)",
        "shared": "is filled in by Warp",
    },
}
"""Language → the keys of a launch that its compiler fills in, and what is said where the job has them."""


def _check_language(file: JobFile, problems: Problems, sources: Sequence[Path]) -> None:
    """Report settings of kernels in Python in a job that has none, and launch settings that a compiler fills in."""
    job = file.job
    if sources and not any(path.suffix == ".py" for path in sources):
        shown = " and ".join(dict.fromkeys(path.name for path in sources))
        for name in ("language", *PYTHON_SETTINGS):
            if name in job.written and not file.is_broken(name):
                problems.add((name,), f"is for kernels in Python, and the source is {shown}")
    elif job.language is None and not job.written.isdisjoint(PYTHON_SETTINGS):
        problems.add(("language",), "missing key: triton, numba or warp")
    if job.function is not None and job.language in ("triton", "warp"):
        language = job.language.capitalize()
        problems.add(("function",), f"is for C++: a {language} function cannot be called alone")
    launches = file.document.data.get("launches")
    if not isinstance(launches, list):
        return
    for position, launch in enumerate(launches):
        if isinstance(launch, dict) and "dim" in launch and job.language != "warp":
            problems.add(("launches", position, "dim"), "is for language: warp; other kernels take grid and block")
        if not isinstance(launch, dict) or ".py" not in str(launch.get("source", job.source)):
            continue
        for name, text in _FILLED_IN.get(job.language or "", {}).items():
            if name in launch:
                problems.add(("launches", position, name), f"{text}: leave it out")


class CaseSources:
    """The sources of one case, as it compiles them.

    Args:
        file: the job.
        known: from `JobSources.facts`.
        scope: the case's values; errors are reported there.
        buffers: the case's, with the sources of their variables.
    """

    def __init__(self, file: JobFile, known: SourceFacts, scope: Scope, buffers: Mapping[str, records.Buffer]) -> None:
        self._file, self._known, self._scope, self._buffers = file, known, scope, buffers

    def compiled(self, launches: tuple[records.Launch, ...]) -> tuple[records.Source, ...]:
        """Return the sources of the case; none if the compilation is invalid, which is reported.

        Args:
            launches: the case's, with the positions of their sources.
        """
        settings = compile_settings(self._scope, self._file.job.compile, ("compile",), self._file.job.card)
        if settings is None:
            return ()
        sources = []
        python: list[tuple[records.PythonKernel, Sequence[records.Launch]]] = []
        for index, source_file in enumerate(self._known.files):
            own_launches = launches
            if len(self._known.files) > 1:
                own_launches = tuple(launch for launch in launches if launch.source == index)
            symbols = _symbols(self._buffers, index)
            source = _compiled(source_file.path, self._known.include, settings, own_launches, symbols)
            source = source_file.build.applied_to(source)
            kernel = None
            if source_file.located.language:
                levels = python_kernels.job_levels(self._file, source_file.located.launch)
                kernel = self._python_kernel(source_file, levels, settings, own_launches, ("launches",))
            if kernel is not None:
                python.append((kernel, own_launches))
            sources.append(replace(source, digest=source_file.inputs.digest, python=kernel))
        python_kernels.check_descriptors(self._scope, python, self._buffers)
        return tuple(sources)

    def reference(
        self, name: str, launches: tuple[records.Launch, ...]
    ) -> tuple[records.Source, tuple[records.Launch, ...]] | None:
        """Return the source of a reference's kernels, and their launches; None if it is invalid, which is reported.

        Args:
            name: of the buffer.
            launches: the reference's.
        """
        item, known = self._file.job.reference[name], self._known
        located = self._reference_source(name)
        key: Key = ("compile",) if item.compile is None else ("reference", name, "compile")
        settings = compile_settings(self._scope, item.compile or self._file.job.compile, key, self._file.job.card)
        if located is None or settings is None:
            return None
        path = located.path
        include = known.include if item.compile is None else _folders(self._scope.problems, settings, key)
        if located.language:
            python = self._python_reference(name, located, settings, launches)
            return (python, launches) if python is not None else None
        build = _build_options(known.commands, path)
        if path in known.paths:
            index = known.paths.index(path)
            inputs = known.files[index].inputs
            symbols = _symbols(self._buffers, index)
        else:
            probe = records.Source(str(path), settings.options, tuple(map(str, include)), settings.defines)
            inputs = programs.inputs(build.applied_to(probe))
            declared = cxx_declarations.variable_names(path.read_text(encoding="utf-8", errors="replace"))
            symbols = tuple(name for name in _symbols(self._buffers, None) if name.rpartition("::")[2] in declared)
        launches = source_files.resolved(launches, [inputs.contents], self._buffers, lambda: settings.defines)
        compiled = build.applied_to(_compiled(path, include, settings, launches, symbols))
        if path in known.paths and item.compile is None:
            compiled = replace(compiled, digest=inputs.digest)
        return compiled, launches

    def _reference_source(self, name: str) -> SourcePath | None:
        """Locate the source of a reference's kernels; None if it does not exist, which is reported."""
        item, problems = self._file.job.reference[name], self._scope.problems
        key = ("reference", name)
        if item.source is None:
            if self._known.located is None:
                problems.add(key, f"missing key: reference.{name}.source; the job has no source of its own")
            elif item.language is not None:
                problems.add((*key, "language"), f"belongs to a source: name it in reference.{name}.source")
            return self._known.located
        language = item.language or self._file.job.language
        located = source_files.located(self._scope, item.source, language, (*key, "source"))
        if located is not None and not located.language:
            for setting in ("language", *PYTHON_SETTINGS):
                if setting in item.written:
                    problem = f"is for kernels in Python, and the source is {located.path.name}"
                    problems.add((*key, setting), problem)
        return located

    def _python_reference(
        self, name: str, located: SourcePath, settings: CompileSettings, launches: tuple[records.Launch, ...]
    ) -> records.Source | None:
        """Return the source of a reference whose kernel is in Python."""
        source = _compiled(located.path, (), settings, launches, ())
        try:
            inputs = programs.inputs(replace(source, python=_named(located)))
        except OSError as error:
            self._scope.problems.add(("reference", name, "source"), f"cannot be read: {error.strerror or error}")
            return None
        levels = python_kernels.reference_levels(self._file, name)
        section = ("reference", name, "launches")
        kernel = self._python_kernel(SourceFile(located, inputs), levels, settings, launches, section)
        return None if kernel is None else replace(source, digest=inputs.digest, python=kernel)

    def _python_kernel(
        self,
        source: SourceFile,
        levels: python_kernels.Levels,
        settings: CompileSettings,
        launches: tuple[records.Launch, ...],
        section: Key,
    ) -> records.PythonKernel | None:
        """Resolve the kernel of a source in Python, and check its launches; None if it is invalid."""
        located = source.located
        assert located.language
        content = source.inputs.contents[0]
        resolver = python_kernels.KernelResolver(self._file, self._scope, located.language, levels)
        kernel = resolver.resolved(located.function, content, settings.options)
        if kernel is None:
            return None
        python_kernels.check_arguments(self._scope, kernel, launches, self._buffers, section)
        return python_kernels.with_arguments(self._scope, kernel, content, launches, self._buffers, section)


def _folders_only(scope: Scope, job: JobSpec) -> CompileSettings:
    folders = [scope.text(text, ("compile", "include", at)) for at, text in enumerate(job.compile.include)]
    return CompileSettings((), tuple(folder for folder in folders if folder is not None), {}, "pinned", "")


def _symbols(buffers: Mapping[str, records.Buffer], source: int | None) -> tuple[str, ...]:
    """The variables of a source that are buffers; None: of all sources."""
    symbols: dict[str, None] = {}
    for buffer in buffers.values():
        if buffer.symbol and source in (None, buffer.symbol_source):
            symbols[buffer.symbol] = None
    return tuple(symbols)


def _folders(problems: Problems, settings: CompileSettings, key: Key) -> tuple[Path, ...]:
    """Locate the include folders; those that do not exist are reported."""
    folders = [existing_folder(problems, (*key, "include", at), text) for at, text in enumerate(settings.include)]
    return tuple(folder for folder in folders if folder is not None)


def _build_options(commands: CompileCommands | None, path: Path) -> BuildOptions:
    """Return the options of a source in the project's build; none of a source that is not compiled from C++.

    Raises:
        UsageError: the compilation database cannot be read.
    """
    if commands is None or path.suffix not in include_scanner.SUFFIXES:
        return NO_OPTIONS
    return commands.options_for(path)


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
        card=settings.card,
        host_code=settings.host_code,
    )
