from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuregress.errors import CompileError, GpuregressError, Interrupted, JobErrors
from gpuregress.records import Argument, Case, Program, Source
from gpuregress.session import compilation
from gpuregress.session.events import Compiling, Event
from gpuregress.workers.pool import Unbuilt
from gpuregress.workers.task import Task
from tests import fakes


def case_of(name: str, path: str) -> Case:
    case = fakes.case("double", name=name)
    return dataclasses.replace(case, source=dataclasses.replace(case.source, path=path))


def wrong(case: Case) -> Case:
    """The case with an argument too many."""
    launch = dataclasses.replace(case.launches[0], args=(*case.launches[0].args, Argument("null")))
    return dataclasses.replace(case, launches=(launch,))


def compiler(source: Source) -> Program:
    if "broken" in source.path:
        raise CompileError("broken.cu(3): error")
    return fakes.program()


def build(
    *cases: Case, using: Callable[[Source], Program] = compiler, told: list[Event] | None = None
) -> compilation.Compiled:
    listen = (lambda _event: None) if told is None else told.append
    return compilation.Builder(compilation.AtOnce(using), listen).compile(cases)


class Slow:
    """A crew that has compiled something when the test says so."""

    count = 1
    deadline = None

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.done: list[tuple[str, compilation.Result]] = []
        self.dismissed = 0

    @property
    def under_way(self) -> int:
        return len(self.asked)

    def fileno(self) -> int:
        return -1

    def submit(self, key: str, source: Source) -> None:
        self.asked.append(key)

    def dismiss(self) -> None:
        self.dismissed += 1

    def wait(self) -> None:
        self.finish()

    def finish(self, result: Program | GpuregressError | None = None) -> None:
        self.done.append((self.asked.pop(0), result or fakes.program()))

    def collect(self) -> list[tuple[str, compilation.Result]]:
        done, self.done = self.done, []
        return done


def stream_of(crew: compilation.Crew, cases: list[Case]) -> compilation.Stream:
    def task_of(case: Case, built: compilation.Built) -> Task:
        return Task(case, built.program, "log", 1, "dumps", references=built.references)

    return compilation.Stream(compilation.Builder(crew, lambda _event: None), cases, task_of)


def names(found: list[Task | Unbuilt]) -> list[str]:
    return [item.case.name for item in found]


def test_each_distinct_source_is_compiled_once_and_told_in_the_order_of_the_cases() -> None:
    compiled: list[str] = []
    told: list[Event] = []

    def counting(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    cases = [case_of("a", "/one.cu"), case_of("b", "/two.cu"), case_of("c", "/one.cu")]
    found = build(*cases, using=counting, told=told)
    assert sorted(compiled) == ["/one.cu", "/two.cu"]
    assert told == [Compiling("one.cu", 1), Compiling("two.cu", 2)]
    assert set(found.programs) == {"a", "b", "c"}


def test_what_is_found_is_not_compiled() -> None:
    crew = Slow()
    builder = compilation.Builder(crew, lambda _event: None, lambda _source: fakes.program())
    assert set(builder.compile([case_of("a", "/one.cu")]).programs) == {"a"}
    assert not crew.asked


def test_a_source_that_does_not_compile_stops_its_own_cases_only() -> None:
    found = build(case_of("a", "/broken.cu"), case_of("b", "/two.cu"))
    assert set(found.programs) == {"b"}
    assert str(found.failures["a"]) == "broken.cu(3): error"


def test_an_interrupt_leaves_the_rest_uncompiled() -> None:
    compiled: list[str] = []

    def counting(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    def check() -> None:
        if compiled:
            raise Interrupted("interrupted")

    crew = compilation.AtOnce(counting, check)
    with pytest.raises(Interrupted):
        compilation.Builder(crew, lambda _event: None).compile([case_of(str(one), f"/{one}.cu") for one in range(5)])
    assert len(compiled) == 1


def test_a_job_is_held_against_its_kernels_by_one_case() -> None:
    cases = [case_of("a", "/one.cu"), case_of("b", "/one.cu"), case_of("c", "/two.cu")]
    assert [case.name for case in compilation.samples(cases)] == ["a", "c"]
    other = dataclasses.replace(cases[1], path="another job")
    assert [case.name for case in compilation.samples([cases[0], other])] == ["a", "b"]


def test_a_case_is_ready_when_its_program_is() -> None:
    crew = Slow()
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
    crew = Slow()
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
    stream = stream_of(compilation.AtOnce(compiler), [case_of("a", "/broken.cu"), case_of("b", "/two.cu")])
    first, second = stream.take(1)
    assert isinstance(first, Unbuilt)
    assert str(first.error) == "broken.cu(3): error"
    assert isinstance(second, Task)


def test_a_variant_that_contradicts_its_kernel_is_told_alone(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("launches:\n  - kernel: double\n    args: []\n")
    bad = dataclasses.replace(wrong(case_of("b", "/two.cu")), path=str(job))
    first, second = stream_of(compilation.AtOnce(compiler), [case_of("a", "/one.cu"), bad]).take(2)
    assert isinstance(first, Task)
    assert isinstance(second, Unbuilt)
    assert isinstance(second.error, JobErrors)
    assert "double takes" in str(second.error)


def test_compilers_are_dismissed_before_the_last_case_starts() -> None:
    crew = Slow()
    stream = stream_of(crew, [case_of(name, f"/{name}.cu") for name in "ab"])
    assert not list(stream.take(2))
    crew.finish()
    assert len(list(stream.take(2))) == 1
    before = crew.dismissed
    crew.finish()
    assert len(list(stream.take(2))) == 1
    assert (before, crew.dismissed) == (0, 1)
