"""Files that a worker reads for a task: programs, inputs, references, and Python modules of the user.

Sources are read for twins only: those are compiled again on the host.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.execution.cluster.messages import SentFile
from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, StorageError
from gpuregress.foundation.records import Task
from gpuregress.jobs.inputs.file_names import split_member
from gpuregress.toolchain import programs

MOST_MODULES = 2000
"""Python files in and below the folder of a user's module; of more, only those in the folder itself travel."""


@dataclass(slots=True)
class TaskFiles:
    """The files of tasks, each digested once as long as it is not edited."""

    _digests: dict[str, tuple[tuple[int, int], SentFile]] = field(default_factory=dict)
    _modules: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, task: Task) -> tuple[SentFile, ...]:
        """List the files of a task.

        Raises:
            StorageError: one cannot be read.
        """
        inputs = (str(split_member(text)[0]) for text in task.case.data_files)
        paths = dict.fromkeys((*_programs(task), *inputs, *_sources(task)))
        for function in task.case.user_functions:
            paths |= dict.fromkeys(self._modules_beside(function.rpartition(":")[0]))
        return tuple(self._file(path) for path in paths)

    def _file(self, path: str) -> SentFile:
        with storage.disk_errors(Path(path), "read"):
            status = Path(path).stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._digests.get(path)
        if known is None or known[0] != stamp:
            known = self._digests[path] = stamp, SentFile(path, storage.digest_file(Path(path)), status.st_size)
        return known[1]

    def _modules_beside(self, file: str) -> tuple[str, ...]:
        """A module of the user and those that it may import: Python files in and below its folder."""
        folder = str(Path(file).parent)
        if folder not in self._modules:
            self._modules[folder] = _python_files(folder)
        return tuple(dict.fromkeys((file, *self._modules[folder])))


def folders_of(task: Task) -> tuple[str, ...]:
    """Paths of the client that a task names and that are no files which it reads."""
    paths = {task.case.path: None}
    for source in task.case.sources:
        paths |= dict.fromkeys((source.path, *source.include))
    return tuple(paths)


def _python_files(folder: str) -> tuple[str, ...]:
    files: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        files += [os.path.join(parent, name) for name in sorted(names) if name.endswith(".py")]  # noqa: PTH118 - text
        if len(files) > MOST_MODULES:
            return tuple(path for path in files if os.path.dirname(path) == folder)  # noqa: PTH120 - the paths are text
    return tuple(files)


def _programs(task: Task) -> Iterator[str]:
    variants = itertools.chain.from_iterable(task.variants.values())
    for program in (*task.programs, *task.references.values(), *variants):
        for path in (program.ptx, program.cubin):
            if path and Path(path).exists():
                yield path


def _sources(task: Task) -> Iterator[str]:
    if not task.case.settings.twins:
        return
    for source in task.case.sources:
        try:
            yield from map(str, programs.inputs(source).files)
        except (OSError, GpuregressError) as error:
            raise StorageError(f"{source.path} cannot be read: {error}") from None
