from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.execution.runner import run_case
from gpuregress.foundation.records import Case, Comparison, Outcome, Rule, Sigmas, StatisticLimits
from gpuregress.judge import diagnosis
from gpuregress.judge.buffer_pairs import BufferPair
from tests import fakes


def outcome(case: Case, folder: Path) -> Outcome:
    return run_case(fakes.FakeDevice(), fakes.task(case, folder))


def compared(folder: Path, now: str, then: str, rule: Rule | None = None) -> Comparison:
    """The buffer `out` of kernel `now` against that of kernel `then`."""
    after = outcome(fakes.case(now, name="fake/now"), folder)
    before = outcome(fakes.case(then, name="fake/then"), folder)
    new, old = after.dumps[0], before.dumps[0]
    pair = BufferPair(fakes.case(now), "baseline", old, new, rule)
    return diagnosis.compare(pair, after)


def test_an_element_that_was_never_written_is_called_so(tmp_path: Path) -> None:
    actual = compared(tmp_path, "double", "twice")
    assert actual.differing == 1
    assert actual.findings[0].pattern == "never written"
    assert "thread" in actual.figures.worst_thread


def test_only_what_breaks_the_rule_is_diagnosed(tmp_path: Path) -> None:
    actual = compared(tmp_path, "twice_and_a_bit", "twice", Rule(rtol=0.0, atol=0.5))
    assert (actual.differing, actual.changed) == (1, 8)
    assert all("8 " not in finding.message for finding in actual.findings)


def test_what_is_the_same_gets_no_findings(tmp_path: Path) -> None:
    actual = compared(tmp_path, "twice", "twice")
    assert actual.same
    assert not actual.findings


@pytest.mark.parametrize("rule", [Rule(order="any"), Rule(statistics=StatisticLimits(mean=Sigmas(4)))])
def test_a_rule_that_knows_no_places_gets_no_findings(tmp_path: Path, rule: Rule) -> None:
    assert not compared(tmp_path, "double", "twice", rule).findings
