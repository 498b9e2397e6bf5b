"""Subject of mutation testing: the cases of a job that pass as they are, with their programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Case, Outcome, Program, Source, Verdict
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.lab import experiment
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.mutating import cuda_mutants as cuda_source
from gpuregress.lab.mutating import device_code
from gpuregress.lab.mutating import ptx_mutants as ptx_source
from gpuregress.lab.mutating.mutants import Mutant
from gpuregress.session.compilation import CasePrograms, source_key, sources_of
from gpuregress.session.events import Listener
from gpuregress.store.project import Project
from gpuregress.toolchain import cache, programs
from gpuregress.toolchain.include_scanner import SUFFIXES


class NothingNoticed(UsageError):
    """No case compares anything, or every case passes with kernels that do nothing: no mutant could be noticed."""


class Subject(Record):
    """The cases of one job, unchanged.

    Attributes:
        project: whose.
        job: the job's name.
        cases: those that pass, as they run.
        verdicts: case → its verdict, with the outcome.
        built: case → its programs.
        programs: key of a source → its program.
        sources: key of a source → that source.
        notes: what the user should know of the other cases.
        slow: keys of the sources whose program is worth optimising, so that its mutants are, too: the limit of a mutant
            is a multiple of the time that the optimised program took.
    """

    project: Project
    job: str
    cases: tuple[Case, ...]
    verdicts: Mapping[str, Verdict]
    built: Mapping[str, CasePrograms]
    programs: Mapping[str, Program]
    sources: Mapping[str, Source]
    notes: tuple[str, ...] = ()
    slow: frozenset[str] = frozenset()

    def outcome(self, case: Case) -> Outcome:
        """Return the outcome of the unchanged case."""
        outcome = self.verdicts[case.name].outcome
        assert outcome is not None
        return outcome

    def limit_s(self, case: Case) -> float:
        """Return the time limit of a mutant: ten times that of the unchanged launches, and at least two seconds."""
        return min(case.limits.timeout, max(_LEAST_LIMIT_S, _LIMIT_FACTOR * launched_s(self.outcome(case))))


def launched_s(outcome: Outcome) -> float:
    """Return the seconds of a case's launches."""
    return sum(launch.elapsed_ms for launch in outcome.launches) / 1000.0


_LEAST_LIMIT_S = 2.0
_LIMIT_FACTOR = 10.0


def prepare(project: Project, planned: Sequence[Case], scratch: Path, listen: Listener) -> Subject:
    """Run the unchanged cases of a job on the CPU device.

    Args:
        project: whose.
        planned: cases of the job.
        scratch: a folder for the run.
        listen: receives the events of the run.

    Raises:
        NothingNoticed: no case compares its results with anything.
        UsageError: one of them does not pass.
        Interrupted: ^C.
        GpuregressError: the errors of `session.run`.
    """
    cases = tuple(_untimed(case) for case in planned)
    options = RunOptions("cpu", listen=listen)
    summary = options.run(experiment.scratch_project(project, scratch / "clean"), plan.Plan(cases))
    return of_verdicts(project, cases[0].job, cases, {verdict.case: verdict for verdict in summary.verdicts})


def of_verdicts(project: Project, job: str, planned: Sequence[Case], verdicts: Mapping[str, Verdict]) -> Subject:
    """Make the subject of cases that were run unchanged on the CPU device.

    Args:
        project: whose.
        job: the job.
        planned: its cases.
        verdicts: case → its verdict; the dumps are there.

    Raises:
        UsageError: one of them does not pass, or none was run.
    """
    cases = tuple(_untimed(case) for case in planned)
    _check_passes([verdicts[case.name] for case in cases])
    usable = tuple(case for case in cases if verdicts[case.name].status == "pass")
    if not usable:
        first = verdicts[cases[0].name]
        raise UsageError(f"no case of {job} runs on the CPU device: {first.case}: {first.reason}")
    left = [case.name for case in cases if verdicts[case.name].status != "pass"]
    notes = (f"{first_names(left)}: skipped, so no mutant is run on it",) if left else ()
    sources: dict[str, Source] = {}
    for case in usable:
        sources.update({source_key(source): source for source in sources_of(case)})
    compiled = {key: programs.find(source) or programs.compile(source) for key, source in sources.items()}
    built: dict[str, CasePrograms] = {}
    completed: list[Case] = []
    for case in usable:
        own = [compiled[source_key(source)] for source in sources_of(case)]
        if plan.has_named_members(case):
            for number, source in plan.type_sources(case).items():
                typed = programs.find(source) or programs.compile(source)
                own[number] = replace(own[number], types=typed.types)
        of_case = built_of(case, own)
        built[case.name] = of_case
        completed.append(plan.completed(case, of_case.programs, of_case.references))
    return Subject(
        project=project,
        job=job,
        cases=tuple(completed),
        verdicts=verdicts,
        built=built,
        programs=compiled,
        sources=sources,
        notes=notes,
        slow=frozenset(key for key, program in compiled.items() if cache.is_slow(program.key)),
    )


def _untimed(case: Case) -> Case:
    """Return the case without its timing: times of mutants decide nothing."""
    return case.with_settings(timing=None)


def _check_passes(verdicts: Sequence[Verdict]) -> None:
    failed = [verdict for verdict in verdicts if verdict.status not in ("pass", "skip")]
    if not failed:
        return
    first = failed[0]
    names = first_names([verdict.case for verdict in failed])
    if all(verdict.status == "new" for verdict in failed):
        remedy = "run it and `gpuregress accept` it first, or give the job a reference"
        has_passed = any(verdict.status == "pass" for verdict in verdicts)
        if has_passed or any(_compares(verdict) for verdict in failed):
            raise UsageError(
                f"results without a baseline or a reference would let mutants live: {names} ({first.reason}); {remedy}"
            )
        raise NothingNoticed(
            f"nothing would notice a mutant: {names} has no baseline and no reference ({first.reason}); {remedy}"
        )
    raise UsageError(f"the unchanged kernel must pass before a mutant counts, and {names} does not: {first.headline}")


def _compares(verdict: Verdict) -> bool:
    """Whether a new case has a buffer that is compared with something."""
    return any(buffer.status != "new" for buffer in verdict.buffers)


def built_of(case: Case, programs: Sequence[Program]) -> CasePrograms:
    """Assign programs in the order of `sources_of` to a case's own sources, its references and its variants."""
    count = len(case.sources)
    variants = count + len(case.reference_kernels)
    varied = [tuple(programs[start : start + count]) for start in range(variants, len(programs), count)]
    return CasePrograms(
        tuple(programs[:count]),
        dict(zip(case.reference_kernels, programs[count:variants], strict=True)),
        dict(zip(case.variants.sources if case.variants else (), varied, strict=True)),
    )


def is_cuda(source: Source) -> bool:
    """Tell whether a source is CUDA C++; of the others, the PTX of their programs is mutated."""
    return Path(source.path).suffix in SUFFIXES or Path(source.path).suffix not in (".py", ".ptx", ".cubin")


def mutants(subject: Subject) -> tuple[list[Mutant], dict[str, str]]:
    """List the mutants of a subject's kernels.

    Returns:
        The mutants, and the text of each file that they change.

    Raises:
        UsageError: there is no source to change.
    """
    all_mutants: list[Mutant] = []
    texts: dict[str, str] = {}
    for key in _own_keys(subject):
        source = subject.sources[key]
        if is_cuda(source):
            files = {path: _text(path) for path in local_files(subject.project, source)}
            code = device_code.reached(files, _roots(subject, source))
            texts |= {str(reached.file): reached.text for reached in code}
            all_mutants += cuda_source.find_mutants(code)
    for name, key in ptx_names(subject).items():
        texts[name] = _text(Path(subject.programs[key].ptx))
        all_mutants += ptx_source.find_mutants(texts[name], name, _entries(subject, key))
    if not all_mutants:
        raise UsageError(f"{subject.job} has no device code that can be changed: it has no source, or only a cubin")
    unique = {(mutant.file, mutant.operator, mutant.edits): mutant for mutant in all_mutants}
    return list(unique.values()), texts


def ptx_names(subject: Subject) -> dict[str, str]:
    """Return a name for the PTX of each source that is not CUDA C++ → the key of that source."""
    names: dict[str, str] = {}
    for key in _own_keys(subject):
        source = subject.sources[key]
        if is_cuda(source) or not subject.programs[key].ptx:
            continue
        name = source.name if source.path.endswith(".ptx") else f"{source.name}.ptx"
        if name in names:
            name = f"{name}#{len(names) + 1}"
        names[name] = key
    return names


def _own_keys(subject: Subject) -> tuple[str, ...]:
    """Return the keys of the cases' own sources, without references and variants."""
    return tuple(dict.fromkeys(source_key(source) for case in subject.cases for source in case.sources))


def _text(path: Path) -> str:
    """Return a file's text; bytes that are not UTF-8 stay what they are."""
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def local_files(project: Project, source: Source) -> tuple[Path, ...]:
    """Return a source and the files that it includes, as far as they belong to the project."""
    root, path = project.root.resolve(), Path(source.path)
    files = programs.inputs(source).files
    return tuple(file for file in files if file == path or file.resolve().is_relative_to(root))


def _roots(subject: Subject, source: Source) -> frozenset[str]:
    """Return the names of the kernels that are launched from a source, or of functions under test."""
    names = set(source.kernels)
    for case in subject.cases:
        for launch in case.launches:
            if case.sources[launch.source].path == source.path:
                names.add(launch.kernel)
    return frozenset(names)


def _entries(subject: Subject, key: str) -> frozenset[str]:
    """Return the mangled names of the kernels that are launched from a program."""
    entries = subject.programs[key].entries
    names: set[str] = set()
    for case in subject.cases:
        for launch in case.launches:
            if launch.kernel in entries and source_key(case.sources[launch.source]) == key:
                names.add(entries[launch.kernel].mangled)
    return frozenset(names)


def launched_entries(subject: Subject) -> dict[str, frozenset[str]]:
    """Return key of a source → the mangled names of the kernels that are launched from it."""
    return {key: _entries(subject, key) for key in _own_keys(subject)}
