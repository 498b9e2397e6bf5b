"""Request of a run: what the user asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import field

from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.execution.workers.compiler_pool import Crew
    from gpuregress.foundation.interrupts import StopSignal
    from gpuregress.foundation.records import LackingDevice, RunKind
    from gpuregress.jobs.plan import Plan
    from gpuregress.jobs.spec.overrides import ParameterOverride


class ExpectedCases(Record):
    """The cases that a nightly run expects.

    Attributes:
        cases: case → the devices that its job named; none: whichever there is.
        accepted: those of `cases.yaml`.
        has_night: whether a night has ended on this host.
        problems: file → why its cases are unknown.
    """

    cases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accepted: frozenset[str] = frozenset()
    has_night: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)


NOTHING_EXPECTED = ExpectedCases()


class RunRequest(Record):
    """What a run should do.

    Attributes:
        selectors: job files, job names, case names or globs; none: every job.
        planned: cases that are planned already; None: those that are selected.
        name_glob: only cases whose name matches.
        tags: only jobs with one of these.
        changed: only jobs made of a file that differs from this commit; see `changed_jobs.select`. None: every job.
        shard: the number of a shard and the count of all: only its part of the cases; None: every case.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        jobs: workers; None: one a core or a GPU.
        repeat: how often to run each case, in place of the jobs' own number.
        timeout: seconds for a case, in place of the jobs' own limit.
        timeouts: of one kernel, after which its other cases are skipped, where the job and the project do not say; 0:
            those of the kind of run.
        parameters: parameters with other values than the jobs' own.
        fail_fast: stop after the first case that does not pass.
        rerun_failed: only the cases that did not pass in the last run.
        kind: `run`, `nightly`, or `experiment` of a command that keeps nothing of the run.
        expected: the cases that a nightly run must find.
        poison: `twice` proves which elements were never written.
        sanitize: a tool of compute-sanitizer that looks at each case on a GPU once more.
        checks: dynamic checks of the CPU device, as given: names of `CHECKS`, comma-separated, or `all`.
        dump_every_launch: dump the buffers after each launch of a case.
        schedules: the schedules that each case runs under, in place of the jobs' own; none: what the jobs say.
        coverage: count what the cases execute on the CPU device.
        costs: count the costs of each instruction on the CPU device.
        until: when the run stops, seconds of time.monotonic; cases without a turn are named; None: at its end.
        deadline: the same in words, as `6h`.
        only: names of cases; the others belong to another device's run of the same night. None: every case.
        lacking: devices that jobs name and this host lacks.
        lost: whether the last night ran on one of them.
        night: the first run of the night, where this is another one; "" otherwise.
        is_first: whether it is the night's first run, which reports broken jobs and missing cases.
        resumes: the folder of a night that was cut short and is continued; None: a new run.
        cluster: address of a Dask scheduler whose hosts run the cases; "": this machine; None: what the settings say.
        block_order: `reversed` or `random:SEED` on the CPU device; "" for the usual one.
    """

    REPORTED: ClassVar[tuple[str, ...]] = ()
    """Fields that `results.json` holds where they are given: a label, a ticket."""

    selectors: Sequence[str] = ()
    planned: Plan | None = None
    name_glob: str | None = None
    tags: Sequence[str] = ()
    changed: str | None = None
    shard: tuple[int, int] | None = None
    device: str = "auto"
    jobs: int | None = None
    repeat: int | None = None
    timeout: float | None = None
    timeouts: int = 0
    parameters: tuple[ParameterOverride, ...] = ()
    fail_fast: bool = False
    rerun_failed: bool = False
    kind: RunKind = "run"
    expected: ExpectedCases = NOTHING_EXPECTED
    poison: str | None = None
    sanitize: str | None = None
    checks: Sequence[str] = ()
    block_order: str = ""
    dump_every_launch: bool = False
    coverage: bool = False
    costs: bool = False
    schedules: tuple[str, ...] = ()
    until: float | None = None
    deadline: str = ""
    only: frozenset[str] | None = None
    lacking: tuple[LackingDevice, ...] = ()
    lost: bool = False
    night: str = ""
    is_first: bool = True
    resumes: Path | None = None
    cluster: str | None = ""

    @property
    def reported(self) -> dict[str, Any]:
        """The fields of `REPORTED` that are given."""
        values = {name: getattr(self, name) for name in self.REPORTED}
        return {name: value for name, value in values.items() if value}

    @property
    def is_unattended(self) -> bool:
        """Whether nobody watches the run, as at night: it also begins where nothing can be run, and reports that."""
        return self.kind != "run"

    @property
    def takes_all(self) -> bool:
        """Whether every case of the project is selected."""
        is_part = self.selectors or self.name_glob or self.tags or self.rerun_failed or self.parameters
        return not is_part and self.changed is None and self.shard is None


class Machinery(Record):
    """The parts of a run that a test may replace.

    Attributes:
        command: starts a worker; None: the usual one.
        crew: compiles the sources; None: processes of the toolchain.
    """

    command: Sequence[str] | None = None
    crew: Callable[[StopSignal], Crew] | None = None
