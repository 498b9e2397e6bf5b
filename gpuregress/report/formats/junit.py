"""JUnit report: XML for CI servers, one test suite for each job."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gpuregress.foundation.escapes import inert, visible
from gpuregress.foundation.records import RunSummary
from gpuregress.report.entries import ReportEntry, entries

# What XML 1.0 cannot hold, not even escaped, and what is no control character.
_NOT_XML = re.compile("[\ufffe\uffff]")
_OWN_SUITES = ("missing cases", "gpuregress")
"""Suites of no job, the last ones."""


def render(summary: RunSummary, root: Path) -> str:
    """The run as JUnit XML: `differ`, `new`, `fault`, `timeout` are failures, `error` an error, `skip` skipped."""
    xml = JUnitXml("gpuregress")
    found = sorted(entries(summary, root), key=lambda one: (_rank(one), one.group))
    for group, members in groupby(found, lambda one: (_rank(one), one.group)):
        suite = TestSuite(_clean(group[1]))
        suite.timestamp = summary.started
        if not group[0]:
            _add_facts(suite, summary, group[1])
        for one in members:
            suite.add_testcase(_case(one))
        xml.add_testsuite(suite)
    xml.update_statistics()
    text: bytes | str = xml.tostring()
    return text if isinstance(text, str) else text.decode("utf-8")


def _rank(one: ReportEntry) -> int:
    return 0 if one.status not in ("missing", "run") else 1 + _OWN_SUITES.index(one.group)


def _add_facts(suite: TestSuite, summary: RunSummary, job: str) -> None:
    suite.add_property("run", _clean(summary.run))
    suite.add_property("device", _clean(summary.device))
    for group in (group for space in summary.spaces if visible(space.job) == job for group in space.failures):
        suite.add_property("failures", _clean(group.text if group.is_only else f"{group.way}: {group.text}"))


def _case(one: ReportEntry) -> TestCase:
    classname = one.name.partition("/")[0] if one.status == "missing" else one.group
    case = TestCase(_clean(one.name), classname=_clean(classname), time=one.seconds)
    if one.path:
        case._elem.set("file", _clean(one.path))  # noqa: SLF001 - pytest's attributes, which junitparser does not know
        if one.line:
            case._elem.set("line", str(one.line))  # noqa: SLF001 - as above
    if one.level in ("known", "skipped"):
        case.result = [Skipped(_clean(one.message))]
    elif one.level != "passed":
        kind = Error if one.level == "error" else Failure
        result = kind(_clean(one.message), "missing" if one.status == "missing" else one.status)
        result.text = _clean("\n".join(one.details))
        case.result = [result]
    if one.output:
        case.system_out = _clean(one.output)
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", inert(visible(text)))
