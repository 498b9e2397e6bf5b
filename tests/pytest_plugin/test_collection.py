"""Texts of failures; the collectors themselves are in test_pytest_plugin.py."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Verdict
from gpuregress.pytest_plugin.collection import failure_text
from gpuregress.pytest_plugin.run_of_session import ReachedVerdict

ROOT = Path("/home/alice/project")


def test_a_difference_says_how_to_accept_it_and_why_it_was_not() -> None:
    reached = ReachedVerdict(Verdict("scale", "scale/n=7", "differ", "out differs"), "RUN", refusal="it was rejected")
    assert failure_text(reached, ROOT).splitlines() == [
        "differ   scale/n=7  0.000 s  out differs",
        "to accept it: gpuregress accept --run RUN scale/n=7",
        "          or: pytest --gpuregress-accept",
        "not accepted: it was rejected",
    ]


def test_other_failures_keep_their_lines_and_show_control_characters() -> None:
    verdict = Verdict("scale", "scale/n=7", "error", "broken", notes=("line 1\x1b[2J", "    ^"))
    text = failure_text(ReachedVerdict(verdict, "RUN"), ROOT)
    assert "accept" not in text
    assert "\x1b" not in text
    assert text.endswith("\n  |     ^")
