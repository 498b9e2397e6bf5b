"""Subject of mutation testing: the cases of a job that pass as they are, with their programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.escapes import first_names
from gpuregress.foundation.records import Case, Outcome, Program, Source, Verdict
from gpuregress.gpu.records import Record
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
    return sum(one.elapsed_ms for one in outcome.launches) / 1000.0


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
    cases = tuple(map(_untimed, planned))
    options = RunOptions("cpu", listen=listen)
    summary = options.run(experiment.scratch_project(project, scratch / "clean"), plan.Plan(cases))
    return of_verdicts(project, cases[0].job, cases, {one.case: one for one in summary.verdicts})


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
    cases = tuple(map(_untimed, planned))
    _check_passes([verdicts[case.name] for case in cases])
    usable = tuple(case for case in cases if verdicts[case.name].status == "pass")
    if not usable:
        first = verdicts[cases[0].name]
        raise UsageError(f"no case of {job} runs on the CPU device: {first.case}: {first.reason}")
    left = [case.name for case in cases if verdicts[case.name].status != "pass"]
    notes = (f"{first_names(left)}: skipped, so no mutant is run on it",) if left else ()
    sources = {source_key(source): source for case in usable for source in sources_of(case)}
    compiled = {key: programs.find(source) or programs.compile(source) for key, source in sources.items()}
    built = {case.name: _built(case, compiled) for case in usable}
    completed = tuple(plan.completed(case, built[case.name].programs, built[case.name].references) for case in usable)
    slow = frozenset(key for key, program in compiled.items() if cache.is_slow(program.key))
    return Subject(project, job, completed, verdicts, built, compiled, sources, notes, slow)


def _untimed(case: Case) -> Case:
    """The case without its timing: times of mutants decide nothing."""
    return case.with_settings(timing=None)


def _check_passes(verdicts: Sequence[Verdict]) -> None:
    failed = [one for one in verdicts if one.status not in ("pass", "skip")]
    if not failed:
        return
    first, names = failed[0], first_names([one.case for one in failed])
    if all(one.status == "new" for one in failed):
        remedy = "run it and `gpuregress accept` it first, or give the job a reference"
        if any(one.status == "pass" for one in verdicts) or any(map(_compares, failed)):
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


def _built(case: Case, programs: Mapping[str, Program]) -> CasePrograms:
    return built_of(case, [programs[source_key(source)] for source in sources_of(case)])


def built_of(case: Case, programs: Sequence[Program]) -> CasePrograms:
    """Assign programs in the order of `sources_of` to a case's own sources, its references and its variants."""
    own, count = len(case.sources), len(case.reference_kernels)
    others = programs[own:]
    varied = (tuple(others[at : at + own]) for at in range(count, len(others), own))
    return CasePrograms(
        tuple(programs[:own]),
        dict(zip(case.reference_kernels, others[:count], strict=True)),
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
    found: list[Mutant] = []
    texts: dict[str, str] = {}
    for key in _own_keys(subject):
        source = subject.sources[key]
        if is_cuda(source):
            code = device_code.reached(
                {path: _text(path) for path in local_files(subject.project, source)}, _roots(subject, source)
            )
            texts |= {str(one.file): one.text for one in code}
            found += cuda_source.find_mutants(code)
    for name, key in ptx_names(subject).items():
        texts[name] = _text(Path(subject.programs[key].ptx))
        found += ptx_source.find_mutants(texts[name], name, _entries(subject, key))
    if not found:
        raise UsageError(f"{subject.job} has no device code that can be changed: it has no source, or only a cubin")
    return list({(one.file, one.operator, one.edits): one for one in found}.values()), texts


def ptx_names(subject: Subject) -> dict[str, str]:
    """A name for the PTX of each source that is not CUDA C++ → the key of that source."""
    names: dict[str, str] = {}
    for key in _own_keys(subject):
        source = subject.sources[key]
        if not is_cuda(source) and subject.programs[key].ptx:
            name = source.name if source.path.endswith(".ptx") else f"{source.name}.ptx"
            names[name if name not in names else f"{name}#{len(names) + 1}"] = key
    return names


def _own_keys(subject: Subject) -> tuple[str, ...]:
    """The keys of the cases' own sources, without references and variants."""
    return tuple(dict.fromkeys(source_key(source) for case in subject.cases for source in case.sources))


def _text(path: Path) -> str:
    """A file's text; bytes that are not UTF-8 stay what they are."""
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def local_files(project: Project, source: Source) -> tuple[Path, ...]:
    """Return a source and the files that it includes, as far as they belong to the project."""
    root, path = project.root.resolve(), Path(source.path)
    files = programs.inputs(source).files
    return tuple(file for file in files if file == path or file.resolve().is_relative_to(root))


def _roots(subject: Subject, source: Source) -> frozenset[str]:
    """Names of the kernels that are launched from a source, or of functions under test."""
    launched = {
        launch.kernel
        for case in subject.cases
        for launch in case.launches
        if case.sources[launch.source].path == source.path
    }
    return frozenset((*launched, *source.kernels))


def _entries(subject: Subject, key: str) -> frozenset[str]:
    """Mangled names of the kernels that are launched from a program."""
    return frozenset(
        subject.programs[key].entries[launch.kernel].mangled
        for case in subject.cases
        for launch in case.launches
        if source_key(case.sources[launch.source]) == key and launch.kernel in subject.programs[key].entries
    )


def launched_entries(subject: Subject) -> dict[str, frozenset[str]]:
    """Key of a source → the mangled names of the kernels that are launched from it."""
    return {key: _entries(subject, key) for key in _own_keys(subject)}
