"""JUnit report: XML for CI servers, one test suite for each job."""

from __future__ import annotations

import re
from itertools import groupby

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gpuregress.escapes import visible
from gpuregress.records import Missing, RunSummary, Verdict
from gpuregress.report import terminal

# What XML 1.0 cannot hold, not even escaped, and what is no control character.
_NOT_XML = re.compile("[\ufffe\uffff]")
_FAILURES = {"differ", "new", "fault", "timeout"}


def render(summary: RunSummary) -> str:
    """The run as JUnit XML: `differ`, `new`, `fault`, `timeout` are failures, `error` an error, `skip` skipped."""
    xml = JUnitXml("gpuregress")
    for job, verdicts in groupby(sorted(summary.verdicts, key=lambda verdict: verdict.job), lambda v: v.job):
        suite = TestSuite(_clean(job))
        suite.timestamp = summary.started
        suite.add_property("run", _clean(summary.run))
        suite.add_property("device", _clean(summary.device))
        for group in (group for space in summary.spaces if space.job == job for group in space.failures):
            suite.add_property("failures", _clean(group.text if group.is_only else f"{group.way}: {group.text}"))
        for verdict in verdicts:
            suite.add_testcase(_case(verdict))
        xml.add_testsuite(suite)
    if summary.missing:
        suite = TestSuite("missing cases")
        suite.timestamp = summary.started
        for one in summary.missing:
            suite.add_testcase(_missing(one))
        xml.add_testsuite(suite)
    if summary.interrupted or (summary.exit_code and not _is_accounted_for(summary)):
        suite = TestSuite("gpuregress")
        suite.timestamp = summary.started
        suite.add_testcase(_whole_run(summary))
        xml.add_testsuite(suite)
    xml.update_statistics()
    text: bytes | str = xml.tostring()
    return text if isinstance(text, str) else text.decode("utf-8")


def _is_accounted_for(summary: RunSummary) -> bool:
    """Whether some test case of the report fails; else a failed run gets a test case of its own."""
    return bool(summary.missing) or any(verdict.exit_code for verdict in summary.verdicts)


def _whole_run(summary: RunSummary) -> TestCase:
    case = TestCase("the run", classname="gpuregress")
    notes = _clean("\n".join(summary.notes))
    case.result = [Error(notes.partition("\n")[0] or "no case was run", f"exit code {summary.exit_code}")]
    case.result[0].text = notes
    return case


def _missing(one: Missing) -> TestCase:
    name = _clean(one.case)
    case = TestCase(name, classname=name.partition("/")[0])
    case.result = [Failure(_clean(one.lines[0]), "missing")]
    case.result[0].text = _clean("\n".join(one.lines))
    return case


def _case(verdict: Verdict) -> TestCase:
    case = TestCase(_clean(verdict.case), classname=_clean(verdict.job), time=verdict.seconds)
    reason = _clean(verdict.reason or verdict.status)
    if verdict.status in _FAILURES:
        result = Failure(reason, verdict.status)
    elif verdict.status == "error":
        result = Error(reason, verdict.status)
    elif verdict.status == "skip":
        result = Skipped(reason)
    else:
        return _with_output(case, verdict)
    if verdict.status != "skip":
        result.text = _clean("\n".join(terminal.details(verdict)))
    case.result = [result]
    return _with_output(case, verdict)


def _with_output(case: TestCase, verdict: Verdict) -> TestCase:
    if verdict.outcome is not None and verdict.outcome.output:
        case.system_out = _clean(verdict.outcome.output)
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", visible(text))
