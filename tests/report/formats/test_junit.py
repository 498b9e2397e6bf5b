from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import SourceLocation
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


# The elements and attributes that junit-10.xsd of Jenkins' xUnit plugin allows, of those that reports use.
ALLOWED = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "file"},
        {"properties", "testcase"},
    ),
    "properties": (set[str](), {"property"}),
    "property": ({"name", "value"}, set[str]()),
    "testcase": ({"name", "time", "classname", "group"}, {"skipped", "error", "failure", "system-out"}),
    "skipped": ({"type", "message"}, set[str]()),
    "error": ({"type", "message"}, set[str]()),
    "failure": ({"type", "message"}, set[str]()),
    "system-out": (set[str](), set[str]()),
}


def test_the_report_keeps_to_the_schema_of_jenkins_and_names_the_lines() -> None:
    at = verdict("fault", case="reduce/fault", job="reduce", location=SourceLocation("/p/kernels/reduce.cu", 12))
    run = replace(summary(), verdicts=(*summary().verdicts, at))
    root = ET.fromstring(junit.render(run, ROOT))
    for element in root.iter():
        attributes, children = ALLOWED[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
    properties = {element.attrib["name"]: element.attrib["value"] for element in root.iter("property")}
    assert (properties["reduce/fault: file"], properties["reduce/fault: line"]) == ("kernels/reduce.cu", "12")
