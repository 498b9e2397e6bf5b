"""JUnit report: XML for CI servers, one test suite for each job.

It keeps to the schema by which Jenkins' xUnit plugin refuses files (junit-10.xsd). A test case has no `file` and `line`
there, and no properties, so its suite has them.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gpuregress.foundation.escapes import inert, visible
from gpuregress.foundation.records import RunSummary
from gpuregress.report.case_lines import job_of
from gpuregress.report.entries import ReportEntry, entries

# What XML 1.0 cannot hold, not even escaped, and what is no control character.
_NOT_XML = re.compile("[\ufffe\uffff]")
_OWN_SUITES = ("missing cases", "gpuregress")
"""Suites of no job, the last ones."""


def render(summary: RunSummary, root: Path) -> str:
    """The run as JUnit XML: `differ`, `new`, `fault`, `timeout` are failures, `error` an error, `skip` skipped."""
    xml = JUnitXml("gpuregress")
    found = sorted(entries(summary, root), key=lambda entry: (_rank(entry), entry.group))
    for group, members in groupby(found, lambda entry: (_rank(entry), entry.group)):
        suite = TestSuite(_clean(group[1]))
        suite.timestamp = summary.started
        if not group[0]:
            _add_facts(suite, summary, group[1])
        for entry in members:
            suite.add_testcase(_case(entry))
            if entry.path:
                suite.add_property(f"{_clean(entry.name)}: file", _clean(entry.path))
            if entry.path and entry.line:
                suite.add_property(f"{_clean(entry.name)}: line", str(entry.line))
        xml.add_testsuite(suite)
    xml.update_statistics()
    xml._elem.attrib.pop("skipped", None)  # noqa: SLF001 - junitparser adds it, and the schema has it in suites alone
    text: bytes | str = xml.tostring()
    if isinstance(text, bytes):  # with lxml, which junitparser takes where it is installed
        return text.decode("utf-8")
    return text


def _rank(entry: ReportEntry) -> int:
    if entry.status in ("missing", "run"):
        return 1 + _OWN_SUITES.index(entry.group)
    return 0


def _add_facts(suite: TestSuite, summary: RunSummary, job: str) -> None:
    suite.add_property("run", _clean(summary.run))
    suite.add_property("device", _clean(summary.device))
    for space in summary.spaces:
        if visible(space.job) != job:
            continue
        for group in space.failures:
            suite.add_property("failures", _clean(group.text if group.is_only else f"{group.way}: {group.text}"))


def _case(entry: ReportEntry) -> TestCase:
    classname = job_of(entry.name) if entry.status == "missing" else entry.group
    case = TestCase(_clean(entry.name), classname=_clean(classname), time=entry.seconds)
    if entry.level in ("known", "skipped"):
        case.result = [Skipped(_clean(entry.message))]
    elif entry.level != "passed":
        kind = Error if entry.level == "error" else Failure
        result = kind(_clean(entry.message), entry.status)
        result.text = _clean("\n".join(entry.details))
        case.result = [result]
    if entry.output:
        case.system_out = _clean(entry.output)
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", inert(visible(text)))
