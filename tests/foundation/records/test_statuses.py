"""Statuses with their reasons."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records.statuses import headline


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        ("fault", "trap: it trapped", "fault: trap: it trapped"),
        ("timeout", "timeout: killed at its limit of 5 s", "timeout: killed at its limit of 5 s"),
        ("differ", "", "differ: "),
    ],
)
def test_a_status_stands_once(status: str, reason: str, text: str) -> None:
    assert headline(status, reason) == text
