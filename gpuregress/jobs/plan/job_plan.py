"""Plan of a job before its cases carry the revisions of their sources.

It depends on the contents of files alone. Revisions depend on git and on what was recorded and accepted, so they are
determined anew for every run.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import revision
from gpuregress.jobs.revision import Labels
from gpuregress.jobs.spec.overrides import ParameterOverride
from gpuregress.store.project import Project
from gpuregress.toolchain.include_scanner import SourceInputs

AUTO = "auto"


class CaseOverrides(Record):
    """Options of the command line that override a job.

    Attributes:
        repeat: the runs of each case.
        timeout: seconds for a case.
        parameters: parameters with other values than the job's.
        partners: whether cases of the job are planned, too, with which `agree` compares those with other values.
    """

    repeat: int | None = None
    timeout: float | None = None
    parameters: tuple[ParameterOverride, ...] = ()
    partners: bool = False


class LabelRequest(Record):
    """A set of sources whose revision is wanted.

    Attributes:
        wanted: the job's own label, or `auto`.
        sources: each source and the files that it is made of.
    """

    wanted: str
    sources: tuple[tuple[Path, SourceInputs], ...]

    @property
    def has_unknown(self) -> bool:
        """Whether a source's text does not tell all that it reads."""
        return any(inputs.unknown for _, inputs in self.sources)


class JobPlan(Record):
    """The cases of a job.

    Attributes:
        name: the job's.
        cases: their `revision` is the position of their request, as a decimal number.
        requests: the distinct sets of sources.
        notes: for the user.
        parameters: the names of the job's parameters.
        lacks: parameters of the command line that the job does not have; it is left out then.
    """

    name: str
    cases: tuple[Case, ...]
    requests: tuple[LabelRequest, ...]
    notes: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    def labelled(self, project: Project, labels: Labels) -> tuple[tuple[Case, ...], tuple[str, ...]]:
        """The cases with their revisions, and all notes.

        Args:
            project: its baselines and runs know which sources a label stands for.
            labels: those of this planning.
        """
        resolved = [_resolved(self.name, one, project, labels) for one in self.requests]
        names = {str(position): name for position, (name, _) in enumerate(resolved)}
        cases = tuple(replace(case, revision=names[case.revision]) for case in self.cases)
        return cases, (*(note for _, note in resolved if note), *self.notes)


def _resolved(job: str, request: LabelRequest, project: Project, labels: Labels) -> tuple[str, str | None]:
    """The label of a set of sources, which no other source text has, and a note or None."""
    label = labels.of_all(request.sources) if request.wanted == AUTO else request.wanted
    if request.has_unknown:
        return label, None  # the program decides, once it is compiled: see `compiled_launches.of_programs`
    digest = revision.digest_of_all([inputs for _, inputs in request.sources])

    def recorded(text: str) -> Collection[str]:
        return revision.recorded(project.baselines, project.runs, job, text)

    name, note = revision.resolve(label, digest, recorded)
    if note and digest in revision.accepted(project.baselines, job, name):
        note = None  # known since the accept: a nightly run does not repeat it
    return name, f"{job}: {note}" if note else None


# --- validation of job names, which are also names of folders ---------------------------------------------------------


MAX_LENGTH = 100
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_WINDOWS = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)

_OURS = ("baseline.yaml", "cases.yaml")


def job_name_problem(name: str) -> str | None:
    """Explain why a name is not a valid job name; None if it is valid.

    Args:
        name: from the job's `job:`, or its file's name.
    """
    shown = repr(name if len(name) <= 60 else f"{name[:57]}…")
    if "/" in name or "\\" in name or name in (".", ".."):
        return f"{shown} leaves the project: a job's name is also its folder, so it must not hold / or .."
    if len(name) > MAX_LENGTH:
        return f"{shown} has {len(name)} characters; the limit is {MAX_LENGTH}"
    if not _SAFE.fullmatch(name) or name.endswith("."):
        return f"{shown} cannot be a folder: use letters, digits and . _ + -, with a letter, digit or _ first"
    if name.lower() in _OURS:
        return f"{shown} is the name of a file of gpuregress among the baselines: choose another"
    if _WINDOWS.fullmatch(name):
        return f"{shown} is a device's name on Windows: choose another"
    return None
