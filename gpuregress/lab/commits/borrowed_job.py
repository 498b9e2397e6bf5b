"""Job of the work tree for commits that lack it, with the files that it names, but no kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gpuregress.foundation.records import Case, to_json
from gpuregress.jobs.plan.source_files import SUFFIXES
from gpuregress.lab.commits.repository import Repository


def files(repository: Repository, cases: Sequence[Case]) -> dict[str, Path]:
    """Path in the repository → file of the work tree, for all that the cases' jobs need besides their own kernels.

    These are the job file, Python functions, data, and the sources of trusted kernels. A kernel that is tested must be
    the commit's.

    Args:
        repository: files outside of it are where the job says, for every commit.
        cases: planned in the work tree.
    """
    named: set[Path] = set()
    own: set[Path] = set()
    for case in cases:
        document = to_json(case)
        trusted = document.pop("reference_kernels", {})
        named |= set(_existing(_texts([document, trusted])))
        own |= {path for path in _existing(_texts(document)) if path.suffix in SUFFIXES}
    inside = (path for path in sorted(named - own) if path.is_relative_to(repository.root))
    return {str(path.relative_to(repository.root)): path for path in inside}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _existing(texts: Iterable[str]) -> Iterator[Path]:
    """The files among absolute paths; a Python function is `/abs/module.py:function`."""
    for text in texts:
        if not text.startswith("/") or len(text) > 4096:
            continue
        for candidate in (text, text.rpartition(":")[0]):
            if candidate and Path(candidate).is_file():
                yield Path(candidate).resolve()
                break
