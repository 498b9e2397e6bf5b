"""Selection of jobs and cases by path, job name, case name or glob."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.document import reader
from gpuregress.foundation.errors import GpuregressError, JobError, JobErrors, NothingToDo, UsageError
from gpuregress.foundation.records import Case
from gpuregress.foundation.wording import first_names, suggestion
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan import case_planning
from gpuregress.jobs.plan.job_plan import CaseOverrides, JobPlan
from gpuregress.jobs.revision import Labels
from gpuregress.jobs.spec.job_files import is_hidden, is_named_as_job, is_read, job_files
from gpuregress.store.project import Project

_MOST_JOBS = 5
_JOB_LINE = re.compile(r"""^job:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^#\n]*?))[ \t]*(?:#.*)?$""", re.MULTILINE)


class BrokenJob(Record):
    """A job without cases, for it has errors.

    Attributes:
        name: the job's, from its file; unique in the plan.
        errors: at least one.
    """

    name: str
    errors: tuple[JobError, ...]


class Plan(Record):
    """The planned cases, and the jobs with errors.

    Attributes:
        cases: in the order of their files' names and their parameters.
        notes: lines for the user.
        broken: the jobs that are wrong, where the others are wanted nevertheless.
    """

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    broken: tuple[BrokenJob, ...] = ()


class CaseFilter(Record):
    """A filter of selected cases.

    Attributes:
        name_glob: keep only cases whose name, or job's name, it matches; several globs have `|` between them, which no
            name of a case holds.
        tags: keep only cases with one of these.
    """

    name_glob: str | None = None
    tags: Sequence[str] = ()

    def keeps(self, case: Case) -> bool:
        """Tell whether a case is kept."""
        if self.tags and not set(self.tags) & set(case.tags):
            return False
        return not self.globs or any(_matches(case, glob) for glob in self.globs)

    @property
    def globs(self) -> list[str]:
        """The globs of which a case's name must match one."""
        return self.name_glob.split("|") if self.name_glob else []

    @property
    def options(self) -> str:
        """The options of the command line: `-k GLOB --tag TAG`."""
        words = [f"-k {glob}" for glob in self.globs]
        words += [f"--tag {tag}" for tag in self.tags]
        return " ".join(words)


EVERY_CASE, AS_PLANNED = CaseFilter(), CaseOverrides()


def make(
    project: Project,
    selectors: Sequence[str],
    filters: CaseFilter = EVERY_CASE,
    overrides: CaseOverrides = AS_PLANNED,
    *,
    keep_going: bool = False,
) -> Plan:
    """Plan the selected cases.

    Args:
        project: where the jobs are.
        selectors: paths to job files or folders of them, job names, case names, or globs over case names; none: all.
        filters: keep only some of them.
        overrides: in place of the jobs' own settings.
        keep_going: plan the other jobs where one is wrong; `Plan.broken` names it.

    Raises:
        JobErrors: one of the jobs is wrong, or two have one name; not with `keep_going`.
        UsageError: a selector names nothing.
        NothingToDo: nothing is left.
    """
    if overrides.repeat is not None and overrides.repeat < 1:
        raise UsageError(f"--repeat {overrides.repeat}: it must be at least 1")
    if overrides.timeout is not None and not overrides.timeout > 0:
        raise UsageError(f"--timeout {overrides.timeout}: it must be more than 0 seconds")
    jobs = {path: quick_name(path) for path in job_files(project.configs)}
    selection = _Selection(project, jobs, selectors, [override.name for override in overrides.parameters])
    problems = _JobProblems(keep_going=keep_going)
    if selection.files:
        problems.add_clashes({**jobs, **{path: quick_name(path) for path in selection.files}})
    planned = _planned(selection.files, project, overrides, problems)
    if not selectors:
        for error in _no_files(project.configs):
            problems.add(error.path, error)
    problems.raise_if_any()
    left_out_notes = planned.notes_on_overrides(overrides, is_alone=not problems.errors)
    problems.add_clashes({Path(case.path): case.job for case in planned.cases})
    problems.raise_if_any()
    known = [case for case in planned.cases if Path(case.path) not in problems.errors]
    selected = [case for case in known if selection.takes(case) and not case.settings.is_partner]
    selection.check_used(known, {*planned.without_cases, *(quick_name(path) for path in problems.errors)})
    cases = tuple(case for case in selected if filters.keeps(case))
    groups = {case.agreement_group for case in cases if case.settings.overridden and case.settings.refused is None}
    partners = tuple(case for case in known if case.settings.is_partner and case.agreement_group in groups)
    cases += partners
    compared = [f"{case.job}: the cases of --set are compared with {case.name} (agree)" for case in partners]
    jobs_with_cases = {case.job for case in known}
    broken = problems.jobs(project, jobs_with_cases)
    if not cases and not broken:
        lines = [_nothing(project, jobs, filters), *planned.notes_without_those_of(()), *left_out_notes]
        raise NothingToDo("\n".join(lines))
    for glob in filters.globs:
        if cases and not broken and not any(_matches(case, glob) for case in selected):
            raise NothingToDo(f"no case is left by -k {glob}, beside the other globs: `gpuregress list` shows all")
    left_out = jobs_with_cases - {case.job for case in cases}  # a job without cases keeps its note
    notes = (*planned.notes_without_those_of(left_out), *left_out_notes, *compared)
    return Plan(cases, notes, broken)


class _PlannedJobs:
    """The cases of the selected files, and notes on their jobs.

    Attributes:
        cases: of all files.
        without_cases: jobs that are left out, for they lack a parameter of the command line, or have none of its cases.
    """

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.without_cases: set[str] = set()
        self._notes: dict[str, list[str]] = {}
        self._lacking: dict[str, JobPlan] = {}
        self._parameters: dict[str, None] = {}

    def add(self, job: JobPlan, cases: Sequence[Case], notes: Sequence[str]) -> None:
        self.cases += cases
        self._notes.setdefault(job.name, []).extend(notes)
        self._parameters |= dict.fromkeys(job.parameters)
        if job.lacks:
            self._lacking[job.name] = job
        if not cases:
            self.without_cases.add(job.name)

    def notes_without_those_of(self, jobs: Collection[str]) -> list[str]:
        """The notes of all jobs but these."""
        remaining: list[str] = []
        for job, notes in self._notes.items():
            if job not in jobs:
                remaining += notes
        return remaining

    def notes_on_overrides(self, overrides: CaseOverrides, *, is_alone: bool) -> list[str]:
        """Say which jobs are left out, for they lack a parameter of the command line.

        Args:
            overrides: those of the command line.
            is_alone: whether no other job is wrong, which would have to be reported.

        Raises:
            UsageError: no job has the parameters.
        """
        without: dict[str, list[str]] = {}
        for name, job in self._lacking.items():
            without.setdefault(", ".join(job.lacks), []).append(name)
        if is_alone and self._lacking and not self.cases and self.without_cases == self._lacking.keys():
            for override in overrides.parameters:
                if override.name not in self._parameters:
                    raise UsageError(self._unknown(override.name))
            names = ", ".join(override.name for override in overrides.parameters)
            raise UsageError(f"--set: no job has all of the parameters {names}: run the jobs of each by themselves")
        notes = []
        for names, jobs in without.items():
            notes.append(f"left out, without a parameter {names} for --set: {first_names(jobs, _MOST_JOBS)}")
        return notes

    def _unknown(self, name: str) -> str:
        jobs = list(self._lacking)
        subject = f"{jobs[0]} has no parameter" if len(jobs) == 1 else f"none of the {len(jobs)} jobs has a parameter"
        remedy = suggestion(name, self._parameters, there_are="the parameters are")
        if not self._parameters:
            remedy = f"; write `parameters: {{{name}: […]}}` into the job, and {name} where the number stands"
        return f"--set {name}: {subject} {name!r}{remedy}"


def _no_files(configs: Path) -> Iterator[JobError]:
    """Errors for folders, and links to missing files, that have the name of a job file."""
    if not configs.is_dir():
        return
    for path in sorted(configs.rglob("*")):
        if is_named_as_job(path.name) and not is_read(path) and not is_hidden(path.relative_to(configs)):
            kind = "a folder" if path.is_dir() else "a link to a missing file"
            yield JobError(path, None, "", f"is {kind}, not a job file")


def quick_name(path: Path) -> str:
    """Return a job's name without parsing its file: its top-level `job:`, else the file's name."""
    match = _JOB_LINE.search(_text(path))
    if match is None:
        return path.stem
    return match[1] or match[2] or match[3] or path.stem


class _JobProblems:
    """Errors by job file; a clash of names comes first.

    Args:
        keep_going: of two jobs with one name neither is planned, so both get the error.
    """

    def __init__(self, *, keep_going: bool) -> None:
        self.errors: dict[Path, list[JobError]] = {}
        self._keep_going = keep_going

    def add(self, path: Path, *errors: JobError) -> None:
        self.errors.setdefault(path, []).extend(errors)

    def add_clashes(self, jobs: dict[Path, str]) -> None:
        """Report jobs with one name, also up to case: they would write into one folder."""
        first: dict[str, Path] = {}
        for path, name in sorted(jobs.items()):
            other = first.setdefault(name.casefold(), path)
            if other == path:
                continue
            self.add(path, _clash(path, name, other))
            if self._keep_going:
                self.add(other, _clash(other, jobs[other], path))

    def add_other(self, path: Path, error: Exception) -> None:
        """Report an error that is not the job's own; raise it, unless the other jobs are to go on."""
        if not self._keep_going:
            raise error
        reason = str(error)
        if not isinstance(error, GpuregressError):
            reason = f"an error inside gpuregress ({type(error).__name__}: {error}); please report it"
        self.add(path, JobError(path, None, "", f"cannot be planned: {reason}"))

    def raise_if_any(self) -> None:
        if self.errors and not self._keep_going:
            raise JobErrors(tuple(itertools.chain.from_iterable(self.errors.values())))

    def jobs(self, project: Project, taken: set[str]) -> tuple[BrokenJob, ...]:
        """Return the broken jobs by name; two files that name the same job are one."""
        by_name: dict[str, list[JobError]] = {}
        for path, errors in self.errors.items():
            name = quick_name(path)
            if name in taken:
                name = str(path.relative_to(project.root) if path.is_relative_to(project.root) else path)
            by_name.setdefault(name, []).extend(errors)
        return tuple(BrokenJob(name, tuple(dict.fromkeys(errors))) for name, errors in sorted(by_name.items()))


def _clash(path: Path, name: str, other: Path) -> JobError:
    message = f"{name!r} is also the name of the job in {other}: every job of a project needs its own"
    return JobError(path, _job_line(path), "job", message)


def _text(path: Path) -> str:
    """Return the text of a job file; "" if it cannot be read, which planning reports."""
    try:
        return reader.content(path).decode("utf-8", errors="replace")
    except JobErrors:
        return ""


def _job_line(path: Path) -> int | None:
    text = _text(path)
    match = _JOB_LINE.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def _planned(files: Iterable[Path], project: Project, overrides: CaseOverrides, wrong: _JobProblems) -> _PlannedJobs:
    """Plan the cases of all files; errors go to `wrong`."""
    planned = _PlannedJobs()
    labels = Labels()
    for path in files:
        try:
            job = case_planning.of_job(path, project, overrides)
            planned.add(job, *job.labelled(project, labels))
        except JobErrors as error:
            wrong.add(path, *error.errors)
        except Exception as error:  # noqa: BLE001 - also a bug of ours costs this job only, where the others are wanted
            wrong.add_other(path, error)
    return planned


def _matches(case: Case, pattern: str) -> bool:
    return fnmatch.fnmatchcase(case.name, pattern) or fnmatch.fnmatchcase(case.job, pattern)


def _nothing(project: Project, jobs: dict[Path, str], filters: CaseFilter) -> str:
    if not jobs:
        return f"there is no job in {project.configs}: `gpuregress new KERNEL.cu` writes one"
    options = f" by {filters.options}" if filters.options else ""
    return f"no case is left{options}: `gpuregress list` shows all"


class _Selection:
    """The selected files and cases.

    Args:
        project: for paths.
        jobs: job file → its name.
        selectors: as the user wrote them.
        overridden: parameters with values of the command line.
    """

    def __init__(
        self, project: Project, jobs: dict[Path, str], selectors: Sequence[str], overridden: Sequence[str] = ()
    ) -> None:
        self._jobs = jobs
        self._overridden = overridden
        self._root = project.root
        self._paths: set[str] = set()
        self._names: list[str] = []
        files: list[Path] = []
        for selector in selectors:
            given = self._given_files(selector)
            if given:
                files += given
                self._paths.update(str(path) for path in given)
            else:
                self._names.append(selector)
                files += self._named_files(selector, project)
        self._all = not selectors
        self.files = tuple(sorted(jobs)) if self._all else tuple(sorted(set(files)))

    def _given_files(self, selector: str) -> list[Path]:
        """Return the job files at a path; [] if the selector is not a path."""
        if selector in self._jobs.values():
            return []
        try:
            path = Path(selector).absolute()
            if path.is_file():
                return [self._known(path)]
            if not path.is_dir():
                return []
            if self._root != path and self._root.is_relative_to(path.resolve()):
                raise UsageError(f"{selector} is a folder above the project {self._root}: name one inside it")
            files = [self._known(file) for file in job_files(path)]
        except (OSError, ValueError):
            return []
        if not files:
            raise NothingToDo(f"there is no job in {path}")
        return files

    def _known(self, path: Path) -> Path:
        """The path as the project's own listing has it."""
        resolved = path.resolve()
        for known in self._jobs:
            if known.resolve() == resolved:
                return known
        return resolved

    def _named_files(self, selector: str, project: Project) -> list[Path]:
        job = selector.partition("/")[0]
        files = [path for path, name in self._jobs.items() if name == job]
        if files:
            return files
        if _is_glob(selector):
            return list(self._jobs)
        if is_named_as_job(selector):
            root = project.root
            paths = [str(path.relative_to(root)) for path in self._jobs if path.is_relative_to(root)]
            raise UsageError(f"there is no job file {selector}{suggestion(selector, paths)}")
        raise UsageError(f"there is no job {job!r}{suggestion(job, self._jobs.values(), there_are='the jobs are')}")

    def takes(self, case: Case) -> bool:
        """Tell whether a case is selected."""
        return self._all or case.path in self._paths or any(self._means(name, case) for name in self._names)

    def _means(self, selector: str, case: Case) -> bool:
        if selector in (case.name, case.job) or _matches(case, selector):
            return True
        # A case of the job with other values: `reduce/n=1000,tile=64` and `--set tile=[128,256]`.
        return bool(self._overridden) and self._plain(selector) == self._plain(case.name)

    def _plain(self, name: str) -> tuple[str, ...]:
        """A case's name in parts, without the parameters that are overridden."""
        job, _, parameters = name.partition("/")
        words = [word for word in parameters.split(",") if word.partition("=")[0] not in self._overridden]
        return (job, *words)

    def check_used(self, planned: Sequence[Case], wrong: Collection[str]) -> None:
        """Raise UsageError or NothingToDo for a selector that selects no case, unless its job is wrong.

        Args:
            planned: the cases of the selected files.
            wrong: the names of jobs that cannot be planned.
        """
        for selector in self._names:
            if selector.partition("/")[0] in wrong or any(self._means(selector, case) for case in planned):
                continue
            if _is_glob(selector):
                raise NothingToDo(f"no case matches {selector!r}: `gpuregress list` shows all")
            job = selector.partition("/")[0]
            names = [case.name for case in planned if case.job == job]
            raise UsageError(f"there is no case {selector!r}{suggestion(selector, names, there_are='its cases are')}")


def _is_glob(selector: str) -> bool:
    return any(sign in selector for sign in "*?[")
