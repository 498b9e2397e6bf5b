"""Mutated programs: copies of folders with one changed file, changed PTX, and what is the same program."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Program, Source
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating.programs import MutatedPrograms, Variation
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session.compilation import source_key
from gpuregress.store.project import Project
from gpuregress.toolchain.programs import inputs
from gpuregress.virtual_gpu.compilation import object_cache
from tests import fakes


def subject_of(tmp_path: Path) -> Subject:
    files = {"kernels/k.cu": '#include "near.h"\n#include <far.h>\n', "kernels/near.h": "near", "include/far.h": "far"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    source = Source(
        str(tmp_path / "kernels/k.cu"), include=(str(tmp_path / "include"), str(tmp_path / "missing")), digest="00"
    )
    ptx = tmp_path / "clean.ptx"
    ptx.write_text("mov.u32 %r1, 1;\n")
    program = replace(fakes.program(), ptx=str(ptx), cubin="/built/before.cubin")
    case = fakes.case("double", source=source)
    key = source_key(source)
    project = Project(tmp_path, tmp_path, tmp_path, tmp_path)
    return Subject(project, "job", (case,), {}, {}, {key: program}, {key: source})


def test_a_changed_header_is_found_before_the_users(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    programs = MutatedPrograms(subject, tmp_path / "scratch")
    far = str(tmp_path / "include/far.h")
    ((key, moved),) = programs.sources(Variation("m1", files={far: "changed"}), subject.cases[0])
    assert key in subject.sources
    copy = Path(moved.path)
    assert copy.is_relative_to(tmp_path / "scratch/m1")
    assert copy.read_text() == (tmp_path / "kernels/k.cu").read_text()
    assert (copy.parent / "near.h").read_text() == "near"
    held = next(Path(folder) / "far.h" for folder in moved.include if (Path(folder) / "far.h").is_file())
    assert held.read_text() == "changed"
    assert str(tmp_path / "include") in moved.include, "what the scanner did not find is where it is"
    assert not any("missing" in folder for folder in moved.include)
    assert (Path(far).read_text(), moved.digest) == ("far", "")


@pytest.mark.parametrize(
    ("head", "options"),
    [
        ('#  include "{}"', ()),
        ("#include <{}>", ()),
        ("#include <far.h>", ("-include={}",)),
        ("#include <far.h>", ("--pre-include", "{}")),
    ],
)
def test_a_header_with_an_absolute_name_is_the_changed_copy(
    tmp_path: Path, head: str, options: tuple[str, ...]
) -> None:
    """Else its mutants would be equal programs, and not count."""
    subject = subject_of(tmp_path)
    far, (key,) = str(tmp_path / "include/far.h"), subject.sources
    (tmp_path / "kernels/k.cu").write_text(f'{head.format(far)}\n#include "/usr/other.h"\n')
    source = replace(subject.sources[key], options=("-lineinfo", *(option.format(far) for option in options)))
    case, key = fakes.case("double", source=source), source_key(source)
    subject = replace(subject, cases=(case,), sources={key: source})
    programs = MutatedPrograms(subject, tmp_path / "scratch")
    ((_, moved),) = programs.sources(Variation("m1", files={far: "changed"}), case)
    copy = str(tmp_path / f"scratch/m1{far}")
    assert Path(copy).read_text() == "changed"
    assert moved.options == ("-lineinfo", *(option.format(copy) for option in options))
    text = Path(moved.path).read_text()
    assert text == f'{head.format(copy)}\n#include "/usr/other.h"\n'
    assert {str(file) for file in inputs(moved).files} == {moved.path, copy}


def test_a_source_that_does_not_include_the_file_stays(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    programs = MutatedPrograms(subject, tmp_path / "scratch")
    change = Variation("m1", files={"/other.h": "changed"})
    assert list(programs.sources(change, subject.cases[0])) == []
    own = programs.of_case(change, subject.cases[0], {})
    assert own == list(subject.programs.values())
    assert programs.are_equal(subject.cases[0], own)


def test_changed_ptx_is_a_program_of_its_own(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    programs = MutatedPrograms(subject, tmp_path / "scratch")
    (key,) = subject.programs
    (program,) = programs.of_case(Variation("m1", ptx={key: "mov.u32 %r1, 2;\n"}), subject.cases[0], {})
    assert Path(program.ptx).read_text() == "mov.u32 %r1, 2;\n"
    assert (program.key != subject.programs[key].key, program.cubin) == (True, "")
    assert not programs.are_equal(subject.cases[0], [program])
    (same,) = programs.of_case(Variation("m2", ptx={key: "// x\nmov.u32 %r1, 1;\n"}), subject.cases[0], {})
    assert programs.are_equal(subject.cases[0], [same])


def test_programs_are_equivalent_where_all_that_changed_have_equal_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def is_equivalent(first: str, second: str, kernels: tuple[str, ...], card: str, _cache: object) -> bool:
        asked.append((first, second))
        assert (kernels[0], card) == ("double", "sm_90")
        if "error" in second:
            raise CompileError("no")
        return ", 2" not in second

    monkeypatch.setattr(object_cache, "is_equivalent", is_equivalent)
    subject = subject_of(tmp_path)
    (key,) = subject.programs
    programs = MutatedPrograms(subject, tmp_path / "scratch")

    def changed(name: str, text: str) -> bool:
        return programs.are_equivalent(Variation(name, ptx={key: text}), {})

    assert changed("m1", "mov.u32 %r1, 0x1;\n")
    assert asked == [("mov.u32 %r1, 1;\n", "mov.u32 %r1, 0x1;\n")]
    assert not changed("m2", "mov.u32 %r1, 2;\n")
    assert not changed("m3", "error")
    compiled = tmp_path / "m4.ptx"
    compiled.write_text("mov.u32 %r1, 2;\n")
    program = replace(subject.programs[key], ptx=str(compiled))
    assert not programs.are_equivalent(Variation("m4", files={"/k.cu": "x"}), {key: program})


def test_the_name_of_a_copied_header_is_no_difference(tmp_path: Path) -> None:
    subject, scratch = subject_of(tmp_path), tmp_path / "scratch"
    (program,) = subject.programs.values()
    case = subject.cases[0]

    def with_name(text: str, name: str) -> Program:
        path = tmp_path / name
        path.write_text(f".b8 $str[{len(text) + 1}] = {{{', '.join(map(str, text.encode()))}, 0}};\n")
        return replace(program, ptx=str(path))

    clean = with_name("at /include/far.h", "a.ptx")
    subject = replace(subject, programs=dict.fromkeys(subject.programs, clean))
    programs = MutatedPrograms(subject, scratch)
    assert programs.are_equal(case, [with_name(f"at {scratch}/m12/include/far.h", "b.ptx")])
    assert not programs.are_equal(case, [with_name(f"at {scratch}/m12/include/near.h", "c.ptx")])


def test_an_array_of_words_is_compared_as_it_is(tmp_path: Path) -> None:
    subject = subject_of(tmp_path)
    ((key, program),) = subject.programs.items()
    words = tmp_path / "words.ptx"
    words.write_text(".global .u32 t[2] = {47, 70000};\n")
    subject = replace(subject, programs={key: replace(program, ptx=str(words))})
    programs = MutatedPrograms(subject, tmp_path / "scratch")
    (same,) = programs.of_case(Variation("m1", ptx={key: words.read_text() + "\n"}), subject.cases[0], {})
    (other,) = programs.of_case(Variation("m2", ptx={key: words.read_text().replace("47", "48")}), subject.cases[0], {})
    assert programs.are_equal(subject.cases[0], [same])
    assert not programs.are_equal(subject.cases[0], [other])


def test_the_kernels_that_are_compared_are_the_mangled_ones_that_a_case_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def is_equivalent(_first: str, _second: str, kernels: tuple[str, ...], _card: str, _cache: object) -> bool:
        asked.append(kernels)
        return True

    monkeypatch.setattr(object_cache, "is_equivalent", is_equivalent)
    subject = subject_of(tmp_path)
    ((key, program),) = subject.programs.items()
    entry = next(iter(program.entries.values()))
    entries = {name: replace(entry, mangled=f"_Z{name}") for name in ("a", "b")}
    for named, compared in (((), ("_Za", "_Zb")), (("b",), ("_Zb",))):
        one = replace(
            subject,
            programs={key: replace(program, entries=entries)},
            sources={key: replace(subject.sources[key], kernels=named)},
        )
        assert MutatedPrograms(one, tmp_path / "scratch").are_equivalent(Variation("m1", ptx={key: "x"}), {})
        assert asked[-1] == compared
