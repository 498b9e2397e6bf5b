"""Verdicts with what is known beside the case; `tests/judge/test_agreement.py` has whole groups."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import (
    BufferVerdict,
    CaseSettings,
    Comparison,
    CostComparison,
    DeviceInfo,
    Fault,
    FurtherRun,
    KnownFailing,
    Launch,
    Observations,
    Outcome,
    ResourceLimits,
    RunFacts,
    Status,
    TimingComparison,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.verdict import EXIT_CODES, with_agreement, with_known_failure, without_partners
from tests.judge.verdict.samples import CPU, GPU, against, done, make_case, text

KNOWN = KnownFailing("2026-06-01", "issue 7")
CASE = make_case()


def _verdict(status: Status, reason: str = "") -> Verdict:
    return Verdict("j", "c", status, reason, exit_code=EXIT_CODES[status], buffers=(BufferVerdict("sum", status),))


@pytest.mark.parametrize("status", ["differ", "fault", "timeout", "error"])
def test_a_known_failure_is_a_skip_until_its_day(status: Status) -> None:
    failing = replace(_verdict(status, "3 of 8 differ"), exit_code=3)
    known = replace(KNOWN, status=status)
    skip = with_known_failure(failing, known, "2026-05-31", CASE)
    assert (skip.status, skip.exit_code) == ("skip", 0)
    assert skip.known is not None
    assert skip.known.status == status
    late = with_known_failure(failing, known, "2026-06-01", CASE)
    assert text(late) == (
        status,
        "3 of 8 differ (known_failing ended on 2026-06-01 (issue 7))",
        3,
    )
    for other in {"differ", "fault", "timeout", "error"} - {status}:
        unknown = with_known_failure(failing, replace(known, status=other), "2026-05-31", CASE)
        told = f"another failure than known_failing names, which is {other} (issue 7)"
        assert text(unknown) == (status, f"3 of 8 differ ({told})", 3)
        assert with_known_failure(failing, replace(known, status=other), "2026-06-01", CASE) == failing


@pytest.mark.parametrize(
    ("keys", "kind", "device", "is_known"),
    [
        ({}, "out-of-bounds", CPU, True),
        ({"fault": "out-of-bounds"}, "out-of-bounds", CPU, True),
        ({"fault": "deadlock"}, "out-of-bounds", CPU, False),
        ({"fault": "deadlock"}, "timeout", CPU, False),
        ({"fault": "deadlock"}, "timeout", GPU, True),
        ({"fault": "deadlock"}, "barrier", CPU, True),
        ({"kernel": "sum"}, "trap", CPU, True),
        ({"kernel": "scale"}, "trap", CPU, False),
    ],
)
def test_a_known_fault_is_that_of_its_kind_and_kernel(
    keys: dict[str, str], kind: str, device: DeviceInfo, *, is_known: bool
) -> None:
    outcome = Outcome("c", "fault", Fault(kind, "bad", position=0), device=device)
    failing = replace(_verdict("timeout" if kind == "timeout" else "fault", kind), outcome=outcome)
    case = make_case(launches=(Launch("sum", (1, 1, 1), (1, 1, 1), 0, ()),))
    judged = with_known_failure(failing, replace(KNOWN, status="fault", **keys), "2026-05-31", case)
    assert (judged.status == "skip") is is_known
    at_start = replace(failing, outcome=replace(outcome, fault=Fault(kind, "in a fill")))
    judged = with_known_failure(at_start, replace(KNOWN, status="fault", kernel="sum"), "2026-05-31", case)
    assert judged.status == failing.status


def test_a_known_difference_is_that_of_its_buffer_alone() -> None:
    known = replace(KNOWN, buffer="sum")
    failing = _verdict("differ", "3 of 8 differ")
    both = replace(failing, buffers=(*failing.buffers, BufferVerdict("max", "differ")))
    other = replace(failing, buffers=(BufferVerdict("max", "differ"),))
    slow = replace(failing, timing=TimingComparison("slower", "time", "1.3 times as long", fails=True))
    costly = replace(failing, costs=(CostComparison("sectors", "1.3 times as many", fails=True),))
    wide = make_case(settings=CaseSettings(resources=ResourceLimits(registers=32)))
    used = replace(failing, outcome=done(resources={"k": {"registers": 40}}))
    cases = [(failing, CASE), (both, CASE), (other, CASE), (slow, CASE), (costly, CASE), (used, wide)]
    found = [with_known_failure(one, known, "2026-05-31", case).status for one, case in cases]
    assert found == ["skip", *["differ"] * 5]


def test_a_reference_that_fails_is_no_known_difference() -> None:
    raised = done(
        observations=Observations(
            runs=(FurtherRun("reference", "", facts=RunFacts(errors={"sum": "ref.py:f raised KeyError"})),)
        )
    )
    failing = replace(_verdict("differ", "sum: reference: ref.py:f raised KeyError"), outcome=raised)
    known = [replace(KNOWN, **keys) for keys in ({}, {"buffer": "sum"}, {"status": "error"})]
    found = [with_known_failure(failing, one, "2026-05-31", CASE).status for one in known]
    assert found == ["differ", "differ", "skip"]
    unanswered = Comparison("sum", "check", "python", same=False, identical=False, of=4, unanswered=True)
    judged = BufferVerdict("sum", "differ", comparisons=(unanswered,))
    failing = replace(_verdict("differ", "sum: python: f raised KeyError"), buffers=(judged,))
    assert [with_known_failure(failing, one, "2026-05-31", CASE).status for one in known] == found
    assert KnownFailing("2026-06-01", "", "timeout", "timeout").failure == "timeout"


def test_a_known_failure_that_passes_is_a_failure_until_its_day() -> None:
    early = with_known_failure(_verdict("pass"), KNOWN, "2026-05-31", CASE)
    assert (early.status, early.exit_code) == ("differ", 1)
    late = with_known_failure(_verdict("pass"), KNOWN, "2026-06-01", CASE)
    assert (late.status, late.exit_code) == ("pass", 0)
    assert late.notes == ("known_failing ended on 2026-06-01 (issue 7), and the case passes: remove the key",)


@pytest.mark.parametrize("status", ["error", "new", "skip"])
def test_trouble_and_new_cases_are_no_known_failures(status: Status) -> None:
    known = replace(KNOWN, status=status)
    assert with_known_failure(_verdict(status), known, "2026-05-31", CASE) == _verdict(status)


@pytest.mark.parametrize(("same", "status"), [(True, "pass"), (False, "differ")])
def test_an_agreement_decides_a_new_case(status: Status, *, same: bool) -> None:
    decided = with_agreement(_verdict("new", "no baseline yet"), {"sum": against("agree", same=same)}, 2)
    assert (decided.status, decided.exit_code, decided.against) == (status, EXIT_CODES[status], ("agree",))
    assert decided.notes == ("2 cases of its group were not compared: skipped, failed or not run to the end",)


def test_a_case_without_partners_says_so() -> None:
    alone = without_partners(_verdict("new", "no baseline yet"), 0)
    assert alone.reason == "no baseline yet; nothing to agree with: it is alone in this run"
    assert without_partners(_verdict("pass"), 0).notes == ("nothing to agree with: it is alone in this run",)
