"""Variations of a job's cases: configurations of an autotuner, agreement over parameters, seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.errors import CompileError, MissingCompiler
from gpuregress.foundation.records import Buffer, Case, Fill, Launch, Seeded
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import source_files
from gpuregress.jobs.plan.source_files import SourcePath
from gpuregress.jobs.spec.expressions import Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.rules import DEVICE
from gpuregress.jobs.spec.resolve import python_kernels
from gpuregress.jobs.spec.resolve.compilation import compile_settings
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain.python_kernels import autotuning, function_parameters
from gpuregress.toolchain.python_kernels.autotuning import Configuration


def with_tuning(file: JobFile, names: Sequence[str]) -> JobFile:
    """Demand that results do not depend on the configuration, unless the job says otherwise or has a reference.

    Args:
        file: the job.
        names: the parameters that come from configurations of an autotuner.
    """
    job = file.job
    if not names or job.agree is not None or job.reference or job.expect is not None:
        return file
    return replace(file, model=msgspec.structs.replace(job, agree=list(names)))


def check(file: JobFile, cases: Sequence[Case], problems: Problems, tuned: Sequence[str] = ()) -> tuple[str, ...]:
    """Report unknown parameters, and an agreement that can never fail.

    Args:
        file: the job.
        cases: all that it has.
        problems: collects the errors.
        tuned: the parameters that come from configurations of an autotuner.

    Returns:
        Notes on buffers that are not compared, because their shape or dtype depends on the parameters.
    """
    job = file.job
    names = job.agree or []
    known = (*job.parameters, *tuned)
    if job.agree == [] and not tuned:
        problems.add(("agree",), "expected at least 1, got none")
    for position, name in enumerate(names):
        if name not in known and not file.is_broken("parameters"):
            problems.add(("agree", position), f"unknown parameter {name!r}{suggestion(name, known)}")
        elif name in names[:position]:
            problems.add(("agree", position), f"duplicate entry {name!r}")
    if not names or len(problems) or not cases:
        return ()
    if job.expect is not None:
        problems.add(("agree",), "can never fail: the job expects a fault, so no results are compared")
        return ()
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(case.agreement_group or (), []).append(case)
    listed = ", ".join(names)
    if max(map(len, groups.values())) < 2 and set(names) <= set(tuned):
        return ()  # one configuration is left
    if max(map(len, groups.values())) < 2:
        problems.add(("agree",), f"can never fail: no two cases differ in {listed} alone")
        return ()
    differing = [name for name in cases[0].dump if any(not _are_alike(alike, name) for alike in groups.values())]
    if len(differing) == len(cases[0].dump):
        problems.add(("agree",), f"can never fail: the shape or dtype of every dumped buffer depends on {listed}")
        return ()
    return tuple(
        f"{cases[0].job}: agree leaves out {name}: its shape or dtype depends on {listed}" for name in differing
    )


def _are_alike(cases: Sequence[Case], buffer: str) -> bool:
    return len({(case.buffers[buffer].dtype, case.buffers[buffer].shape) for case in cases}) == 1


# --- configurations of `@triton.autotune` as parameters: each is a case -----------------------------------------------


class JobTuning:
    """The configurations of a job's autotuned kernel.

    A kernel that is given a constant or a setting of its configurations by the job is not tuned: the job decides.

    Args:
        file: the job.
        problems: collects the errors.

    Attributes:
        names: the parameters that come from configurations, in order.
        missing: why the configurations are not known here, where the kernel's compiler is missing; "": they are.
    """

    def __init__(self, file: JobFile, problems: Problems) -> None:
        self._file, self._problems = file, problems
        self._known: dict[tuple[SourcePath, str], tuple[Configuration, ...]] = {}
        self.names: dict[str, None] = {}
        self.missing = ""
        self._is_broken = False

    def __call__(self, names: Mapping[str, Value]) -> Sequence[Configuration | None]:
        """Return the configurations that a combination of parameters is run with; [None] without any."""
        job = self._file.job
        is_asked = "autotune" in job.written
        if job.language != "triton" or job.autotune == "off" or self._file.is_broken("source", "launches"):
            return [None]
        tuned = self._tuned(names)
        if self._is_broken:
            return []
        if not tuned:
            if is_asked and not self.missing and not len(self._problems):
                self._problems.add(("autotune",), "has no effect: no kernel has @triton.autotune, or the job decides")
            return [None]
        kernels = list(dict.fromkeys(configurations[0].function for configurations in tuned))
        if len(kernels) > 1:
            text = f"{' and '.join(kernels)} both have configurations: give one of them its constants"
            self._problems.add(("autotune",) if is_asked else ("source",), text)
            return []
        for configuration in tuned[0]:
            for name in configuration.parameters:
                if name in job.parameters:
                    text = f"{name!r} is a parameter of {kernels[0]}'s configurations, too"
                    self._problems.add(("parameters", name), f"{text}: rename it, or write autotune: off")
                    return []
        chosen = self._chosen(kernels[0], tuned[0])
        for configuration in chosen:
            self.names |= dict.fromkeys(configuration.parameters)
        return chosen

    def _chosen(self, kernel: str, configurations: Sequence[Configuration]) -> list[Configuration]:
        wanted = self._file.job.autotune
        if not isinstance(wanted, list):
            return list(configurations)
        chosen: list[Configuration] = []
        for position, number in enumerate(wanted):
            if number >= len(configurations):
                text = f"is {number}, and {kernel} has {len(configurations)} configurations, counted from 0"
                self._problems.add(("autotune", position), text)
            elif configurations[number] not in chosen:
                chosen.append(configurations[number])
        return chosen

    def _tuned(self, names: Mapping[str, Value]) -> list[tuple[Configuration, ...]]:
        """The lists of those kernels that the job leaves to their configurations; none is empty."""
        ignored = Problems(self._file.document)
        scope = Scope(names, ignored)
        located = source_files.locate(self._file, scope)
        settings = compile_settings(scope, self._file.job.compile, ("compile",), self._file.job.card)
        if located is None or settings is None:
            return []  # which is reported where the case is planned
        tuned: list[tuple[Configuration, ...]] = []
        for source in located.launched:
            if source.language != "triton":
                continue
            configurations = self._configurations(source, settings.arch)
            levels = python_kernels.job_levels(self._file, source.launch)
            if configurations and python_kernels.tuning_applies(levels, configurations[0]):
                tuned.append(configurations)
        return tuned

    def _configurations(self, source: SourcePath, arch: str) -> tuple[Configuration, ...]:
        key = (source, arch)
        if key not in self._known:
            self._known[key] = ()
            try:
                if "autotune" in function_parameters.decorators(source.path.read_bytes(), source.function):
                    self._known[key] = autotuning.configurations(source.path, source.function, arch)
            except MissingCompiler as error:
                self.missing = str(error)
            except CompileError as error:
                self._is_broken = True
                self._problems.add(("source",), f"the configurations of {source.function} cannot be read: {error}")
            except OSError:
                pass  # which is reported where the source is read
        return self._known[key]


# --- further seeds of a case: the fills and arguments that each of them changes ---------------------------------------


MAX_SEEDS = 1000
_RANDOM = frozenset(["uniform", "normal", "integers", "permutation", "choice", "python", "same"])
"""Fills that draw from a seed, or may do so."""


class CaseInputs(Record):
    """Buffers and launches of a case under one seed."""

    buffers: Mapping[str, Buffer]
    launches: tuple[Launch, ...]


def further(job: JobSpec, scope: Scope, seed: int, inputs_of: Callable[[int], CaseInputs]) -> tuple[Seeded, ...]:
    """Plan the runs of `repeat: {seeds: …}`: the job's seed, and the numbers after it.

    Args:
        job: as the file has it.
        scope: the case's numbers; errors are reported there.
        seed: the job's.
        inputs_of: plans the inputs of a seed.
    """
    if job.repeat.seeds is None:
        return ()
    key = ("repeat", "seeds")
    count = scope.whole(job.repeat.seeds, key, low=2, high=MAX_SEEDS, what="seeds")
    if count is None:
        return ()
    # The checks of the device watch the first run alone.
    if job.checks.keys() <= {DEVICE} and all(rule.statistics is None for rule in job.compare.values()):
        text = "needs a rule with `statistics` in compare, or checks of a buffer: else no result of a seed is judged"
        scope.error(key, text)
        return ()
    first = inputs_of(seed)
    seeds: list[Seeded] = []
    for step in range(1, count):
        number = (seed + step) % 2**64
        other = inputs_of(number)
        fills: dict[str, Fill] = {}
        for name, buffer in other.buffers.items():
            if buffer.fill is not None and _is_changed(first.buffers.get(name), buffer.fill):
                fills[name] = buffer.fill
        seeds.append(Seeded(number, fills, () if other.launches == first.launches else other.launches))
    if not len(scope.problems) and seeds and not seeds[0].fills and not seeds[0].launches:
        scope.error(key, "changes nothing: no buffer has a random fill, and no argument takes the seed")
    return tuple(seeds)


def _is_changed(first: Buffer | None, fill: Fill) -> bool:
    if first is None or first.fill is None:
        return False
    if fill.kind in _RANDOM:
        return first.fill != fill
    return first.fill.options != fill.options


def describe(case: Case) -> str:
    """`20 seeds, 42 to 61`; "" for a case of one seed."""
    return f"{len(case.seeds) + 1} seeds, {case.seed} to {case.seeds[-1].seed}" if case.seeds else ""
