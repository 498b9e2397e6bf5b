"""Evidence of an audit that verdicts give: of the cases as they are, dynamic checks, schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Comparison, InstrumentReports, Verdict, side_text
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.judge import write_coverage


class VerdictEvidence(Record):
    """What the verdicts on cases prove.

    Attributes:
        examined: the verdicts that tell anything; the other cases ended before they could.
        good: the number of their cases in which nothing is found.
        evidence: in the order in which it was found.
    """

    examined: tuple[Verdict, ...]
    good: int
    evidence: tuple[AuditEvidence, ...]


def of_cases(verdicts: Sequence[Verdict]) -> VerdictEvidence:
    """Return what the cases as they are prove: good are those that pass."""
    passed = [verdict for verdict in verdicts if verdict.status == "pass"]
    evidence = []
    if passed:
        sides = dict.fromkeys(side_text(name) for verdict in passed for name in verdict.against)
        text = f"{plural(len(passed), 'case')} passes" if len(passed) == 1 else f"{plural(len(passed), 'case')} pass"
        if sides:
            text += f", as {' and '.join(sides)}"
        evidence.append(AuditEvidence("proven", text))
    evidence += [_not_passed(verdict) for verdict in verdicts if verdict.status != "pass"]
    return VerdictEvidence(tuple(verdicts), len(passed), tuple(evidence))


def _not_passed(verdict: Verdict) -> AuditEvidence:
    if verdict.status == "new":
        return AuditEvidence("unnoticed", f"{verdict.case}: nothing is compared: {one_line(verdict.reason)}")
    if verdict.status == "skip":
        return AuditEvidence("unnoticed", f"{verdict.case}: {one_line(verdict.reason)}")
    return AuditEvidence("wrong", f"{verdict.case}: {one_line(verdict.headline)}")


def of_checks(verdicts: Sequence[Verdict]) -> VerdictEvidence:
    """Return what runs with dynamic checks prove. A case that fails without a finding may have ended before one."""
    clean: list[Verdict] = []
    with_findings: list[Verdict] = []
    for verdict in verdicts:
        if _reports(verdict).findings:
            with_findings.append(verdict)
        elif verdict.status in ("pass", "new", "differ"):
            clean.append(verdict)
    examined = (*clean, *with_findings)
    return VerdictEvidence(examined, len(clean), tuple(_check_evidence(clean, with_findings)))


def _reports(verdict: Verdict) -> InstrumentReports:
    if verdict.outcome is None:
        return InstrumentReports()
    return verdict.outcome.observations.instruments


def _check_evidence(clean: Sequence[Verdict], with_findings: Sequence[Verdict]) -> Iterator[AuditEvidence]:
    if clean:
        yield AuditEvidence("proven", f"no finding of the dynamic checks in {plural(len(clean), 'case')}")
    for verdict in with_findings:
        for finding in _reports(verdict).findings:
            yield AuditEvidence("luck", f"{verdict.case}: {finding.kind}: {one_line(finding.message)}", finding.details)
    reports = [_reports(verdict) for verdict in (*clean, *with_findings)]
    for text in dict.fromkeys(text for report in reports for text in report.exchanges):
        yield AuditEvidence("luck", one_line(text))
    for text in dict.fromkeys(text for report in reports for text in report.unwatched):
        yield AuditEvidence("unnoticed", one_line(text))


def of_schedules(verdicts: Sequence[Verdict], schedules: int) -> VerdictEvidence:
    """Return what runs under several schedules prove. A case that faults under the first has no others.

    Args:
        verdicts: on the cases.
        schedules: the number of schedules.
    """
    examined = []
    evidence = []
    idle = []
    good = 0
    for verdict in verdicts:
        if verdict.outcome is None or not verdict.outcome.observations.along("schedule"):
            continue
        examined.append(verdict)
        differences = _schedule_differences(verdict)
        for comparison in differences:
            text = f"{comparison.buffer}: {comparison.message}"
            evidence.append(AuditEvidence("luck", f"{verdict.case}: {one_line(text)}"))
        if write_coverage.wrote_nothing(verdict):
            text = f"{verdict.case}: nothing was written, under any schedule"
            idle.append(AuditEvidence("unnoticed", text))
        elif not differences:
            good += 1
    evidence += idle
    if good:
        text = f"the same result under {schedules} schedules in {plural(good, 'case')}"
        evidence.insert(0, AuditEvidence("proven", text))
    return VerdictEvidence(tuple(examined), good, tuple(evidence))


def _schedule_differences(verdict: Verdict) -> list[Comparison]:
    """Return what differs under another schedule by more than the rule of its buffer allows."""
    comparisons = [comparison for buffer in verdict.buffers for comparison in buffer.comparisons]
    return [comparison for comparison in comparisons if comparison.against == "schedule" and not comparison.same]
