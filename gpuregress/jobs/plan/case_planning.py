"""Planning of one job file: its cases, or all its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import Case, CaseSettings, Instruments, KnownFailing, ResourceLimits, TimingLoop
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu import schedules
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan import (
    buffer_usage,
    comparison_rules,
    function_calls,
    job_plan,
    program_jobs,
    source_files,
    sources,
    variations,
)
from gpuregress.jobs.plan.function_calls import PlannedFunction
from gpuregress.jobs.plan.job_plan import CaseOverrides, JobPlan, LabelRequest
from gpuregress.jobs.plan.references import CaseBuffers, case_references, find_earlier
from gpuregress.jobs.plan.variations import CaseInputs, JobTuning
from gpuregress.jobs.spec import load
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.rules import DEVICE
from gpuregress.jobs.spec.resolve import buffers as spec_buffers
from gpuregress.jobs.spec.resolve import compilation, parameter_combinations, rules
from gpuregress.jobs.spec.resolve import launches as spec_launches
from gpuregress.jobs.spec.resolve.parameter_combinations import OverriddenScopes
from gpuregress.jobs.spec.resolve.scope import Scope, mapping, record
from gpuregress.store.project import Project, default_memory
from gpuregress.toolchain.build_options.database import CompileCommands

MAX_REPEATS = 10_000


@float_environment.default()
def of_job(path: Path, project: Project, overrides: CaseOverrides) -> JobPlan:
    """Plan the cases of a job.

    Args:
        path: the job file, absolute.
        project: its folders and settings.
        overrides: from the command line.

    Raises:
        JobErrors: all that is wrong in the file.
    """
    return of_file(load.load_file(path), project, overrides)


def of_file(file: JobFile, project: Project, overrides: CaseOverrides) -> JobPlan:
    """Plan the cases of a job that is loaded; see `of_job`."""
    problems = Problems(file.document, file.errors)
    if file.model is None:
        problems.raise_if_any()
    maker = _JobPlanning(file, project, overrides, problems)
    names = tuple(file.job.parameters)
    lacks = tuple(override.name for override in overrides.parameters if override.name not in names)
    if lacks and not file.is_broken("parameters"):
        return JobPlan(maker.name, (), (), (), names, lacks)
    cases = maker.cases()
    problems.raise_if_any()
    return JobPlan(maker.name, cases, maker.requests, maker.notes, names)


class _JobPlanning:
    """The planning of one job."""

    def __init__(self, file: JobFile, project: Project, overrides: CaseOverrides, problems: Problems) -> None:
        self.file = file
        self.job = file.job
        self.project = project
        self.overrides = overrides
        self.problems = problems
        self.name = self._name()
        self.requests: tuple[LabelRequest, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.tuned: tuple[str, ...] = ()

    def cases(self) -> tuple[Case, ...]:
        name = self.name
        tuning = JobTuning(self.file, self.problems)
        chosen = OverriddenScopes(parameter_combinations.scopes(self.file, self.problems, tuning))
        overrides = self.overrides.parameters
        if overrides and chosen.scopes:
            chosen = parameter_combinations.overridden_scopes(
                self.file, chosen.scopes, overrides, self.problems, tuning
            )
        scopes = chosen.scopes
        if self.job.program is not None:
            return self._programs(chosen)
        self.file = variations.with_tuning(self.file, tuple(tuning.names))
        self.tuned = tuple(tuning.names)
        if tuning.missing and self.job.infeasible == "skip":
            self.notes = (f"{name}: none of its cases is run: {tuning.missing}",)
            return ()
        if tuning.missing:
            self.problems.add(("source",), f"its configurations are not known: {tuning.missing}")
            return ()
        commands = None
        project = self.project
        if project.compile_commands is not None:
            commands = CompileCommands(project.compile_commands, project.original, project.copy)
        self.sources = sources.JobSources(self.file, self.problems, commands)
        facts = self.sources.facts(scopes[0]) if scopes else self.sources.facts_without_parameters()
        self.file = buffer_usage.with_status(self.file, facts.paths if facts else (), self.problems)
        self.job = self.file.job
        dump = buffer_usage.dumped(self.file, self.problems)
        buffer_usage.check(self.file, self.problems, dump)
        function_calls.check_twins(self.file, self.problems)
        self._check_tags()
        self._check_fuzz()
        planned = []
        for scope in scopes:
            case = self._case(scope, name, self.sources.facts(scope), dump)
            if case is not None:
                planned.append(case)
        if self.overrides.partners:
            planned += self._partners(chosen.partners, dump)
        if self.job.function is not None and planned:
            buffer_usage.check_can_fail(self.file, self.problems, planned[0].dump)
        self._check_devices()
        self.requests = tuple(self.sources.requests)
        if overrides:  # what holds for all cases of a job says nothing where other cases are planned
            self.notes = tuple(f"{name}: {note}" for note in chosen.notes)
            return tuple(planned)
        self._check_known_failing(planned)
        left_out = variations.check(self.file, planned, self.problems, self.tuned)
        self.notes = tuple(left_out)
        if not any(error.key.startswith(("launches", "function")) for error in self.problems.errors):
            buffer_usage.check_used(self.file, self.problems, planned)
        return tuple(planned)

    def _programs(self, chosen: OverriddenScopes) -> tuple[Case, ...]:
        """Plan the cases of a job with `program`."""
        self._check_tags()
        programs = program_jobs.JobPrograms(self.file, self.problems, self.project)
        cases = []
        for scope in chosen.scopes:
            planned = programs.of_case(scope)
            settings = self._settings(scope, planned.source, ()) if planned is not None else None
            if planned is None or settings is None or len(self.problems):
                continue
            cases.append(
                Case(
                    job=self.name,
                    name=f"{self.name}/{scope.case}" if scope.case else self.name,
                    path=str(self.file.path),
                    parameters=scope.parameters,
                    source=planned.source,
                    revision=str(planned.request),
                    source_digest=planned.source.digest,
                    seed=0,
                    buffers={},
                    launches=(),
                    dump=(),
                    compare={},
                    repeat=self._repeat(scope),
                    limits=self._limits(),
                    devices=("cpu",),
                    tags=tuple(self.job.tags),
                    owners=self.job.owners,
                    expect_fault=self.job.expect.fault if self.job.expect else None,
                    settings=settings,
                    program=planned.program,
                )
            )
        self.requests = tuple(programs.requests)
        self.notes = tuple(f"{self.name}: {note}" for note in (*chosen.notes, *programs.notes))
        if not self.overrides.parameters:
            self._check_known_failing(cases)
        return tuple(cases)

    def _partners(self, groups: Sequence[Sequence[Scope]], dump: tuple[str, ...]) -> list[Case]:
        """Plan one case of each group, the first that some device can launch."""
        partners = []
        for scopes in groups:
            for scope in scopes:
                case = self._case(scope, self.name, self.sources.facts(scope), dump)
                if case is not None and case.settings.refused is None:
                    partners.append(case)
                    break
        return partners

    def _name(self) -> str:
        name = self.job.job if self.job.job is not None else self.file.path.stem
        problem = job_plan.job_name_problem(name)
        if problem:
            self.problems.add(("job",), problem)
            return "job"  # so that nothing is looked for in a folder that cannot be
        return name

    def _check_tags(self) -> None:
        for position, tag in enumerate(self.job.tags):
            if one_line(tag) != tag:
                self.problems.add(("tags", position), f"{show(tag)} holds a control character")

    def _check_fuzz(self) -> None:
        known = (*self.job.parameters, *self.job.buffers)
        if self.file.is_broken("parameters", "buffers"):
            return
        for position, name in enumerate(self.job.fuzz.keep):
            if name not in known:
                text = f"unknown parameter or buffer {name!r}{suggestion(name, known)}"
                self.problems.add(("fuzz", "keep", position), text)

    def _check_known_failing(self, planned: Sequence[Case]) -> None:
        """Report conditions that leave out every case: the failure would be known of none."""
        known = self.job.known_failing
        is_used = any(case.settings.known_failing is not None for case in planned)
        if known is not None and known.where and planned and not is_used:
            self.problems.add(("known_failing", "where"), "selects none of the job's cases, so no failure is known")

    def _check_devices(self) -> None:
        if "devices" not in self.job.written or not any(facts.has_cubin for facts in self.sources.known):
            return
        for position, device in enumerate(self.job.devices):
            if device == "cpu":
                self.problems.add(("devices", position), "a .cubin is machine code: it runs on cuda only")

    def _case(self, scope: Scope, name: str, facts: sources.SourceFacts | None, dump: tuple[str, ...]) -> Case | None:
        """Plan one case; None if something in it is invalid, which is reported."""
        job = self.job
        if job.infeasible == "skip":
            scope = replace(scope, refusals=[])
        seed = scope.whole(job.seed, ("seed",), low=0, high=2**64 - 1, what="") or 0
        scope = scope.with_seed(seed)
        planned = self._inputs(scope, seed, facts)
        buffers, launches = planned.buffers, planned.launches
        function = None
        if job.function is not None and facts is not None:
            function = function_calls.planned(self.file, scope, facts.files[0], buffers)
        if function is not None:
            launches = (function.launch,)
            if job.dump is None:
                dump = tuple(dict.fromkeys((*dump, *function.written)))
        expect_kernel, expect_launch = spec_launches.expected_place(self.file, scope, launches)
        verify = self._verify_functions(scope)
        compare = comparison_rules.case_rules(job, scope, self.project, buffers, dump, verify)
        refused = scope.refusals[0] if scope.refusals else None
        # A reference that no device can launch is an error, unless its case is skipped anyway.
        of_references = scope if refused else replace(scope, refusals=None)
        compared = CaseBuffers(buffers, compare, verify)
        references = case_references(self.file, of_references, facts, compared, self._earlier)
        checks: dict[str, tuple[records.Check, ...]] = {}
        for buffer, items in job.checks.items():
            if buffer in buffers and buffer != DEVICE:
                checks[buffer] = rules.checks(scope, items, buffers[buffer], buffers, ("checks", buffer))
        self._check_signatures(scope, checks)
        repeat = self._repeat(scope)
        further = variations.further(job, scope, seed, lambda number: self._inputs(scope, number, facts, function))
        if facts is None:
            return None
        compiled = sources.CaseSources(self.file, facts, scope, buffers).compiled(launches)
        if function is not None:
            compiled = tuple(replace(source, harness=function.harness) for source in compiled)
        if len(self.problems) or not compiled:
            return None
        (source, *others), built_variants = compilation.combinations(self.file, scope, compiled)
        if len(self.problems):
            return None
        settings = replace(self._settings(scope, source, launches), refused=refused)
        return Case(
            job=name,
            name=f"{name}/{scope.case}" if scope.case else name,
            path=str(self.file.path),
            parameters=scope.parameters,
            source=source,
            revision=str(facts.request),
            source_digest=facts.digest,
            seed=seed,
            buffers=buffers,
            launches=launches,
            dump=dump,
            compare=compare,
            checks=checks,
            status=job.status_buffer,
            status_codes={str(code): text for code, text in job.status.codes.items()} if job.status else {},
            reference=references.functions,
            reference_kernels=references.kernels,
            reference_rules=references.rules,
            reference_files=references.files,
            improves=tuple(buffer for buffer, item in job.reference.items() if item.improves),
            repeat=repeat,
            limits=self._limits(),
            devices=("cuda",) if facts.has_cubin else tuple(dict.fromkeys(job.devices)),
            tags=tuple(job.tags),
            owners=job.owners,
            expect_fault=job.expect.fault if job.expect else None,
            settings=settings,
            expect_kernel=expect_kernel,
            expect_launch=expect_launch,
            variants=built_variants,
            seeds=further,
            other_sources=tuple(others),
            function=function.call if function else None,
        )

    def _repeat(self, scope: Scope) -> int:
        """Return the number of runs of a case: the command line's, or the job's."""
        repeat = self.job.repeat
        key: Key = ("repeat", "runs") if "seeds" in repeat.written else ("repeat",)
        return self.overrides.repeat or scope.whole(repeat.runs, key, low=1, high=MAX_REPEATS, what="runs") or 1

    def _limits(self) -> records.Limits:
        """Return the limits of a case: the command line's, the job's, the project's."""
        limits, defaults = self.job.limits, self.project.settings.limits
        return records.Limits(
            timeout=self.overrides.timeout or limits.timeout or defaults.timeout,
            memory=limits.memory or defaults.memory or 0,
            timeouts=limits.timeouts or defaults.timeouts or 0,
            heap=limits.heap or records.DEFAULT_HEAP,
            instructions=limits.instructions or defaults.instructions,
            time=limits.time or defaults.time,
        )

    def _inputs(
        self, scope: Scope, seed: int, facts: sources.SourceFacts | None, function: PlannedFunction | None = None
    ) -> CaseInputs:
        """Plan the buffers and launches of a case under a seed; those of a function are the same under every seed."""
        scope = scope.with_seed(seed)
        memory = self.job.limits.memory or self.project.settings.limits.memory or default_memory()
        buffers = spec_buffers.buffers(self.file, scope, memory=memory, seed=seed, earlier=self._earlier)
        if facts is not None:
            buffers = source_files.with_variables(buffers, facts.files, self.problems)
        self._prepare_status(scope, buffers)
        launches = (function.launch,) if function else spec_launches.launches(self.file, scope, buffers)
        if facts is not None:
            launches = facts.launched(launches)
            contents = [file.inputs.contents for file in facts.files]
            launches = source_files.resolved(launches, contents, buffers, lambda: self._defines(scope))
        return CaseInputs(buffers, launches)

    def _defines(self, scope: Scope) -> Mapping[str, str]:
        settings = compilation.compile_settings(scope, self.job.compile, ("compile",), self.job.card)
        return settings.defines if settings is not None else {}

    def _verify_functions(self, scope: Scope) -> dict[str, str]:
        """Resolve the functions of the job's `verify`; those that cannot be called are reported."""
        functions = rules.functions(scope, self.job.verify, "verify")
        for buffer, function in functions.items():
            comparison_rules.check_function(scope, ("verify", buffer), function)
        return functions

    def _earlier(self, text: str) -> records.InputFile:
        return find_earlier(self.project, text)

    def _prepare_status(self, scope: Scope, buffers: dict[str, records.Buffer]) -> None:
        """Require integers in the status buffer, and zero it before the launch."""
        buffer = buffers.get(self.job.status_buffer or "")
        if buffer is None:
            return
        if buffer.fill is None:
            buffers[buffer.name] = replace(buffer, fill=records.Fill("zeros", records.NoOptions(), 0))
        kinds = {part.scalar.kind for part in dtypes.parse(buffer.dtype).parts}
        if not kinds <= {"int", "uint"}:
            scope.problems.add(("status",), f"{buffer.name} is {buffer.dtype}: a status buffer holds integers")

    def _named_arch(self, source: records.Source) -> str | None:
        """The architecture that the job names for the case itself; None: a GPU's own is compiled for."""
        variants = self.job.variants
        if self.job.card or "arch" in self.job.compile.written or (variants is not None and variants.arch):
            return source.arch
        return None

    @staticmethod
    def _check_signatures(scope: Scope, checks: Mapping[str, tuple[records.Check, ...]]) -> None:
        """Report functions of checks that cannot be called with what they get."""
        for name, wanted in checks.items():
            for check in wanted:
                if check.name == "python" and isinstance(check.setting, str):
                    comparison_rules.check_function(scope, ("checks", name), check.setting, comparison_rules.CHECK)

    def _settings(self, scope: Scope, source: records.Source, launches: Sequence[records.Launch]) -> CaseSettings:
        job = self.job
        count = scope.whole(job.schedules, ("schedules",), low=1, high=schedules.MOST_SCHEDULES, what="schedules")
        return CaseSettings(
            instruments=Instruments(rules.device_checks(scope, job.checks, job.buffers)),
            arch=self._named_arch(source),
            inputs=job.inputs,
            launch_digests="off" if job.launch_digests == "off" else None,
            infeasible="skip" if job.infeasible == "skip" else None,
            agree=tuple(job.agree or ()),
            timing=record(scope, job.timing, TimingLoop, ("timing",)) if job.timing else None,
            cost=mapping(scope, job.cost, ("cost",)) if job.cost else {},
            resources=record(scope, job.resources, ResourceLimits, ("resources",)) if job.resources else None,
            schedules=schedules.first(count) if count and count > 1 else (),
            twins=tuple(dict.fromkeys(job.twins)) if job.twins else None,
            known_failing=self._known_failing(scope, launches),
            retries=job.retries or None,
            on=tuple(dict.fromkeys(job.devices)) if "devices" in job.written else (),
            overridden=scope.overridden,
            is_partner=scope.is_partner or None,
        )

    def _known_failing(self, scope: Scope, launches: Sequence[records.Launch]) -> KnownFailing | None:
        """Return the known failure of a case, None for one that the conditions leave out."""
        known = self.job.known_failing
        if known is None:
            return None
        conditions = [scope.number(text, ("known_failing", "where", at)) for at, text in enumerate(known.where)]
        if any(value is not None and not value for value in conditions):
            return None
        kernel = ""
        if self.job.program is not None:  # its kernels and buffers are not known before it runs
            kernel = known.kernel or ""
        elif known.kernel is not None:
            kernel = spec_launches.launched_kernel(scope, known.kernel, ("known_failing", "kernel"), launches)
        is_unknown = known.buffer is not None and known.buffer not in self.job.buffers
        if known.buffer is not None and is_unknown and self.job.program is None:
            text = f"unknown buffer {known.buffer!r}{suggestion(known.buffer, self.job.buffers)}"
            scope.error(("known_failing", "buffer"), text)
        return KnownFailing(
            until=known.until,
            why=known.why,
            status=known.failure,
            fault=known.fault or "",
            kernel=kernel,
            buffer=known.buffer or "",
        )
