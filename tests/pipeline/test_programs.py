from __future__ import annotations

import dataclasses
import threading

import pytest

from gpuregress.errors import CompileError, Interrupted
from gpuregress.pipeline import programs
from gpuregress.pipeline.events import Compiling, Event
from gpuregress.records import Case, Program, Source
from tests import fakes


def case_of(name: str, path: str) -> Case:
    case = fakes.case("double", name=name)
    return dataclasses.replace(case, source=dataclasses.replace(case.source, path=path))


def test_each_distinct_source_is_compiled_once_and_told_in_the_order_of_the_cases() -> None:
    compiled: list[str] = []
    told: list[Event] = []

    def compiler(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    cases = [case_of("a", "/one.cu"), case_of("b", "/two.cu"), case_of("c", "/one.cu")]
    found = programs.compile_all(cases, told.append, compiler)
    assert sorted(compiled) == ["/one.cu", "/two.cu"]
    assert told == [Compiling("one.cu", 1, 2), Compiling("two.cu", 2, 2)]
    assert set(found.programs) == {"a", "b", "c"}


def test_a_source_that_does_not_compile_stops_its_own_cases_only() -> None:
    def compiler(source: Source) -> Program:
        if source.path == "/broken.cu":
            raise CompileError("broken.cu(3): error")
        return fakes.program()

    cases = [case_of("a", "/broken.cu"), case_of("b", "/two.cu")]
    found = programs.compile_all(cases, lambda _event: None, compiler)
    assert set(found.programs) == {"b"}
    assert str(found.failures["a"]) == "broken.cu(3): error"


def test_two_sources_are_compiled_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=30)  # opens only when two compilations are in it

    def compiler(_source: Source) -> Program:
        both.wait()
        return fakes.program()

    cases = [case_of("a", "/one.cu"), case_of("b", "/two.cu")]
    assert set(programs.compile_all(cases, lambda _event: None, compiler).programs) == {"a", "b"}


def test_an_interrupt_leaves_the_rest_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    compiled: list[str] = []
    go = threading.Event()

    def compiler(source: Source) -> Program:
        compiled.append(source.path)
        go.wait(30)
        return fakes.program()

    def check() -> None:
        threading.Timer(0.05, go.set).start()
        raise Interrupted("interrupted")

    cases = [case_of(str(number), f"/{number}.cu") for number in range(5)]
    with pytest.raises(Interrupted):
        programs.compile_all(cases, lambda _event: None, compiler, check)
    assert len(compiled) <= 1
