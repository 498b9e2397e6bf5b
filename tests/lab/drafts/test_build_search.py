from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.execution.workers.compiler_pool import CompilerPool
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Source
from gpuregress.lab.drafts import build_search, new
from gpuregress.lab.drafts.build_search import FoundBuild
from gpuregress.store.project import Project
from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.functions import harness

KERNEL = "__global__ void k(int* x) { x[0] = N; }\n"
TEMPLATE = "template <class T> __global__ void k(T* x) { x[0] = N; }\n"


def found(root: Path, text: str, files: dict[str, str], *, commands: bool = False) -> FoundBuild:
    for name, content in {".git/HEAD": "", "src/k.cu": text, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    project = Project(root, root / "configs", root / "baselines", root / "runs")
    database = root / "build/compile_commands.json" if commands else None
    with include_scanner.reading_once():  # as the command does
        return build_search.find(project, root / "src/k.cu", database)


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", [KERNEL, TEMPLATE])
def test_the_one_folder_of_the_clone_with_a_missing_header_is_taken(text: str, tmp_path: Path) -> None:
    files = {"deep/inc/a/b.h": '#include "c/c.h"\n', "other/c/c.h": "#define N 1\n", "src/c.h": "", "unused/x.h": ""}
    build = found(tmp_path, f"#include <a/b.h>\n{text}", files)
    assert build.options.include == (tmp_path / "deep/inc", tmp_path / "other")
    assert build.notes == (
        "a/b.h is in deep/inc of this clone: -I is added",
        "c/c.h is in other of this clone: -I is added",
    )
    assert build.options.origin == "a/b.h is in deep/inc; c/c.h is in other"
    assert build.missing_header == ""


def test_headers_are_looked_for_without_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    submit = CompilerPool.submit

    def noted(pool: CompilerPool, key: str, source: Source) -> None:
        compiled.append("directives" if source.harness == harness.DIRECTIVES else "code")
        submit(pool, key, source)

    monkeypatch.setattr(CompilerPool, "submit", noted)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    files = {
        "one/a.h": "#include <b.h>\n#include <lib/x.h>\n",
        "two/b.h": "#define N 1\n",
        "three/c.h": "",
        "config.h.in": "#cmakedefine01 WITH_CUDA\n",
    }
    text = "#include <a.h>\n#include <lib/y.h>\n#include <config.h>\n#if WITH_CUDA\n#include <c.h>\n#endif\n"
    build = found(tmp_path, f"{text}{KERNEL}", files)
    stand_ins = tmp_path / "configs/stand_ins"
    assert build.options.include == (tmp_path / "one", tmp_path / "two", stand_ins, tmp_path / "three")
    assert build.missing_header == ""
    assert compiled == ["code", *["directives"] * 4, "code"]


def test_a_header_in_several_folders_is_not_chosen(tmp_path: Path) -> None:
    build = found(tmp_path, f'#include "b.h"\n{KERNEL}', {"one/b.h": "", "two/b.h": ""})
    assert build.options.include == ()
    assert build.missing_header == "b.h"
    assert build.notes[0].startswith("NEEDED: b.h, which this clone has in one, two: name the folder with ")


def test_the_folder_that_is_nearest_to_the_source_is_taken(tmp_path: Path) -> None:
    files = {"copy/src/deep/b.h": "", "src/deep/b.h": "#define N 2\n", "b/b.h": ""}
    build = found(tmp_path, f'#include "b.h"\n{KERNEL}', files)
    assert build.options.include == (tmp_path / "src/deep",)
    (note,) = build.notes
    assert note.startswith(
        "NEEDED: b.h is in src/deep, and another one in b, copy/src/deep: -I is added for the nearest"
    )
    build = found(tmp_path, f'#include "b.h"\n{KERNEL}', dict.fromkeys(files, "#define N 2\n"))
    assert build.notes == ("b.h is in src/deep of this clone: -I is added",)


def test_a_folder_stays_if_one_name_of_a_file_needs_it(tmp_path: Path) -> None:
    files = {"src/a.h": "#pragma once\n#define N 1\n", "CMakeLists.txt": "include_directories(.)\n"}
    build = found(tmp_path, f'#include "a.h"\n#include "src/a.h"\n{KERNEL}', files)
    assert (build.options.include, build.missing_header) == ((tmp_path,), "")


@pytest.mark.parametrize(("header", "origin"), [("p/config.h", "p/config.h.cmakein"), ("p/a.pb.h", "p/a.proto")])
def test_a_header_that_the_build_makes_is_named_with_its_origin(header: str, origin: str, tmp_path: Path) -> None:
    build = found(tmp_path, f'#include "{header}"\n{KERNEL}', {origin: ""})
    (note,) = build.notes
    assert note.startswith(f"NEEDED: {header}, which the build makes from {origin}: build the project")


MODULES = '[submodule "lib"]\n\tpath = third_party/lib-core\n\turl = https://example.org/lib-core\n'
PROTOCOL = """\
syntax = "proto3";
package a.b;  // enum Gone { }
message Outer { optional int32 x = 1; enum Inner { ZERO = 0; TWO = 2 [deprecated = true]; } message More { } }
enum Kind { NONE = 0; SEVEN = 7; }
"""


def test_empty_files_stand_in_for_the_headers_of_a_submodule(tmp_path: Path) -> None:
    source = "#include <lib/a.h>\n#ifdef ODD\n#include <lib/b.h>\n#endif\nvoid f(Lib x);\n"
    source += "__global__ void k(int* x) { x[0] = 1; }\n"
    build = found(tmp_path, source, {".gitmodules": MODULES})
    folder = tmp_path / "configs/stand_ins"
    assert build.options.include == (folder,)
    assert [(folder / f"lib/{name}.h").read_text() for name in "ab"] == ["", ""]
    assert build.notes[0] == (
        "NEEDED: lib/a.h, of a submodule that this clone does not hold: `git submodule update --init "
        "third_party/lib-core` brings it; configs/stand_ins/lib/a.h stands in for it and is empty; it is the same with "
        "lib/b.h"
    )
    assert build.options.origin == "NEEDED: lib/a.h, lib/b.h, for which files in stand_ins/ stand in"


def test_a_stand_in_declares_the_classes_that_the_source_names(tmp_path: Path) -> None:
    source = "#include <half.hpp>\n#include <lib/vector.h>\nstruct Base { struct Inner {}; };\n"
    source += "using half = half_float::half;\n"
    source += "template <class T> struct IsHalf { static constexpr bool value = false; };\n"
    source += "template <> struct IsHalf<half> { static constexpr bool value = true; Base::Inner inner; };\n"
    source += "template <class T> struct IsHalf<lib::Vector<T>> { static constexpr bool value = true; };\n"
    source += "void copy() { cudaMemcpy(0, 0, 0, cudaMemcpyKind::cudaMemcpyDefault); }\n"
    source += "__global__ void k(int* x) { x[0] = IsHalf<int>::value; }\n"
    build = found(tmp_path, source, {})
    text = "namespace half_float { class half; }\nnamespace lib { template <class...> class Vector; }\n"
    for header in ("half.hpp", "lib/vector.h"):
        assert (tmp_path / f"configs/stand_ins/{header}").read_text() == text
    assert build.missing_header == ""
    assert build.notes[0].endswith("half.hpp stands in for it and declares the classes that the source's files name")


def test_stand_ins_of_another_source_are_named_too_and_left_alone(tmp_path: Path) -> None:
    source = f"#include <lib/a.h>\n#include <lib/b.h>\n#include <c.h>\nlib::Handle* handle;\n{KERNEL.replace('N', '1')}"
    stand_in = tmp_path / "configs/stand_ins/lib/a.h"
    files = {"configs/stand_ins/lib/a.h": "// edited\n", "configs/stand_ins/c.h": ""}
    build = found(tmp_path, source, files)
    assert (build.missing_header, build.options.include) == ("", (tmp_path / "configs/stand_ins",))
    assert build.options.origin == "NEEDED: lib/a.h, lib/b.h, c.h, for which files in stand_ins/ stand in"
    assert [note.rpartition("; ")[2] for note in build.notes] == [
        "configs/stand_ins/lib/a.h stands in for it and is left as it was",
        "configs/stand_ins/lib/b.h stands in for it and declares the classes that the source's files name",
        "configs/stand_ins/c.h stands in for it and is left as it was",
    ]
    assert stand_in.read_text() == "// edited\n"
    assert found(tmp_path, f"#include <lib/a.h>\n{KERNEL}", files).missing_header == "lib/a.h"
    assert stand_in.read_text() == "// edited\n"


def test_the_headers_of_a_later_stand_in_are_found(tmp_path: Path) -> None:
    files = {"p/c.h.in": "#include <q/z.h>\n", "deep/q/z.h": "#define N 1\n"}
    build = found(tmp_path, f"#include <lib/x.h>\n#include <p/c.h>\n{KERNEL}", files)
    assert build.missing_header == ""
    assert build.options.include == (tmp_path / "configs/stand_ins", tmp_path / "deep")


def test_a_source_for_hip_is_told_so(tmp_path: Path) -> None:
    build = found(tmp_path, f"#include <hip/hip_runtime.h>\nhipStream_t stream;\n{KERNEL}", {})
    assert build.missing_header == "hip/hip_runtime.h"
    assert build.notes[0].startswith("NEEDED: hip/hip_runtime.h, which is AMD's: this source is for HIP; name the one")


def test_a_header_that_kernels_need_has_no_stand_in(tmp_path: Path) -> None:
    build = found(tmp_path, f"#include <lib/a.h>\n{KERNEL}", {".gitmodules": MODULES})
    assert (build.options.include, build.missing_header) == ((), "lib/a.h")
    assert "`git submodule update --init third_party/lib-core` brings it" in build.notes[0]
    assert 'the source does not compile: src/k.cu:2: error: identifier "N" is undefined' in build.notes[0]
    assert not (tmp_path / "configs/stand_ins").exists()


@pytest.mark.parametrize(
    ("header", "origin", "contents", "condition"),
    [
        (
            "p/a.pb.h",
            "p/a.proto",
            PROTOCOL,
            "a::b::Outer_Inner_TWO == 2 && a::b::SEVEN == 7 && a::b::Kind{} == a::b::NONE",
        ),
        (
            "p/c.h",
            "p/c.h.in",
            (
                '#cmakedefine01 FAST\n#cmakedefine ODD @ODD@\n@MORE@\n#define V "v@V@"\n#cmakedefine01 A_GPU_CUDA\n'
                "#cmakedefine WITH_CUDA\n#cmakedefine01 NO_CUDA\n#cmakedefine01 A_CUDA_GRAPHS\n"
                "#define @PREFIX@_LIMIT @LIMIT@ULL\n"
            ),
            "!FAST && PREFIX_LIMIT == 0 && sizeof(V) == 3 && A_GPU_CUDA && WITH_CUDA && !NO_CUDA && !A_CUDA_GRAPHS",
        ),
    ],
)
def test_a_header_is_made_from_what_the_build_makes_it_from(
    header: str, origin: str, contents: str, condition: str, tmp_path: Path
) -> None:
    source = f'#include "{header}"\n__global__ void k(int* x) {{ static_assert({condition}); x[0] = 1; }}\n'
    build = found(tmp_path, source, {origin: contents, f"src/q/{Path(origin).name}": "#error another one\n"})
    assert build.missing_header == ""
    assert build.notes[0].startswith(f"NEEDED: {header}, which the build makes from {origin}: build the project")
    assert f"configs/stand_ins/{header} stands in for it and has " in build.notes[0]


def test_build_files_give_what_the_source_needs(tmp_path: Path) -> None:
    cmake = "include_directories(inc empty)\nadd_definitions(-DN=M -DUNUSED=1)\n"
    cmake += "if(FAST)\nadd_definitions(-DM=1 -DOTHER)\nelse()\nadd_definitions(-DM=2)\nendif()\n"
    files = {"CMakeLists.txt": cmake, "inc/a.h": "", "empty/z.h": ""}
    build = found(tmp_path, f"#include <a.h>\n#ifndef M\n#error M is not defined\n#endif\n{KERNEL}", files)
    assert build.options.include == (tmp_path / "inc",)
    assert build.options.defines == {"N": "M", "M": "1"}
    assert build.options.origin == "from CMakeLists.txt; NEEDED: -DM=1 is a guess"
    assert build.notes == (
        "compile options from CMakeLists.txt: -I inc -DN=M",
        "NEEDED: -DM=1 is a guess: the build defines it on a condition, and the source asks for it",
        "left out of CMakeLists.txt: -DM=1, -DM=2 (it depends on a condition)",
    )


def test_the_build_files_of_a_library_in_the_clone_tell_what_its_headers_ask_for(tmp_path: Path) -> None:
    cmake = "if(FAST)\nlist(APPEND DEFINITIONS -DLIB_HALF=1)\nendif()\n"
    header = "#ifndef LIB_HALF\n#error LIB_HALF is undefined\n#endif\n#define N LIB_HALF\n"
    files = {"dependencies/lib/CMakeLists.txt": cmake, "dependencies/lib/include/lib/a.h": header}
    build = found(tmp_path, f"#include <lib/a.h>\n{KERNEL}", files)
    assert build.options.include == (tmp_path / "dependencies/lib/include",)
    assert build.options.defines == {"LIB_HALF": "1"}


def test_a_macro_that_turns_cuda_on_is_defined_where_the_source_compiles_with_it(tmp_path: Path) -> None:
    text = "#ifdef {0}\n#define {1}\n#endif\ntemplate <class T> __global__ void k(T* x) {{ x[0] = N; }}\n"
    build = found(tmp_path, text.format("A_WITH_CUDA", "N 1"), {})
    assert build.options.defines == {"A_WITH_CUDA": ""}
    assert build.notes[0].startswith("NEEDED: -DA_WITH_CUDA is a guess: the source asks for it and compiles with it")
    for condition in ("THRUST_DEVICE_SYSTEM_CUDA", "NO_CUDA"):
        assert found(tmp_path, text.format(condition, "N 1"), {}).options.defines == {}
    assert found(tmp_path, text.format("USE_CUDA", "N 1\n#include <gone.h>"), {}).options.defines == {"USE_CUDA": ""}
    broken = text.format("USE_CUDA", "N 1\n__device__ Gone gone;\n") + text.replace("k(", "f(").format("B", "C")
    assert found(tmp_path, broken, {}).options.defines == {}


def test_a_part_of_another_source_is_compiled_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    headers = {f"src/{number}.h": "" for number in range(200)}
    whole = '#include "n.h"\n__global__ void other(int *x) { *x = 2; }\n#include "k.cu"\n'
    sources = {"src/whole.cu": whole, "src/broken.cu": '#include "k.cu"\n', "inc/n.h": "#define N 1"}
    build = found(tmp_path, KERNEL, {**headers, **sources})
    assert (build.is_compiled, build.whole, build.options.include) == (
        True,
        tmp_path / "src/whole.cu",
        (tmp_path / "inc",),
    )
    assert build.notes[0] == "k.cu does not compile by itself: its jobs compile src/whole.cu, which includes it"
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, tmp_path / "src/k.cu", build=build.options, whole=build.whole)
    assert draft.kernel == "k"
    assert "source: ../src/whole.cu\n" in draft.path.read_text()


def test_a_later_standard_is_taken_where_it_helps(tmp_path: Path) -> None:
    build = found(tmp_path, "template <class T> requires (sizeof(T) < 9) __global__ void k(T* x) { x[0] = 1; }\n", {})
    assert build.options.options == ("-std=c++20",)
    assert build.notes == ("it compiles as C++20 and not as C++17: -std=c++20 is added",)


def test_a_database_comes_before_build_files(tmp_path: Path) -> None:
    entry = {
        "directory": str(tmp_path / "build"),
        "command": "nvcc -I../inc -DN=1 -std=c++20 --use_fast_math -gencode arch=compute_80,code=sm_80 -c ../src/k.cu",
        "file": "../src/k.cu",
    }
    files = {
        "build/compile_commands.json": json.dumps([entry]),
        "CMakeLists.txt": "add_definitions(-DN=2)\n",
        "inc/a.h": "",
    }
    build = found(tmp_path, f"#include <a.h>\n{KERNEL}", files, commands=True)
    assert build.options.defines == {"N": "1"}
    origin = "build/compile_commands.json (entry 1, k.cu)"
    assert build.notes == (
        f"compile options from {origin}: -I inc -DN=1 -std=c++20 --use_fast_math",
        f"left out of {origin}: -gencode arch=compute_80,code=sm_80 (the device chooses the architecture)",
    )
    (tmp_path / "build/compile_commands.json").write_text("[]")
    with pytest.raises(UsageError, match=r"has no entry for src/k\.cu"):
        found(tmp_path, KERNEL, {}, commands=True)


def test_macros_of_exports_that_nothing_defines_are_nothing(tmp_path: Path) -> None:
    source = f"#include <lib_export.h>\n#include <a.h>\nLIB_API void f();\n{KERNEL.replace('int', 'One')}"
    files = {
        "src/a.h": "#define N 1\n#define OTHER_API\nstruct LIB_EXPORT One { int n; __device__ void operator=(int); };"
    }
    build = found(tmp_path, source, files)
    assert build.options.defines == {"LIB_API": " ", "LIB_EXPORT": " "}
    assert build.notes[0] == "NEEDED: -DLIB_API= is a guess: a header that the build makes defines it"


def test_macros_that_another_file_of_the_clone_gives_the_compiler_are_guessed(tmp_path: Path) -> None:
    source = "#include <a.h>\n__device__ Real f(Real x) { return x * WIDTH; }\n"
    source += "__global__ void k(Real* x) { x[0] = f(x[1]) + DEPTH; }\n"
    files = {
        "src/a.h": "#ifdef CPU\ntypedef double Real;\n#elif defined(GPU)\ntypedef float Real;\n#endif\n",
        "run/model.py": "DEEP = 1 << 2\nW_MAX = 768\nload(flags=[f'-DWIDTH={W_MAX}', f'-DDEPTH={DEEP}'])\n",
        "make/Makefile": "all:\n\tnvcc -DGPU -DDEPTH=7 $(FLAGS) -o a a.cu\n",
    }
    build = found(tmp_path, source, files)
    assert build.options.defines == {"GPU": "", "WIDTH": "768", "DEPTH": "7"}
    assert build.missing_header == ""
    assert build.notes[1] == "NEEDED: -DWIDTH=768 is a guess: run/model.py defines it, and the source asks for it"
