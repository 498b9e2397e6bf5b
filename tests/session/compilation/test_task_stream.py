from __future__ import annotations

from pathlib import Path

from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Task
from gpuregress.gpu.records import replace
from gpuregress.session.compilation.builder import CasePrograms, ProgramBuilder
from gpuregress.session.compilation.task_stream import TaskStream
from gpuregress.session.compiler_crew import Crew
from tests.session.compilation.crews import InProcessCrew, SlowCrew, case_of, compiler, wrong


def stream_of(crew: Crew, cases: list[Case]) -> TaskStream:
    def task_of(case: Case, built: CasePrograms) -> Task:
        return Task(case, built.programs[0], "log", 1, "dumps", references=built.references)

    return TaskStream(ProgramBuilder(crew, lambda _event: None), cases, task_of)


def names(actual: list[Task | CaseNotCompiled]) -> list[str]:
    return [item.case.name for item in actual]


def test_a_case_is_ready_when_its_program_is() -> None:
    crew = SlowCrew()
    stream = stream_of(crew, [case_of(name, f"/{name}.cu") for name in "abc"])
    assert not list(stream.take(2))
    crew.finish()
    assert names(list(stream.take(2))) == ["a"]
    assert not stream.is_over
    crew.finish()
    crew.finish()
    assert stream.is_ready
    assert names(list(stream.take(2))) == ["b", "c"]
    assert stream.is_over


def test_no_more_tasks_are_taken_than_there_is_room_for_and_few_are_compiled_ahead() -> None:
    crew = SlowCrew()
    stream = stream_of(crew, [case_of(str(number), f"/{number}.cu") for number in range(100)])
    assert not list(stream.take(1))
    ahead = len(crew.asked)
    assert 1 < ahead < 10
    while crew.asked:
        crew.finish()
    assert names(list(stream.take(1))) == ["0"]
    assert not list(stream.take(0))
    assert len(crew.asked) <= 1


def test_what_cannot_be_built_takes_no_room() -> None:
    stream = stream_of(InProcessCrew(compiler), [case_of("a", "/broken.cu"), case_of("b", "/two.cu")])
    first, second = stream.take(1)
    assert isinstance(first, CaseNotCompiled)
    assert str(first.error) == "broken.cu(3): error"
    assert isinstance(second, Task)


def test_a_variant_that_contradicts_its_kernel_is_told_alone(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("launches:\n  - kernel: double\n    args: []\n")
    bad = replace(wrong(case_of("b", "/two.cu")), path=str(job))
    first, second = stream_of(InProcessCrew(compiler), [case_of("a", "/one.cu"), bad]).take(2)
    assert isinstance(first, Task)
    assert isinstance(second, CaseNotCompiled)
    assert isinstance(second.error, JobErrors)
    assert "double takes" in str(second.error)


def test_compilers_are_dismissed_before_the_last_case_starts() -> None:
    crew = SlowCrew()
    stream = stream_of(crew, [case_of(name, f"/{name}.cu") for name in "ab"])
    assert not list(stream.take(2))
    crew.finish()
    assert len(list(stream.take(2))) == 1
    before = crew.dismissed
    crew.finish()
    assert len(list(stream.take(2))) == 1
    assert (before, crew.dismissed) == (0, 1)
