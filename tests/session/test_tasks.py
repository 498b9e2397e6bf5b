from __future__ import annotations

from pathlib import Path
from unittest import mock

from gpuregress.execution.workers.compiler_pool import Crew
from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Task
from gpuregress.gpu.records import replace
from gpuregress.session.compilation import CasePrograms, ProgramBuilder
from gpuregress.session.tasks import TaskStream
from tests import fakes
from tests.session.bench import Bench
from tests.session.crews import InProcessCrew, SlowCrew, case_of, compiler, wrong


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


def test_a_source_whose_text_does_not_tell_is_labelled_by_its_program(bench: Bench, tmp_path: Path) -> None:
    def run_with(ptx: str) -> str:
        (tmp_path / "program.ptx").write_text(ptx)
        made = replace(fakes.program(), ptx=str(tmp_path / "program.ptx"), unknown="k.cu:2: an include of a macro")
        with mock.patch.object(bench, "compile", return_value=made):
            summary = bench.run(fakes.case("double"))
        if summary.verdicts[0].revision != "1.4":
            message = (*summary.notes, *summary.remarks)
            assert any("already recorded for another source text" in note for note in message)
        return summary.verdicts[0].revision

    labels = [run_with("one"), run_with("one"), run_with("two"), run_with("one")]
    assert labels[0] == labels[1] == labels[3] == "1.4"
    assert labels[2].startswith("1.4+")
