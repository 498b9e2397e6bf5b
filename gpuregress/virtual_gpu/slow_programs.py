"""Programs that are worth optimising: a launch of theirs took long without.

The fact is kept in the compilation cache, so that the next run optimises them at once.
"""

from __future__ import annotations

import contextlib

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records.programs import Program
from gpuregress.toolchain import cache


def note(program: Program, *, is_slow: bool = True) -> None:
    """Keep the fact; a cache that cannot be written costs the next run time and nothing else.

    Args:
        program: whose launch took long.
        is_slow: False: it did so with optimised code, too. Then the next run tries the other, which can tell where an
            endless launch stands.
    """
    with contextlib.suppress(StorageError):
        cache.store(_key(program), {"slow": is_slow}, {})


def known(program: Program) -> bool:
    """Tell whether a launch of the program took long before.

    Raises:
        StorageError: others may write the cache.
    """
    found = cache.load(_key(program))
    return found is not None and found["slow"]


def _key(program: Program) -> str:
    return cache.digest(["slow", program.key])
