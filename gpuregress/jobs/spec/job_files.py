"""Job files of a project: every YAML file below its folder of jobs."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

SUFFIXES = (".yaml", ".yml")
_KEY = re.compile(rb"^[\"']?([A-Za-z_][\w-]*)[\"']?[ \t]*:", re.MULTILINE)
_KEYS_OF_JOBS = frozenset(
    (b"job", b"source", b"sources", b"language", b"buffers", b"launches", b"function", b"program")
)


def job_files(configs: Path) -> tuple[Path, ...]:
    """Return every job file below a folder, sorted, without hidden files and folders.

    A pipe or a device that is called like a job is a job that cannot be read.
    """
    if not configs.is_dir():
        return ()
    paths = (path for path in configs.rglob("*") if is_named_as_job(path.name) and is_read(path))
    return tuple(sorted(path for path in paths if not is_hidden(path.relative_to(configs))))


def is_of_another_program(configs: Path) -> bool:
    """Whether the YAML files below a folder have keys, and none that says what a job runs."""
    keys: set[bytes] = set()
    for file in job_files(configs):
        with contextlib.suppress(OSError):
            keys.update(_KEY.findall(file.read_bytes() if file.is_file() else b""))
    return bool(keys) and keys.isdisjoint(_KEYS_OF_JOBS)


def is_named_as_job(name: str) -> bool:
    """Whether a file's name is that of a job: `reduce.yaml`, also `REDUCE.YAML`."""
    return name.lower().endswith(SUFFIXES)


def is_read(path: Path) -> bool:
    """Whether a path can be a job file: no folder, and no link to a missing file."""
    return path.exists() and not path.is_dir()


def is_hidden(path: Path) -> bool:
    """Whether a file or one of its folders is hidden."""
    return any(part.startswith(".") for part in path.parts)
