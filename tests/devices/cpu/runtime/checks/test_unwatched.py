"""Note of what a launch accessed unwatched."""

from __future__ import annotations

import pytest

from gpuregress.devices.cpu.runtime.checks.unwatched import CLOCKS, HEAP, REMOTE, note


@pytest.mark.parametrize(
    ("parts", "checks", "expected"),
    [
        ((), ("races",), ""),
        ((REMOTE,), (), ""),
        ((REMOTE,), ("leaks", "barriers"), ""),
        ((REMOTE,), ("races",), "races of copies to shared memory of other blocks are not watched"),
        ((CLOCKS,), ("races",), ""),
        ((HEAP,), ("uninitialized",), "unwritten reads of memory from malloc are not watched"),
        (
            (HEAP, REMOTE),
            ("races", "uninitialized"),
            "races and unwritten reads of memory from malloc, copies to shared memory of other blocks are not watched",
        ),
    ],
)
def test_the_checks_that_were_asked_for_are_named(
    parts: tuple[str, ...], checks: tuple[str, ...], expected: str
) -> None:
    assert note(parts, checks) == expected
