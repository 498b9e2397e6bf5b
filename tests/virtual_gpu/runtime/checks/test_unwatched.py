"""Note of what a launch accessed unwatched."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.runtime.checks.layout import CLOCKS, HEAP, LATE_TURNS, note


@pytest.mark.parametrize(
    ("parts", "checks", "expected"),
    [
        ((), ("races",), ""),
        ((LATE_TURNS,), (), ""),
        ((LATE_TURNS,), ("leaks", "barriers"), ""),
        ((LATE_TURNS,), ("races",), "races of blocks after a million changes between blocks are not watched"),
        ((CLOCKS,), ("races",), ""),
        ((HEAP,), ("uninitialized",), "unwritten reads of memory from malloc are not watched"),
        (
            (HEAP, LATE_TURNS),
            ("races", "uninitialized"),
            f"races and unwritten reads of {HEAP}, {LATE_TURNS} are not watched",
        ),
    ],
)
def test_the_checks_that_were_asked_for_are_named(
    parts: tuple[str, ...], checks: tuple[str, ...], expected: str
) -> None:
    assert note(parts, checks) == expected
