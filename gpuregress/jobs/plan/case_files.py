"""Files that decide the result of a case: its job, its sources with their includes, and what fills and judges it.

The files of installed packages and of the compiler do not count: their versions are facts of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, InputFile, Source
from gpuregress.toolchain import programs
from gpuregress.toolchain.python_kernels import source_inputs


class CaseFiles:
    """A collector of files, which reads each source and each module of the user once."""

    def __init__(self) -> None:
        self._of_source: dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[Path, ...]] = {}
        self._of_module: dict[str, tuple[Path, ...]] = {}

    def of(self, case: Case) -> frozenset[Path]:
        """Collect the files of a case, absolute; of a source that cannot be read, only itself."""
        files = {Path(case.path)}
        sources = [*case.sources, *(kernel.source for kernel in case.reference_kernels.values())]
        for source in sources:
            files.update(self._source(source))
        for function in case.user_functions:
            files.update(self._module(function.rpartition(":")[0]))
        files.update(_data_files(case))
        return frozenset(files)

    def _source(self, source: Source) -> tuple[Path, ...]:
        key = (source.path, source.include, source.options)
        files = self._of_source.get(key)
        if files is None:
            try:
                files = programs.inputs(source).files
            except (OSError, GpuregressError):
                files = ()
            # The scanner resolves symbolic links of folders.
            files = (Path(source.path), *files)
            self._of_source[key] = files
        return files

    def _module(self, path: str) -> tuple[Path, ...]:
        files = self._of_module.get(path)
        if files is None:
            try:
                files = source_inputs.inputs(Path(path)).files
            except (OSError, SyntaxError, ValueError):
                files = (Path(path),)
            self._of_module[path] = files
        return files


def _data_files(case: Case) -> Iterator[Path]:
    """The files that fill buffers or hold references."""
    for buffer in case.buffers.values():
        options = buffer.fill.options if buffer.fill is not None else None
        if isinstance(options, InputFile):
            yield _without_array(options.path)
    for path in case.reference_files.values():
        yield _without_array(path)


def _without_array(path: str) -> Path:
    """The file of `x.npz:name`."""
    archive, separator, _ = path.rpartition(".npz:")
    if separator:
        return Path(f"{archive}.npz")
    return Path(path)
