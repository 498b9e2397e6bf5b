"""JUnit XML, for CI servers: a test suite a job, a test case a case."""

from __future__ import annotations

import re
from itertools import groupby

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gpuregress.records import RunSummary, Verdict
from gpuregress.report import terminal

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILURES = {"differ", "new", "fault", "timeout"}


def render(summary: RunSummary) -> str:
    """The run as JUnit XML: `differ`, `new`, `fault`, `timeout` are failures, `error` an error, `skip` skipped."""
    xml = JUnitXml("gpuregress")
    for job, verdicts in groupby(sorted(summary.verdicts, key=lambda verdict: verdict.job), lambda v: v.job):
        suite = TestSuite(_clean(job))
        suite.timestamp = summary.started
        suite.add_property("run", summary.run)
        suite.add_property("device", summary.device)
        for verdict in verdicts:
            suite.add_testcase(_case(verdict))
        xml.add_testsuite(suite)
    xml.update_statistics()
    text: bytes | str = xml.tostring()
    return text if isinstance(text, str) else text.decode("utf-8")


def _case(verdict: Verdict) -> TestCase:
    case = TestCase(_clean(verdict.case), classname=_clean(verdict.job), time=verdict.seconds)
    reason = _clean(verdict.reason or verdict.word)
    if verdict.word in _FAILURES:
        result = Failure(reason, verdict.word)
    elif verdict.word == "error":
        result = Error(reason, verdict.word)
    elif verdict.word == "skip":
        result = Skipped(reason)
    else:
        return _with_output(case, verdict)
    if verdict.word != "skip":
        result.text = _clean("\n".join(terminal.details(verdict)))
    case.result = [result]
    return _with_output(case, verdict)


def _with_output(case: TestCase, verdict: Verdict) -> TestCase:
    if verdict.outcome is not None and verdict.outcome.output:
        case.system_out = _clean(verdict.outcome.output)
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
