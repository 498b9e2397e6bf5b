"""Rows of the table of results, and how they are measured and printed."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: what was measured.
        ours: our figure, with its unit.
        peer: the peer and its figure, or the limit.
        ratio: how many times better than the peer we are (below 1: worse), or limit / ours; None: not measured.
        goal: what the ratio should be at least, None where no goal is set.
        note: anything that a reader must know.
    """

    what: str
    ours: str
    peer: str
    ratio: float | None = None
    goal: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or nothing where there is no goal or no figure."""
        if self.ratio is None or self.goal is None:
            return ""
        return "ok" if self.ratio >= self.goal else "MISSED"


def missing(what: str, why: str) -> Row:
    """The row of something that could not be measured here."""
    return Row(what, "", "", note=f"not measured: {why}")


def median_seconds(action: Callable[[], object], repeats: int = 5, *, warmup: int = 1) -> float:
    """The median wall time of an action, after `warmup` runs that do not count."""
    for _ in range(warmup):
        action()
    return statistics.median(_seconds(action) for _ in range(repeats))


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    cells = [("what", "gpuregress", "beside it", "ratio", "goal", "", "")]
    cells += [
        (row.what, row.ours, row.peer, _number(row.ratio), _number(row.goal), row.verdict, row.note) for row in rows
    ]
    widths = [max(len(cell[column]) for cell in cells) for column in range(6)]
    return "\n".join(
        "  ".join((*(text.ljust(width) for text, width in zip(cell, widths, strict=False)), cell[6])).rstrip()
        for cell in cells
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def machine() -> str:
    """Processor, cores, system and Python, on one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    system = f"{platform.system()} {platform.release()}"
    return f"{model}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"
