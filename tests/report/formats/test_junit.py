from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.gpu.records import replace
from gpuregress.report.formats import junit
from tests.report.samples import summary, verdict

ROOT = Path("/p")


def test_junit_counts_and_messages() -> None:
    root = ET.fromstring(junit.render(summary(), ROOT))
    suites = {suite.get("name"): suite for suite in root.iter("testsuite")}
    assert set(suites) == {"reduce", "broken", "other"}
    reduce = suites["reduce"]
    assert (reduce.get("tests"), reduce.get("failures"), reduce.get("errors")) == ("5", "4", "0")
    assert suites["broken"].get("errors") == "1"
    assert suites["other"].get("skipped") == "1"
    differ = next(case for case in reduce.iter("testcase") if case.get("name") == "reduce/differ")
    failure = differ.find("failure")
    assert failure is not None
    assert failure.get("message") == "sum: 3 of 8 differ"
    assert "the tail from element 5 on" in (failure.text or "")
    assert differ.get("time") == "0.25"


@given(st.text(), st.text())
def test_junit_is_xml_whatever_the_texts_hold(name: str, reason: str) -> None:
    run = replace(summary(), verdicts=(verdict("fault", case=name, job=name, reason=reason),))
    ET.fromstring(junit.render(run, ROOT))
