from __future__ import annotations

from collections.abc import Callable

from gpuregress.foundation.records import Case, Program, Source, Variants
from gpuregress.gpu.records import replace
from gpuregress.session.compilation.builder import Built, CasePrograms, ProgramBuilder
from gpuregress.session.events import Compiling, Event
from tests import fakes
from tests.session.compilation.crews import InProcessCrew, SlowCrew, case_of, compiler


def build(
    *cases: Case, using: Callable[[Source], Program] = compiler, told: list[Event] | None = None
) -> dict[str, Built]:
    listen = (lambda _event: None) if told is None else told.append
    return ProgramBuilder(InProcessCrew(using), listen).compile(cases)


def test_each_distinct_source_is_compiled_once_and_told_in_the_order_of_the_cases() -> None:
    compiled: list[str] = []
    told: list[Event] = []

    def counting(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    cases = [case_of("a", "/one.cu"), case_of("b", "/two.cu"), case_of("c", "/one.cu")]
    actual = build(*cases, using=counting, told=told)
    assert sorted(compiled) == ["/one.cu", "/two.cu"]
    assert told == [Compiling("one.cu", 1), Compiling("two.cu", 2)]
    assert [type(built) for built in actual.values()] == [CasePrograms] * 3


def test_what_is_found_is_not_compiled() -> None:
    crew = SlowCrew()
    builder = ProgramBuilder(crew, lambda _event: None, lambda _source: fakes.program())
    assert isinstance(builder.compile([case_of("a", "/one.cu")])["a"], CasePrograms)
    assert not crew.asked


def test_a_source_that_does_not_compile_stops_its_own_cases_only() -> None:
    actual = build(case_of("a", "/broken.cu"), case_of("b", "/two.cu"))
    assert isinstance(actual["b"], CasePrograms)
    assert str(actual["a"]) == "broken.cu(3): error"


def test_a_variant_that_does_not_compile_is_named() -> None:
    case = case_of("a", "/one.cu")
    sources = {
        "fmad=off": (replace(case.source, path="/two.cu"),),
        "arch=sm_80": (replace(case.source, path="/broken.cu"),),
    }
    actual = build(replace(case, variants=Variants("fmad=on", sources)))
    assert str(actual["a"]) == "variant arch=sm_80: broken.cu(3): error"
    sources.pop("arch=sm_80")
    built = build(replace(case, variants=Variants("fmad=on", sources)))["a"]
    assert isinstance(built, CasePrograms)
    assert list(built.variants) == ["fmad=off"]
