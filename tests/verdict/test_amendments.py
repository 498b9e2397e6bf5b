"""Verdicts with what is known beside the case; `tests/judging/test_agreement.py` has whole groups."""

from __future__ import annotations

import pytest

from gpuregress.records import BufferVerdict, KnownFailing, Status, Verdict
from gpuregress.verdict import EXIT_CODES, with_agreement, with_known_failure, without_partners
from tests.verdict.samples import against, text

KNOWN = KnownFailing("2026-06-01", "issue 7")


def _verdict(status: Status, reason: str = "") -> Verdict:
    return Verdict("j", "c", status, reason, exit_code=EXIT_CODES[status], buffers=(BufferVerdict("sum", status),))


@pytest.mark.parametrize("status", ["differ", "fault", "timeout"])
def test_a_known_failure_is_a_skip_until_its_day(status: Status) -> None:
    failing = _verdict(status, "3 of 8 differ")
    skip = with_known_failure(failing, KNOWN, "2026-05-31")
    assert (skip.status, skip.exit_code) == ("skip", 0)
    assert skip.known is not None
    assert skip.known.status == status
    late = with_known_failure(failing, KNOWN, "2026-06-01")
    assert text(late) == (
        status,
        "3 of 8 differ (known_failing ended on 2026-06-01 (issue 7))",
        EXIT_CODES[status],
    )


def test_a_known_failure_that_passes_is_a_failure_until_its_day() -> None:
    early = with_known_failure(_verdict("pass"), KNOWN, "2026-05-31")
    assert (early.status, early.exit_code) == ("differ", 1)
    late = with_known_failure(_verdict("pass"), KNOWN, "2026-06-01")
    assert (late.status, late.exit_code) == ("pass", 0)
    assert late.notes == ("known_failing ended on 2026-06-01 (issue 7), and the case passes: remove the key",)


@pytest.mark.parametrize("status", ["error", "new", "skip"])
def test_trouble_and_new_cases_are_no_known_failures(status: Status) -> None:
    assert with_known_failure(_verdict(status), KNOWN, "2026-05-31") == _verdict(status)


@pytest.mark.parametrize(("same", "status"), [(True, "pass"), (False, "differ")])
def test_an_agreement_decides_a_new_case(status: Status, *, same: bool) -> None:
    decided = with_agreement(_verdict("new", "no baseline yet"), {"sum": against("agree", same=same)}, 2)
    assert (decided.status, decided.exit_code, decided.against) == (status, EXIT_CODES[status], ("agree",))
    assert decided.notes == ("2 cases of its group were not compared: skipped, failed or not run to the end",)


def test_a_case_without_partners_says_so() -> None:
    alone = without_partners(_verdict("new", "no baseline yet"), 0)
    assert alone.reason == "no baseline yet; nothing to agree with: it is alone in this run"
    assert without_partners(_verdict("pass"), 0).notes == ("nothing to agree with: it is alone in this run",)
