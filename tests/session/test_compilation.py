from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuregress.execution.workers.compiler_pool import CompilerPool, Result, process_count
from gpuregress.foundation.errors import CompileError, HarnessError, Interrupted, UsageError
from gpuregress.foundation.records import Case, Program, Source, Variants
from gpuregress.gpu.records import replace
from gpuregress.session import compilation
from gpuregress.session.compilation import Built, CasePrograms, ProgramBuilder
from gpuregress.session.events import Compiling, Event
from gpuregress.store.project import find
from gpuregress.toolchain import debug_types, programs
from tests import fakes, workshop
from tests.session.crews import InProcessCrew, SlowCrew, case_of, compiler


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


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(text)
    return Source(str(path), kernels=("k",))


def test_each_source_gets_its_program_or_its_error(tmp_path: Path) -> None:
    well = source(tmp_path, "well.cu", 'extern "C" __global__ void k(int *x) { *x = 1; }\n')
    broken = source(tmp_path, "broken.cu", 'extern "C" __global__ void k(int *x) { *x = }\n')
    first, second, third = compilation.compile_sources([well, broken, well])
    assert isinstance(first, Program)
    assert isinstance(second, CompileError)
    assert "broken.cu" in str(second)
    assert first == third
    assert compilation.compile_source(well) == first
    with pytest.raises(CompileError):
        compilation.compile_source(broken)


def test_an_interrupt_leaves_the_rest_uncompiled() -> None:
    compiled: list[str] = []

    def counting(source: Source) -> Program:
        compiled.append(source.path)
        return fakes.program()

    def check() -> None:
        if compiled:
            raise Interrupted("interrupted")

    crew = InProcessCrew(counting, check)
    with pytest.raises(Interrupted):
        ProgramBuilder(crew, lambda _event: None).compile([case_of(str(one), f"/{one}.cu") for one in range(5)])
    assert len(compiled) == 1


def test_as_many_processes_compile_as_there_are_cores_and_eight_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, processes in ((1, 1), (3, 3), (64, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid, count=cores: set(range(count)))
        assert process_count() == processes


def test_each_distinct_source_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Source] = []

    def compile_sources(wanted: list[Source], *, cubins: bool, listen: object) -> list[Result]:
        assert not cubins
        compiled.extend(wanted)
        return [fakes.program(), CompileError("broken.cu(3): error"), *[HarnessError("no assembler")] * 2]

    shop = workshop.make(tmp_path)
    shop.job(("n: [100]", "n: [100, 200]"))
    shop.write("kernels/other.cu", workshop.KERNEL)
    shop.job(("scale.cu", "other.cu"), name="other")
    for name in ("third", "fourth"):
        shop.write(f"kernels/{name}.cu", workshop.KERNEL)
        shop.job(("scale.cu", f"{name}.cu"), name=name)
    monkeypatch.setattr(compilation, "compile_sources", compile_sources)
    built = compilation.build(find(shop.root), (), arch="sm_80", cubins=False)
    assert [(Path(source.path).name, source.arch) for source in compiled] == [
        ("fourth.cu", "sm_80"),
        ("other.cu", "sm_80"),
        ("scale.cu", "sm_80"),
        ("third.cu", "sm_80"),
    ]
    assert (built.programs, built.errors, built.exit_code) == (
        1,
        ("broken.cu(3): error", "2 programs: no assembler"),
        4,
    )


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--arch"):
        compilation.build(find(workshop.make(tmp_path).root), (), arch="sm_1x")


def test_a_source_with_unknown_dependencies_is_compiled_once_where_its_programs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[str] = []
    submit = CompilerPool.submit

    def counted(pool: CompilerPool, key: str, one: Source) -> None:
        if one.kernels and not debug_types.are_asked(one.options):
            submitted.append(Path(one.path).name)
        submit(pool, key, one)

    monkeypatch.setattr(CompilerPool, "submit", counted)
    dated = source(tmp_path, "dated.cu", 'extern "C" __global__ void k(int *x) { *x = sizeof(__DATE__); }\n')
    broken = source(tmp_path, "broken.cu", 'extern "C" __global__ void k(int *x) { *x = sizeof(__DATE__) }\n')
    with programs.keeping_unknown(), compilation.keeping_compilers():
        first, error = compilation.compile_sources([dated, broken])
        assert isinstance(error, CompileError)
        assert compilation.compile_source(dated) == first
        case = replace(case_of("a", dated.path), source=dated)
        assert isinstance(compilation.compile_cases([case])["a"], CasePrograms)
        with pytest.raises(CompileError, match="expected a"):
            compilation.compile_source(broken)
        assert submitted == ["dated.cu", "broken.cu"]
        Path(dated.path).write_text(Path(dated.path).read_text() + "// changed\n")
        compilation.compile_source(dated)
    compilation.compile_source(dated)
    assert submitted[2:] == ["dated.cu"] * 2


def test_a_stop_after_the_last_compilation_is_obeyed() -> None:
    with pytest.raises(Interrupted), compilation.keeping_compilers():
        os.kill(os.getpid(), signal.SIGINT)
