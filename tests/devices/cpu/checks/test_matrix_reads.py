"""Reads of wgmma: each check reports what it is asked for, and nothing else."""

from __future__ import annotations

import pytest

from tests.checks.planted import detection

NAMES = ("warpgroups_operand", "warpgroups_proxy", "warpgroups_overwritten", "warpgroups_unwritten")


@pytest.mark.parametrize(("check", "found"), [("races", NAMES[:3]), ("uninitialized", NAMES[3:])])
def test_what_each_check_finds(check: str, found: tuple[str, ...]) -> None:
    said = detection.run("warpgroups", planted=True, names=NAMES, checks=(check,))
    assert tuple(pair.name for pair, findings in said if findings) == found
