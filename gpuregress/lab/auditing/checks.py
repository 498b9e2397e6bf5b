"""Dynamic checks in an audit: races, reads of unwritten memory, barriers, leaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Verdict
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob, AuditPart, Examined, JobVerdicts


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases with all dynamic checks; the points are the share of those without a finding."""
    summary = examination.run(context, examination.in_rounds(context, jobs), checks=("all",))
    return examination.of_cases(jobs, summary, _judged)


def _judged(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    """A case that fails without a finding may have ended before one: it is not examined."""
    found = [one for one in verdicts.examined if _has_findings(one)]
    clean = [one for one in verdicts.examined if not _has_findings(one) and one.status in ("pass", "new", "differ")]
    ran = [*clean, *found]
    left = (*verdicts.left, *(one for one in verdicts.examined if one not in ran))
    told = replace(verdicts, examined=tuple(ran), left=left)
    if not ran:
        return JobExamination(job.name, None, why=told.why_left)
    return examination.of_share(job.name, told, len(clean), [*_evidence(clean, found)])


def _has_findings(one: Verdict) -> bool:
    return one.outcome is not None and bool(one.outcome.observations.instruments.findings)


def _evidence(clean: Sequence[Verdict], found: Sequence[Verdict]) -> Iterator[AuditEvidence]:
    if clean:
        plural = f"{len(clean)} cases" if len(clean) != 1 else "1 case"
        yield AuditEvidence("proven", f"no finding of the dynamic checks in {plural}")
    for one in found:
        assert one.outcome is not None
        for finding in one.outcome.observations.instruments.findings:
            yield AuditEvidence("luck", f"{one.case}: {finding.kind}: {one_line(finding.message)}", finding.details)
    reports = [one.outcome.observations.instruments for one in (*clean, *found) if one.outcome is not None]
    for text in dict.fromkeys(text for report in reports for text in report.exchanges):
        yield AuditEvidence("luck", one_line(text))
    for text in dict.fromkeys(text for report in reports for text in report.unwatched):
        yield AuditEvidence("unnoticed", one_line(text))


PART = AuditPart(
    "checks",
    points=15,
    time_share=0.3,
    proves=(
        "In these cases no two threads access the same bytes without an order between them, nothing unwritten is read, "
        "no barrier is missed, and no memory leaks. Other inputs may do so."
    ),
    examine=examine,
    is_kept=True,
)
