"""Descriptions of waiting threads, read from a block's thread context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuregress.devices.cpu.runtime.context import DONE, ROWS
from gpuregress.devices.cpu.runtime.program import Site
from gpuregress.records import Dim3

_MOST_RANGES = 6


def describe_waiting(
    context: np.ndarray[Any, np.dtype[np.uint8]], places: Sequence[int], sites: Sequence[Site], block: Dim3
) -> list[str]:
    """Return one line for each instruction, `threads 0-30 wait at bar.sync, reduce.cu:12`, and for exited threads.

    Args:
        context: the block's context, bytes.
        places: site numbers of the places where threads wait.
        sites: all sites of the program.
        block: threads along x, y, z.
    """
    count = block[0] * block[1] * block[2]
    offset = ROWS["state"][0]
    states = context[offset : offset + 4 * count].view(np.int32)
    lines: list[str] = []
    for state in np.unique(states):
        threads = np.flatnonzero(states == state)
        verb = "wait" if len(threads) > 1 else "waits"
        if state == DONE:
            lines.append(f"{_threads(threads)} {'have' if len(threads) > 1 else 'has'} exited")
        else:
            # A state below 0 is the complement of the place's number, counted from 1.
            site = sites[places[(int(~state) if state < 0 else int(state)) - 1]]
            lines.append(f"{_threads(threads)} {verb} at {site.mnemonic}, {site.where}")
    return lines


def _threads(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    ranges = [(int(part[0]), int(part[-1])) for part in np.split(numbers, breaks)]
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_MOST_RANGES]]
    more = " …" if len(ranges) > _MOST_RANGES else ""
    return f"thread{'s' if len(numbers) > 1 else ''} {', '.join(words)}{more}"
