"""Coverage by the files of a case: a compiler names them as its command line and the directives do."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from gpuregress.records import Coverage, FileCoverage, Source
from gpuregress.records.instrumentation.coverage import merged


def located(coverage: Coverage, source: Source) -> Coverage:
    """The coverage with the paths of its files, without those of libraries.

    Args:
        coverage: with files as the compiler names them.
        source: what was compiled.
    """
    paths = {one.path: _path(one.path, source) for one in coverage.files}
    found = [(paths[one.path], one) for one in coverage.files]
    return merged(Coverage((_moved(one, path),)) for path, one in found if path)


def _moved(one: FileCoverage, path: str) -> FileCoverage:
    return dataclasses.replace(one, path=path)


def _path(name: str, source: Source) -> str:
    """The path of a file of the project, "" for a library's."""
    main = Path(source.path)
    if Path(name).name == main.name and Path(name).parent in (Path(), main.parent):
        return source.path
    folders = (main.parent, *map(Path, source.include))
    return next((str((folder / name).resolve()) for folder in folders if (folder / name).is_file()), "")
