"""Files that decide the result of a case.

They are its job, its sources with what they include, and what fills and judges it. The files of installed packages and
of the compiler do not count: their versions are facts of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, Source
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.inputs import split_member
from gpuregress.toolchain import programs
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.python_kernels import source_inputs


class DecidingFiles(Record):
    """The files that decide the result of a case.

    Attributes:
        files: absolute; of a source that cannot be read, only itself.
        unknown: why there may be more, "" where there are not.
        gone: files that are not there any more, and that one of them names.
    """

    files: frozenset[Path]
    unknown: str = ""
    gone: frozenset[Path] = frozenset()


class _SourceKey(Record):
    """What of a source decides which files it is compiled from."""

    path: str
    include: tuple[str, ...]
    options: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    function: str
    language: str
    files: tuple[str, ...]


class CaseFiles:
    """A collector of files, which reads each source and each module of the user once.

    Args:
        gone: files that are not there any more.
    """

    def __init__(self, gone: Collection[Path] = ()) -> None:
        self._gone: dict[bytes, set[Path]] = {}
        for path in gone:
            self._gone.setdefault(_name_in_text(path).encode(), set()).add(path)
        self._of_source: dict[_SourceKey, DecidingFiles] = {}
        self._of_module: dict[str, DecidingFiles] = {}

    def of(self, case: Case) -> DecidingFiles:
        """Collect the files of a case."""
        parts = [self._source(source) for source in _sources(case)]
        parts += [self._module(function.rpartition(":")[0]) for function in _functions(case)]
        files = {Path(case.path), *(split_member(text)[0] for text in case.data_files)}
        unknown = ""
        gone: set[Path] = set()
        for part in parts:
            files |= part.files
            gone |= part.gone
            unknown = unknown or part.unknown
        return DecidingFiles(frozenset(files), unknown, frozenset(gone))

    def _source(self, source: Source) -> DecidingFiles:
        python = source.python
        key = _SourceKey(
            path=source.path,
            include=source.include,
            options=source.options,
            defines=tuple(source.defines.items()),
            # Kernels of one Python file are made of different modules.
            function=python.function if python is not None else "",
            language=python.language if python is not None else "",
            files=source.files,
        )
        if key not in self._of_source:
            self._of_source[key] = self._deciding(Path(source.path), _inputs(source))
        return self._of_source[key]

    def _module(self, path: str) -> DecidingFiles:
        if path not in self._of_module:
            try:
                inputs = source_inputs.inputs(Path(path))
            except OSError as error:
                inputs = SourceInputs((), (), "", str(error))
            self._of_module[path] = self._deciding(Path(path), inputs)
        return self._of_module[path]

    def _deciding(self, path: Path, inputs: SourceInputs) -> DecidingFiles:
        # The scanner resolves the symbolic links of folders, so the path itself is added.
        gone: set[Path] = set()
        for name, paths in self._gone.items():
            if any(name in content for content in inputs.contents):
                gone |= paths
        return DecidingFiles(frozenset((path, *inputs.files)), inputs.unknown, frozenset(gone))


def _inputs(source: Source) -> SourceInputs:
    """The files that a source is compiled from, and those of the autotuner that its cases come from."""
    try:
        inputs = programs.inputs(source)
        if source.python is None or source.python.language != "triton":
            return inputs
        # The configurations choose the cases of a job, and no part of a program: `programs.inputs` leaves them out.
        tuned = source_inputs.kernel_inputs(Path(source.path), source.python.function, with_tuning=True)
    except (OSError, GpuregressError) as error:
        return SourceInputs((), (), "", str(error))
    return replace(
        inputs,
        files=(*inputs.files, *tuned.files),
        contents=(*inputs.contents, *tuned.contents),
        unknown=inputs.unknown or tuned.unknown,
    )


def _sources(case: Case) -> Iterable[Source]:
    yield from case.sources
    for kernel in case.reference_kernels.values():
        yield kernel.source


def _functions(case: Case) -> Iterator[str]:
    """The functions of the user that fill its buffers, and that compute and judge its results."""
    yield from case.user_functions
    for rule in (*case.compare.values(), *case.reference_rules.values()):
        if rule.verify:
            yield rule.verify


def _name_in_text(path: Path) -> str:
    """The name by which a source includes or imports a file."""
    if path.suffix == ".py":
        return path.parent.name if path.stem == "__init__" else path.stem
    return path.name
