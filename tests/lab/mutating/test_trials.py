"""Trials: a variation is compiled, skipped where it is the same program, run until a case notices, never twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from gpuregress.foundation.errors import CompileError, CompilerStopped, GpuregressError, HarnessError, UnsupportedError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import (
    Case,
    Dump,
    Fault,
    FurtherRun,
    Instruments,
    LaunchTime,
    Observations,
    Outcome,
    Program,
    ReferenceKernel,
    RunFacts,
    Source,
    Status,
    Task,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import agreement, verdict
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.judge.agreement import GroupMember
from gpuregress.judge.judge import Judge
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating import trials as states
from gpuregress.lab.mutating.programs import MutatedPrograms, Variation
from gpuregress.lab.mutating.subject import Subject
from gpuregress.lab.mutating.trials import MutantTrials, TrialResult, TrialState
from gpuregress.session.compilation import CasePrograms, source_key
from gpuregress.store.project import Project
from gpuregress.toolchain import cache
from tests import fakes


class FakeCrew:
    """Compiles a file to the PTX that it holds, when `collect` is called; a file with `error` is refused."""

    count = 2
    deadline = None

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[tuple[str, Source]]()

    @property
    def under_way(self) -> int:
        return len(self.asked)

    def fileno(self) -> int:
        return -1

    def submit(self, key: str, source: Source) -> None:
        self.asked.append((key, source))

    def dismiss(self) -> None: ...

    def wait(self, until: float | None = None) -> None: ...

    def collect(self) -> list[tuple[str, Program | GpuregressError]]:
        done, self.asked = self.asked, []
        return [(key, self._compiled(number, source)) for number, (key, source) in enumerate(done)]

    def _compiled(self, number: int, source: Source) -> Program | GpuregressError:
        text = Path(source.path).read_text()
        if "error" in text:
            return CompileError("k.cu(1): error: wrong\nmore")
        path = self.folder / f"{len(list(self.folder.iterdir()))}-{number}.ptx"
        path.write_text(text)
        return replace(fakes.program(), ptx=str(path))


def dump(digest: str) -> Dump:
    return Dump("out", "/nowhere", "float32", (8,), digest, digest)


def done(case: str, seconds: float = 1.0, digest: str = "clean") -> Outcome:
    return Outcome(case, "done", dumps=(dump(digest),), launches=(LaunchTime(1, "k", 300.0),), seconds=seconds)


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """Two cases of one source; the second one is faster."""
    source = tmp_path / "k.cu"
    source.write_text("clean")
    (tmp_path / "ptx").mkdir()
    clean = tmp_path / "ptx/clean.ptx"
    clean.write_text("clean // a comment")
    given = Source(str(source), kernels=("double",))
    cases = tuple(fakes.case("double", name=f"job/{n}", source=given) for n in (1, 2))
    program = replace(fakes.program(), ptx=str(clean))
    seconds = dict(zip((case.name for case in cases), (2.0, 1.0), strict=True))
    verdicts = {
        case.name: replace(verdict.skipped(case, ""), outcome=done(case.name, seconds[case.name])) for case in cases
    }
    key = source_key(given)
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    built = {case.name: CasePrograms((program,), {}) for case in cases}
    return Subject(project, "job", cases, verdicts, built, {key: program}, {key: given})


@pytest.fixture(autouse=True)
def _no_files_of_dumps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.judge.write_coverage.reported", lambda decided, *_rest: decided)


@pytest.fixture
def trials(subject: Subject, tmp_path: Path) -> Iterator[MutantTrials]:
    (tmp_path / "scratch").mkdir()
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        yield MutantTrials(subject, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user)


def variation(subject: Subject, text: str, name: str = "m1") -> Variation:
    return Variation(name, files={next(iter(subject.sources.values())).path: text})


def tried(trials: MutantTrials, change: Variation) -> list[TrialResult]:
    results: list[TrialResult] = []
    trials.add(change, results.append)
    return results


def task_of(case: Case, folder: Path) -> Task:
    return Task(case, fakes.program(), str(folder / "log"), 1, str(folder / "dumps"))


def taken(trials: MutantTrials, room: int = 2) -> list[Task]:
    tasks: list[Task] = []
    for _ in range(3):  # what is asked for is compiled at the next call
        advance(trials)
        while trials.has_task and len(tasks) < room:
            tasks.append(trials.next_task())
    return tasks


def advance(trials: MutantTrials, room: int = 4) -> None:
    """Do what the feed of the workers does."""
    for key, result in trials._crew.collect():
        trials.take_compiled(key, result)
    trials.advance()
    while trials.compiling < room and trials.begin_next():
        pass


def test_an_equal_program_is_not_run(trials: MutantTrials, subject: Subject) -> None:
    results = tried(trials, variation(subject, "clean // moved"))
    assert taken(trials) == []
    assert results == [TrialResult("equal")]
    assert trials.is_over


def test_a_source_that_does_not_compile_is_not_valid(
    trials: MutantTrials, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the user's file, not the copy of it."""
    refused = CompileError(f"{tmp_path}/scratch/sources/m1/k.cu(1): error: wrong\nmore")
    monkeypatch.setattr(FakeCrew, "_compiled", lambda *_arguments: refused)
    results = tried(trials, variation(subject, "error"))
    assert taken(trials) == []
    assert results == [TrialResult("not valid", reason="/k.cu(1): error: wrong")]


def test_a_task_is_what_a_run_would_give_a_worker(
    trials: MutantTrials, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(_case: Case, programs: Sequence[Program]) -> CasePrograms:
        (own,) = programs
        return CasePrograms((own, fakes.program()), {"out": fakes.program()}, {"fast": (own,)})

    known = {"out": {"digest": "/accepted"}}
    monkeypatch.setattr(states, "built_of", built)
    monkeypatch.setattr(AcceptedDumps, "known", lambda *_arguments: known)
    tried(trials, variation(subject, "a"))
    (task,) = taken(trials)
    assert task.other_programs == (fakes.program(),)
    assert task.references == {"out": fakes.program()}
    assert task.variants == {"fast": (task.program,)}
    assert task.known == known


def test_a_variation_has_its_own_cases_and_checks_beside_those_of_the_job(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(MutatedPrograms, "are_equal", lambda *_arguments: False)
    instruments = Instruments(checks=("barriers",))
    cases = tuple(replace(case, settings=replace(case.settings, instruments=instruments)) for case in subject.cases)
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        checked = replace(subject, cases=cases)
        trials = MutantTrials(checked, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user)
        results = tried(trials, Variation("races0", checks=("races",), cases=("job/1",)))
        (task,) = taken(trials)
        assert task.case.name == "races0:job/1"
        assert set(task.case.settings.instruments.checks) == {"races", "barriers"}
        trials.settle(done(task.case.name))
        assert taken(trials) == []
    assert [one.state for one in results] == ["survived"]


def test_variations_that_are_needed_begin_first(trials: MutantTrials, subject: Subject) -> None:
    for number in range(9):
        tried(trials, variation(subject, "a", f"m{number}"))
    trials.add(variation(subject, "a", "p0"), lambda _result: None, is_needed=True)
    advance(trials)
    assert [key.partition(":")[0] for key, _ in trials._crew.asked] == ["p0", "m0", "m1", "m2"]  # type: ignore[attr-defined]


def test_trials_that_draw_variations_are_over_when_there_are_no_more(trials: MutantTrials, subject: Subject) -> None:
    left = [variation(subject, "a", "m1")]

    def more() -> bool:
        if not left:
            return False
        tried(trials, left.pop())
        return True

    trials.follow(more)
    assert not trials.is_over
    (task,) = taken(trials)
    trials.settle(Outcome(task.case.name, "fault", Fault("trap", "")))
    advance(trials)
    assert trials.is_over


def test_the_fastest_case_is_first_and_one_that_notices_is_the_last(trials: MutantTrials, subject: Subject) -> None:
    results = tried(trials, variation(subject, "a"))
    (task,) = taken(trials)
    assert task.case.name == "m1:job/2"
    assert task.launch_limit_s == 3.0
    assert task.case.limits == subject.cases[1].limits, "functions of the user keep the job's limit"
    assert Path(task.program.ptx).read_text() == "a"
    trials.settle(Outcome(task.case.name, "fault", Fault("trap", "the kernel executed a trap"), seconds=0.5))
    assert results == [TrialResult("killed", "job/2", "fault", "trap: the kernel executed a trap", "trap", seconds=0.5)]
    assert taken(trials) == []


def test_the_case_that_noticed_most_is_the_next_ones_first(trials: MutantTrials, subject: Subject) -> None:
    tried(trials, variation(subject, "a"))
    trials.settle(done(taken(trials)[0].case.name))
    (task,) = taken(trials)
    trials.settle(Outcome(task.case.name, "fault", Fault("assert", "no")))
    tried(trials, variation(subject, "b", "m2"))
    assert taken(trials)[0].case.name == "m2:job/1"


def test_a_survivor_has_passed_every_case_and_changed_bits_are_noted(trials: MutantTrials, subject: Subject) -> None:
    results = tried(trials, variation(subject, "a"))
    for digest in ("clean", "other"):
        (task,) = taken(trials)
        trials.settle(done(task.case.name, digest=digest))
    assert taken(trials) == []
    assert results == [TrialResult("survived", changed=("job/1",), seconds=2.0)]


@pytest.mark.parametrize(
    ("is_compared", "digest", "state"),
    [(True, "clean", "equivalent"), (True, "other", "survived"), (False, "clean", "survived")],
)
def test_a_survivor_with_equal_code_and_equal_results_is_equivalent(
    trials: MutantTrials,
    subject: Subject,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_compared: bool,
    digest: str,
    state: str,
) -> None:
    monkeypatch.setattr(MutatedPrograms, "are_equivalent", lambda *_arguments: True)
    results = tried(trials, replace(variation(subject, "a"), is_compared=is_compared))
    for _ in range(2):
        (task,) = taken(trials)
        trials.settle(done(task.case.name, digest=digest))
    assert taken(trials) == []
    assert [one.state for one in results] == [state]


def test_unchanged_programs_under_checks_have_the_limit_of_their_case(trials: MutantTrials, subject: Subject) -> None:
    trials.add(Variation("races0", checks=("races",)), lambda _result: None)
    trials.add(replace(variation(subject, "a"), checks=("races",)), lambda _result: None)
    unchanged, changed = taken(trials)
    assert unchanged.launch_limit_s == subject.cases[1].limits.timeout
    assert changed.launch_limit_s == 5 * 3.0 < unchanged.launch_limit_s


@pytest.mark.parametrize("is_slow", [True, False])
def test_mutants_of_a_program_that_is_worth_optimising_are_optimised_too(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_slow: bool
) -> None:
    """Their limit is a multiple of the time that the optimised program took."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "scratch").mkdir()
    subject = replace(subject, slow=frozenset(subject.programs if is_slow else ()))
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        trials = MutantTrials(subject, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user)
        tried(trials, variation(subject, "a"))
        assert cache.is_slow(taken(trials)[0].program.key) == is_slow


def test_a_mutant_over_its_limit_has_timed_out(trials: MutantTrials, subject: Subject) -> None:
    results = tried(trials, variation(subject, "a"))
    fault = Fault("timeout", "killed at its limit of 3 s in double<<<1, 32>>>")
    trials.settle(Outcome(taken(trials)[0].case.name, "timeout", fault))
    assert [(one.state, one.case) for one in results] == [("timed out", "job/2")]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        ("UnsupportedError", "not valid"),
        ("DeviceError", "trouble"),
        ("DumpError", "trouble"),
        ("StorageError", "trouble"),
        ("UserCodeError", "trouble"),
        ("LaunchRefused", "killed"),
    ],
)
def test_an_error_that_is_not_the_kernels_own_is_no_kill(
    trials: MutantTrials, subject: Subject, error: str, state: str
) -> None:
    results = tried(trials, variation(subject, "a"))
    refused = Observations(error=error)
    trials.settle(Outcome(taken(trials)[0].case.name, "error", message="no such form", observations=refused))
    assert [(one.state, one.reason) for one in results] == [(state, "no such form")]


def test_a_function_of_the_job_that_does_not_answer_is_no_kill(
    trials: MutantTrials, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = trials._user

    def slow(_judge: Judge, case: Case, *_arguments: object) -> Verdict:
        user.unanswered += 1
        return replace(verdict.skipped(case, ""), status="differ", reason="check.py:f did not return")

    monkeypatch.setattr(Judge, "verdict", slow)
    results = tried(trials, variation(subject, "a"))
    trials.settle(done(taken(trials)[0].case.name))
    assert [one.state for one in results] == ["trouble"]


@pytest.mark.parametrize(
    ("status", "has_kernel", "state"),
    [("differ", False, "trouble"), ("differ", True, "killed"), ("fault", False, "killed")],
)
def test_a_reference_that_fails_is_no_kill_where_no_kernel_computes_it(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, status: Status, has_kernel: bool, state: str
) -> None:
    """Functions and files are what they were for the unchanged kernel; trusted kernels may share what is changed."""

    def judged(_judge: Judge, case: Case, *_arguments: object) -> Verdict:
        return replace(verdict.skipped(case, ""), status=status, reason="reference: f raised MemoryError")

    monkeypatch.setattr(Judge, "verdict", judged)
    kernel = ReferenceKernel(subject.cases[0].source, subject.cases[0].launches)
    cases = [replace(case, reference_kernels={"out": kernel} if has_kernel else {}) for case in subject.cases]
    (tmp_path / "scratch").mkdir()
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        trials = MutantTrials(
            replace(subject, cases=tuple(cases)), FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user
        )
        monkeypatch.setattr(MutantTrials, "_task", lambda _self, trial: task_of(trial.cases[0], tmp_path))
        results = tried(trials, variation(subject, "a"))
        taken(trials)
        failed = Observations(
            runs=(FurtherRun("reference", "", facts=RunFacts(errors={"out": "f raised MemoryError"})),)
        )
        trials.settle(replace(done("m1:job/2"), observations=failed))
    assert [one.state for one in results] == [state]


def test_several_variations_are_tried_at_a_time_and_their_files_go(
    trials: MutantTrials, subject: Subject, tmp_path: Path
) -> None:
    for number in range(6):
        tried(trials, variation(subject, "a", f"m{number}"))
    tasks = taken(trials)
    assert [task.case.name for task in tasks] == ["m0:job/2", "m1:job/2"]
    assert tasks[0].first_launch != tasks[1].first_launch
    sources = tmp_path / "scratch/sources"
    assert (sources / "m0").is_dir()
    Path(tasks[1].dumps).mkdir(parents=True)
    trials.settle(done("m1:job/2"))
    assert not Path(tasks[1].dumps).exists(), "a mutant's further cases would need the space"
    trials.settle(Outcome("m0:job/2", "fault", Fault("trap", "")))
    assert not (sources / "m0").exists()
    assert not trials.is_over


@pytest.mark.parametrize(("unanswered", "state"), [(0, "killed"), (1, "trouble")])
def test_cases_that_must_agree_notice_a_mutant_together(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unanswered: int, state: TrialState
) -> None:
    """Where the job's function that compares them does not answer, it is no kill."""

    def grouped(case: Case) -> Case:
        return replace(case, settings=replace(case.settings, agree=("n",)))

    def judged(members: Sequence[GroupMember], planned: int, user: UserCodeProcess) -> list[Verdict]:
        digests = [member.dumps["out"].digest for member in members]
        assert (digests, planned) == (["one", "two"], 2)
        user.unanswered += unanswered
        other = replace(members[1].verdict, status="differ", reason="agree: 1 of 8 differ")
        return [members[0].verdict, other]

    monkeypatch.setattr(agreement, "verdicts", judged)
    subject = replace(subject, cases=tuple(map(grouped, subject.cases)))
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        (tmp_path / "scratch").mkdir()
        trials = MutantTrials(subject, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user)
        results = tried(trials, variation(subject, "a"))
        for digest in ("one", "two"):
            trials.settle(done(taken(trials)[0].case.name, digest=digest))
        assert not taken(trials)
    assert results == [TrialResult(state, "job/1", "differ", "agree: 1 of 8 differ", seconds=2.0)]


def test_each_group_that_must_agree_is_compared_with_what_unchanged_programs_gave(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case whose program the mutant leaves as it is keeps its result; it is not run again."""
    one, two = (replace(case, settings=replace(case.settings, agree=("n",))) for case in subject.cases)
    cases = (one, two, replace(one, name="job/3", job="of another group"))
    compared: list[list[str]] = []

    def judged(members: Sequence[GroupMember], _planned: int, _user: object) -> list[Verdict]:
        compared.append([f"{member.case.name} {member.outcome.dumps[0].digest}" for member in members])
        return [replace(member.verdict, status="pass") for member in members]

    monkeypatch.setattr(agreement, "verdicts", judged)
    monkeypatch.setattr(MutatedPrograms, "are_equal", lambda _self, case, _programs: case.name == "job/2")
    verdicts = {**subject.verdicts, "job/3": replace(subject.verdicts["job/1"], outcome=done("job/3", 9.0))}
    changed = replace(subject, cases=cases, verdicts=verdicts, built={**subject.built, "job/3": subject.built["job/1"]})
    (tmp_path / "scratch").mkdir()
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        trials = MutantTrials(changed, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user)
        results = tried(trials, variation(changed, "a"))
        for _ in range(2):
            (task,) = taken(trials)
            trials.settle(done(task.case.name, digest="other"))
        assert not taken(trials)
    assert sorted(map(sorted, compared)) == [["job/1 other", "job/2 clean"], ["job/3 other"]]
    assert [result.state for result in results] == ["survived"]


def test_behind_the_end_of_the_time_no_trial_begins(subject: Subject, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    results: list[str] = []
    with StopSignal() as stop, UserCodeProcess(stop) as user:
        trials = MutantTrials(subject, FakeCrew(tmp_path / "ptx"), tmp_path / "scratch", user, until=0.0)
        trials.add(variation(subject, "a", "m1"), lambda result: results.append(f"m1 {result.state}"))
        trials.add(variation(subject, "b", "p1"), lambda result: results.append(f"p1 {result.state}"), is_needed=True)
        assert not taken(trials)
        assert trials.is_over
    assert results == ["p1 cut"]


def test_what_has_begun_ends_soon_after_the_end_of_the_time(
    trials: MutantTrials, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tried(trials, variation(subject, "a"))
    (task,) = taken(trials)
    monkeypatch.setattr(trials, "_until", time.monotonic())
    advance(trials)
    monkeypatch.setattr(trials, "_until", time.monotonic() - 60.0)
    advance(trials)
    assert not results, "its case is under way"
    trials.settle(done(task.case.name))
    assert not taken(trials)
    assert results == [TrialResult("cut", seconds=1.0)]
    assert trials.is_over


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (CompileError("k.cu(1): error"), "not valid"),
        (UnsupportedError("no such form"), "not valid"),
        (CompilerStopped("not compiled after 600 s"), "trouble"),
        (HarnessError("the disk is full"), "trouble"),
    ],
)
def test_a_program_that_is_not_there(error: GpuregressError, state: str) -> None:
    assert states.state_of_error(error) == state


@pytest.mark.parametrize(
    ("status", "kind", "state"),
    [
        ("differ", "", "killed"),
        ("fault", "trap", "killed"),
        ("fault", "crash", "trouble"),
        ("timeout", "timeout", "timed out"),
        ("error", "", "trouble"),
    ],
)
def test_a_case_that_does_not_pass(status: Status, kind: str, state: str) -> None:
    case = fakes.case("double")
    reached = replace(verdict.skipped(case, ""), status=status)
    fault = Fault(kind, "") if kind else None
    assert states.state_of_verdict(reached, Outcome(case.name, "done", fault)) == state


def test_every_state_has_its_list() -> None:
    assert set(states.LISTS) == set(get_args(TrialState))
    assert set(states.LISTS.values()) == set(get_args(states.Listed))
    assert set(states.NOTICED) | {*states.ALIVE, *states.SAME} | set(states.UNUSABLE) == set(get_args(TrialState))
