"""Reasons in a line, and what is left of a message."""

from __future__ import annotations

from gpuregress.foundation.records import Fault, Outcome
from gpuregress.judge.verdict import decide
from gpuregress.judge.verdict.reasons import fault_line, first_line
from tests.judge.verdict.samples import make_case


def test_all_lines_of_an_error_are_kept() -> None:
    told = "the assembler refuses this program for sm_90:\nk has 65536 bytes\nand 7 more"
    verdict = decide(make_case(), Outcome("c", "error", message=told), None, {})
    assert verdict.reason == "the assembler refuses this program for sm_90: k has 65536 bytes"
    assert verdict.notes == ("and 7 more",)


def test_a_reason_is_one_line() -> None:
    assert first_line("a\nb") == "a"
    assert first_line("") == ""


def test_a_fault_names_its_launch() -> None:
    assert fault_line(Outcome("c", "fault", Fault("trap", "k", launch=3))) == "trap: k (launch 3)"
    assert fault_line(Outcome("c", "timeout")) == "timeout: no more is known"
