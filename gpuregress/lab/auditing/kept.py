"""Examinations of earlier audits by content: programs, job, files, baselines, code of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import from_json, to_json
from gpuregress.foundation.records.audits import JobExamination
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob, AuditPart, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.lab.mutating.subject import Subject
from gpuregress.toolchain import cache

FORMAT = 1
"""Counts up whenever the meaning of a part changes; old results are then never found again."""


def find(part: AuditPart, context: AuditContext, jobs: Sequence[AuditedJob]) -> Mapping[str, JobExamination]:
    """Job → its complete examination by a part in an earlier audit, where nothing has changed since."""
    found: dict[str, JobExamination] = {}
    for job in () if context.fresh else jobs:
        key = _key(part, context, job.name)
        record = cache.load(key) if key else None
        if record is None:
            continue
        try:
            found[job.name] = from_json(JobExamination, record["examination"])
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def keep(part: AuditPart, context: AuditContext, examined: Iterable[JobExamination]) -> None:
    """Keep the complete examinations; a cache that cannot be written costs the next audit time and nothing else."""
    for one in examined:
        is_complete = one.share is not None and one.examined == 1.0 and not one.why
        key = _key(part, context, one.job) if is_complete else ""
        if not key:
            continue
        try:
            cache.store(key, {"examination": to_json(one)}, {})
        except StorageError:
            return


def _key(part: AuditPart, context: AuditContext, job: str) -> str:
    """The key of an examination; "" where not all that decides it can be known, as of cases without a turn."""
    subject = context.subjects.get(job)
    left = context.clean.get(job, JobVerdicts()).left
    digest = results.subject_digest(subject) if isinstance(subject, Subject) and not left else ""
    if not isinstance(subject, Subject) or not digest:
        return ""
    try:
        text = Path(subject.cases[0].path).read_bytes()  # also what no case has: `where`, `fuzz`
    except OSError:
        return ""
    root = str(context.project.root)
    return cache.digest(("audit", str(FORMAT), cache.code_digest(), part.name, job, root, digest, text))
