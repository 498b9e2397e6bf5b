"""Programs that are worth optimising: a launch of theirs took long without.

The fact is kept in the compilation cache, so that the next run optimises them at once.
"""

from __future__ import annotations

import contextlib

from gpuregress.errors import StorageError
from gpuregress.records import Program
from gpuregress.toolchain import cache


def note(program: Program) -> None:
    """Keep the fact; a cache that cannot be written costs the next run time and nothing else."""
    with contextlib.suppress(StorageError):
        cache.store(_key(program), {"slow": True}, {})


def known(program: Program) -> bool:
    """Tell whether a launch of the program took long before.

    Raises:
        StorageError: others may write the cache.
    """
    return cache.load(_key(program)) is not None


def _key(program: Program) -> str:
    return cache.digest(["slow", program.key])
