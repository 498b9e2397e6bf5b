"""Files that decide the result of a case.

They are its job, its sources with what they include, and what fills and judges it. The files of installed packages and
of the compiler do not count: their versions are facts of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, Fill, InputFile, PythonFunction, Source
from gpuregress.gpu.records import Record
from gpuregress.toolchain import programs
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.python_kernels import source_inputs


class DecidingFiles(Record):
    """The files that decide the result of a case.

    Attributes:
        files: absolute; of a source that cannot be read, only itself.
        unknown: why there may be more, "" where there are not.
        names_gone: whether one of them names a file that is gone.
    """

    files: frozenset[Path]
    unknown: str = ""
    names_gone: bool = False


class CaseFiles:
    """A collector of files, which reads each source and each module of the user once.

    Args:
        gone: names of files that are not there any more.
    """

    def __init__(self, gone: Collection[Path] = ()) -> None:
        self._gone = {_name_in_text(path).encode() for path in gone}
        self._of_source: dict[tuple[str, tuple[str, ...], tuple[str, ...], str], DecidingFiles] = {}
        self._of_module: dict[str, DecidingFiles] = {}

    def of(self, case: Case) -> DecidingFiles:
        """Collect the files of a case."""
        parts = [self._source(source) for source in _sources(case)]
        parts += [self._module(function.rpartition(":")[0]) for function in _functions(case)]
        files = {Path(case.path), *_data_files(case)}
        unknown = ""
        for part in parts:
            files |= part.files
            unknown = unknown or part.unknown
        return DecidingFiles(frozenset(files), unknown, any(part.names_gone for part in parts))

    def _source(self, source: Source) -> DecidingFiles:
        # Kernels of one Python file are made of different modules.
        function = source.python.function if source.python is not None else ""
        key = (source.path, source.include, source.options, function)
        if key not in self._of_source:
            try:
                inputs = programs.inputs(source)
            except (OSError, GpuregressError) as error:
                inputs = SourceInputs((), (), "", str(error))
            self._of_source[key] = self._deciding(Path(source.path), inputs)
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
        names_gone = any(name in content for name in self._gone for content in inputs.contents)
        return DecidingFiles(frozenset((path, *inputs.files)), inputs.unknown, names_gone)


def _sources(case: Case) -> Iterable[Source]:
    yield from case.sources
    for kernel in case.reference_kernels.values():
        yield kernel.source


def _fills(case: Case) -> Iterator[Fill]:
    """The fills of its buffers, also those of its further seeds."""
    for buffer in case.buffers.values():
        if buffer.fill is not None:
            yield buffer.fill
    for seeded in case.seeds:
        yield from seeded.fills.values()


def _functions(case: Case) -> Iterator[str]:
    """The functions of the user that fill its buffers, and that compute and judge its results."""
    yield from case.reference.values()
    for fill in _fills(case):
        if isinstance(fill.options, PythonFunction):
            yield fill.options.function
    for rule in (*case.compare.values(), *case.reference_rules.values()):
        if rule.verify:
            yield rule.verify


def _data_files(case: Case) -> Iterator[Path]:
    """The files that fill buffers or hold references."""
    for fill in _fills(case):
        if isinstance(fill.options, InputFile):
            yield _without_array(fill.options.path)
    for path in case.reference_files.values():
        yield _without_array(path)


def _without_array(path: str) -> Path:
    """The file of `x.npz:name`."""
    archive, separator, _ = path.rpartition(".npz:")
    if separator:
        return Path(f"{archive}.npz")
    return Path(path)


def _name_in_text(path: Path) -> str:
    """The name by which a source includes or imports a file."""
    if path.suffix == ".py":
        return path.parent.name if path.stem == "__init__" else path.stem
    return path.name
