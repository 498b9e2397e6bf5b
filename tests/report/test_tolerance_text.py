from __future__ import annotations

import pytest

from gpuregress.foundation.records import Status
from gpuregress.report import case_lines
from tests.store.history.past import verdict


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.001, "under 1 %"),
        (0.934, "93 %"),
        (0.999, "almost 100 %"),
        (1.0, "100 %"),
        (1.001, "over 100 %"),
        (1.5, "150 %"),
        (1e9, "over 1000 %"),
    ],
)
def test_the_limit_is_never_rounded_over(share: float, text: str) -> None:
    assert case_lines.percentage(share) == text


@pytest.mark.parametrize(
    ("status", "share", "verbose", "text"),
    [
        ("pass", 0.81, False, "81 % of its tolerance used"),
        ("pass", 0.80, False, ""),
        ("pass", 0.30, True, "30 % of its tolerance used"),
        ("differ", 2.0, False, ""),
        ("differ", 2.0, True, "200 % of its tolerance used"),
        ("pass", None, True, ""),
    ],
)
def test_what_a_line_says(status: Status, share: float | None, text: str, *, verbose: bool) -> None:
    assert case_lines.of_case(verdict("a", status, tolerance_share=share), verbose=verbose) == text
