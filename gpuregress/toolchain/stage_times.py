"""Times of the stages of compilations, kept beside the compiled programs for the run that waited for them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from gpuregress.errors import StorageError
from gpuregress.toolchain import cache


def note(program: str, seconds: Mapping[str, float]) -> None:
    """Keep the times of a program's stages; a cache that cannot be written costs the times and nothing else.

    Args:
        program: its key.
        seconds: stage, in words → its wall time.
    """
    now = time.time()
    with contextlib.suppress(StorageError):
        stages = {**_stages(program), **{stage: [taken, now] for stage, taken in seconds.items()}}
        cache.store(_key(program), {"stages": stages}, {})


def since(program: str, start: float) -> dict[str, float]:
    """Return the stages of a program that ended after a time, each with its seconds of wall time.

    Args:
        program: its key.
        start: seconds since the epoch.
    """
    with contextlib.suppress(StorageError):
        return {stage: taken for stage, (taken, ended) in _stages(program).items() if ended >= start}
    return {}


def _stages(program: str) -> dict[str, list[float]]:
    record = cache.load(_key(program)) or {}
    stages: dict[str, list[float]] = record.get("stages", {})
    return stages


def _key(program: str) -> str:
    return cache.digest(["stages", program])
