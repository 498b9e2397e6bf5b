"""Note of what a launch accessed unwatched."""

from __future__ import annotations

import pytest

from gpuregress.devices.cpu.runtime.checks.unwatched import BULK, CLOCKS, HEAP, note


@pytest.mark.parametrize(
    ("parts", "checks", "expected"),
    [
        ((), ("races",), ""),
        ((BULK,), (), ""),
        ((BULK,), ("leaks", "barriers"), ""),
        ((BULK,), ("races",), "races of bulk copies in global memory are not watched"),
        ((CLOCKS,), ("races",), ""),
        ((HEAP,), ("uninitialized",), "unwritten reads of memory from malloc are not watched"),
        (
            (HEAP, BULK),
            ("races", "uninitialized"),
            "races and unwritten reads of memory from malloc, bulk copies in global memory are not watched",
        ),
    ],
)
def test_the_checks_that_were_asked_for_are_named(
    parts: tuple[str, ...], checks: tuple[str, ...], expected: str
) -> None:
    assert note(parts, checks) == expected
