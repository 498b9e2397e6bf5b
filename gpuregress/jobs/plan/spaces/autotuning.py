"""Configurations of `@triton.autotune` as parameters: each is a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.errors import CompileError, MissingCompiler
from gpuregress.jobs.plan import source_files
from gpuregress.jobs.plan.source_files import SourcePath
from gpuregress.jobs.spec.expressions import Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.resolve import python_kernels
from gpuregress.jobs.spec.resolve.compilation import compile_settings
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain.python_kernels import autotuning, function_parameters
from gpuregress.toolchain.python_kernels.autotuning import Configuration


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
        found = self._tuned(names)
        if self._is_broken:
            return []
        kernels = list(dict.fromkeys(one.function for configurations in found for one in configurations))
        if len(kernels) > 1:
            text = f"{' and '.join(kernels)} both have configurations: give one of them its constants"
            self._problems.add(("autotune",) if is_asked else ("source",), text)
            return []
        if not found:
            if is_asked and not self.missing and not len(self._problems):
                self._problems.add(("autotune",), "has no effect: no kernel has @triton.autotune, or the job decides")
            return [None]
        clash = next((name for one in found[0] for name in one.parameters if name in job.parameters), None)
        if clash is not None:
            text = f"{clash!r} is a parameter of {kernels[0]}'s configurations, too: rename it, or write autotune: off"
            self._problems.add(("parameters", clash), text)
            return []
        chosen = self._chosen(kernels[0], found[0])
        self.names |= dict.fromkeys(name for one in chosen for name in one.parameters)
        return chosen

    def _chosen(self, kernel: str, configurations: Sequence[Configuration]) -> list[Configuration]:
        wanted, chosen = self._file.job.autotune, []
        if not isinstance(wanted, list):
            return list(configurations)
        for at, number in enumerate(wanted):
            if number >= len(configurations):
                text = f"is {number}, and {kernel} has {len(configurations)} configurations, counted from 0"
                self._problems.add(("autotune", at), text)
            elif configurations[number] not in chosen:
                chosen.append(configurations[number])
        return chosen

    def _tuned(self, names: Mapping[str, Value]) -> list[tuple[Configuration, ...]]:
        """The lists of those kernels that the job leaves to their configurations."""
        ignored = Problems(self._file.document)
        scope = Scope(names, ignored)
        texts = source_files.texts(self._file, scope)
        located = source_files.locate(self._file, ignored, texts) if texts is not None else None
        settings = compile_settings(scope, self._file.job.compile, ("compile",), self._file.job.card)
        if located is None or settings is None:
            return []  # which is reported where the case is planned
        lists = []
        for source in located.launched:
            if source.language == "triton" and (found := self._configurations(source, settings.arch)):
                levels = python_kernels.job_levels(self._file, source.launch)
                if python_kernels.tuning_applies(levels, found[0]):
                    lists.append(found)
        return lists

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
