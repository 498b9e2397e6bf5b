from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import CodeLine, CompileError, HarnessError, InfeasibleSource
from gpuregress.foundation.records import Source, to_json
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache, cubin_linker, nvrtc, nvrtc_options, programs, source_keys
from gpuregress.toolchain.host_code.unit import TranslationUnit
from tests.toolchain.conftest import Write

TEXT = """
#include "scale.h"
__constant__ float d_filter[4];
template <class T> __global__ void scaled(T* y, const T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = SCALE * x[i] * d_filter[i % 4] + x[0];
}
"""


@pytest.fixture
def source(write: Write) -> Source:
    write("#define SCALE 3\n", "scale.h")
    return write(TEXT, kernels=("scaled<float>",), symbols=("d_filter",))


def test_a_program_has_pinned_ptx_and_named_parameters(source: Source) -> None:
    program = programs.compile(source)
    ptx = Path(program.ptx).read_text()
    assert "mul.rn.f32" in ptx
    assert "mul.f32" not in ptx
    entry = program.entries["scaled<float>"]
    assert entry.mangled in ptx
    assert [(p.name, p.kind, p.size) for p in entry.parameters] == [
        ("y", "pointer", 8),
        ("x", "pointer", 8),
        ("n", "integer", 4),
    ]
    assert program.symbols["d_filter"] == "d_filter"
    assert program.arch == "sm_90"
    assert program.compiler.startswith("nvrtc 13.5")


def test_native_leaves_the_ptx_alone(source: Source) -> None:
    ptx = Path(programs.compile(replace(source, contract="native")).ptx).read_text()
    assert "mul.f32" in ptx
    assert "mul.rn.f32" not in ptx


def test_the_second_time_nothing_is_compiled(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    first = programs.compile(source)
    monkeypatch.setattr(nvrtc, "compile_source", None)
    assert programs.compile(source) == first


def test_a_warm_start_loads_no_compiler(source: Source) -> None:
    programs.compile(source)
    script = (
        "import json, sys\n"
        "from gpuregress.toolchain import cubin_linker, programs\n"
        "from gpuregress.foundation.records import Source, from_json\n"
        "programs.compile(from_json(Source, json.loads(sys.argv[1])))\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'cuda'], sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script, json.dumps(to_json(source))], check=True)


@pytest.mark.parametrize("change", ["source", "header", "option", "define", "contract", "arch", "kernel"])
def test_whatever_decides_the_bits_decides_the_key(source: Source, change: str) -> None:
    first = programs.compile(source)
    folder = Path(source.path).parent
    changed = {
        "option": replace(source, options=("--use_fast_math",)),
        "define": replace(source, defines={"UNUSED": "1"}),
        "contract": replace(source, contract="native"),
        "arch": replace(source, arch="sm_80"),
        "kernel": replace(source, kernels=("scaled<double>",)),
    }.get(change, source)
    if change == "source":
        (folder / "k.cu").write_text(f"{TEXT}// more\n")
    if change == "header":
        (folder / "scale.h").write_text("#define SCALE 5\n")
    assert programs.compile(changed).key != first.key


def test_other_code_of_gpuregress_or_other_headers_compile_again(
    source: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They decide the PTX, too, and a program of theirs would be tested in its place."""
    monkeypatch.setattr(source_keys, "__file__", str(tmp_path / "source_keys.py"))
    keys = set()
    for path, text in (("headers/a.py", "1"), ("headers/a.py", "2"), ("data/torch.h", "3")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        source_keys.package_digest.cache_clear()
        keys.add(source_keys.own(source, programs.inputs(source)))
    source_keys.package_digest.cache_clear()
    assert len(keys) == 3


def test_the_key_does_not_depend_on_where_the_project_lies(source: Source, tmp_path: Path) -> None:
    first = programs.compile(source)
    other = tmp_path / "elsewhere"
    other.mkdir()
    for name in ("k.cu", "scale.h"):
        (other / name).write_bytes((Path(source.path).parent / name).read_bytes())
    moved = replace(source, path=str(other / "k.cu"), include=(str(other),), options=("-I", str(tmp_path)))
    assert programs.compile(moved) == first


def test_a_damaged_entry_is_compiled_again(source: Source) -> None:
    first = programs.compile(source)
    whole = Path(first.ptx).read_bytes()
    Path(first.ptx).write_bytes(whole[:100])
    assert programs.compile(source) == first
    assert Path(first.ptx).read_bytes() == whole


def test_a_host_without_compiler_takes_what_was_built(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    (built,) = programs.build((source, source), "sm_90")
    assert Path(built.cubin).read_bytes()[:4] == b"\x7fELF"
    monkeypatch.setattr(source_keys, "installed_nvrtc", lambda: "")
    monkeypatch.setattr(nvrtc, "compile_source", lambda *_: pytest.fail("the compiler was asked for"))
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    program = programs.compile(source)
    assert program == built
    assert cubin_linker.build_cubin(program) == built
    monkeypatch.setattr("gpuregress.toolchain.cubin_linker.link", None)  # a host without an assembler
    assert cubin_linker.build_cubin(replace(program, cubin="")) == built
    assert cubin_linker.resources(program)[program.entries["scaled<float>"].mangled]["registers"] > 0
    assert programs.compiler_version() == f"nvrtc {cubin_linker.PINNED} (not installed)"


def test_an_older_compiler_here_does_not_replace_the_pinned_result(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = programs.compile(source)
    monkeypatch.setattr(source_keys, "installed_nvrtc", lambda: "13.0.88")
    assert programs.compile(source) == built
    Path(source.path).write_text(f"{TEXT}// new\n")
    assert programs.compile(source).key != built.key


def test_no_compiler_and_nothing_cached_says_what_to_do(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(HarnessError, match="gpuregress build"):
        programs.compile(source)


def test_ptx_is_taken_as_it_is_but_for_the_pin(source: Source, tmp_path: Path) -> None:
    native = programs.compile(replace(source, contract="native"))
    path = tmp_path / "k.ptx"
    path.write_bytes(Path(native.ptx).read_bytes())
    given = Source(str(path), kernels=("scaled<float>",), symbols=("d_filter",))
    program = programs.compile(given)
    assert Path(program.ptx).read_bytes() == Path(programs.compile(source).ptx).read_bytes()
    assert [p.kind for p in program.entries["scaled<float>"].parameters] == ["pointer", "pointer", "integer"]
    assert programs.compile(replace(given, kernels=("scaled",))).entries["scaled"] == program.entries["scaled<float>"]
    with pytest.raises(CompileError, match="has no kernel 'other'; it has scaled<float>"):
        programs.compile(replace(given, kernels=("other",)))
    with pytest.raises(CompileError, match="has no variable 'x'; it has d_filter"):
        programs.compile(replace(given, symbols=("x",)))


def test_a_cubin_is_taken_as_it_is(source: Source, tmp_path: Path) -> None:
    built = cubin_linker.build_cubin(programs.compile(source))
    path = tmp_path / "k.cubin"
    path.write_bytes(Path(built.cubin).read_bytes())
    program = programs.compile(Source(str(path), kernels=("scaled<float>",), symbols=("d_filter",)))
    assert (program.ptx, program.cubin) == ("", str(path))
    assert [p.size for p in program.entries["scaled<float>"].parameters] == [8, 8, 4]
    path.write_bytes(b"no cubin")
    with pytest.raises(CompileError, match=r"k\.cubin cannot be used"):
        programs.compile(Source(str(path)))


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    for name in ("gone.cu", "gone.ptx", "gone.cubin"):
        with pytest.raises(CompileError, match=f"{name}: No such file"):
            programs.compile(Source(str(tmp_path / name)))


def test_ptx_of_one_architecture_is_built_for_it(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nwgmma.fence.sync.aligned;\nret;\n}\n"
    )
    assert [programs.compile(Source(str(path), arch=arch)).arch for arch in ("sm_90", "sm_90a")] == ["sm_90a"] * 2
    assert cubin_linker.build_cubin(programs.compile(Source(str(path)))).cubin
    with pytest.raises(CompileError, match=r"k.ptx is PTX for sm_90a alone .*cannot be built for sm_100"):
        programs.compile(Source(str(path), arch="sm_100"))


def test_ptx_without_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n.target sm_90\n.address_size 64\n")
    with pytest.raises(CompileError, match=r"no \.entry"):
        programs.compile(Source(str(path)))


def test_the_compilers_warnings_are_kept(write: Write) -> None:
    source = write("__global__ void k(int* x) { int unused; x[0] = 1; }", kernels=("k",))
    assert "k.cu:1: warning" in programs.warnings(programs.compile(source))
    assert "never referenced" in programs.warnings(programs.compile(source))


def test_the_cache_is_written_where_it_should_be(source: Source, cache_folder: Path) -> None:
    assert Path(programs.compile(source).ptx).is_relative_to(cache_folder)
    assert cache.folder() == cache_folder


HIDDEN = {
    "a macro": ('#define H "c.h"\n#include H\n', ()),
    "a macro in a header": ('#include "h.h"\n', ()),
    "a macro of the options": ("#include H\n", ('-DH="c.h"',)),
    "a splice": ('#inc\\\nlude "c.h"\n', ()),
    "a digraph": ('%:include "c.h"\n', ()),
    "a raw string": ('__device__ const char s[] = R"(\n"/*)";\n#include "c.h"\n', ()),
    "an option": ("", ("-include=c.h",)),
    "an option in two words": ("", ("-include", "c.h")),
    "another option": ("", ("--pre-include=c.h",)),
    "a link": ('#include "link/../c.h"\n', ()),
    "a condition": ('#if __has_include("c.h")\n#include "c.h"\n#else\n#define V 0\n#endif\n', ()),
    "a probe alone": ('#if __has_include("later.h")\n#define V 1\n#else\n#define V 0\n#endif\n', ()),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_no_program_outlives_a_header(how: str, write: Write, tmp_path: Path) -> None:
    text, options = HIDDEN[how]
    source = write(text + "__global__ void k(int* x) { x[0] = V; }", options=options, kernels=("k",))
    folder = Path(source.path).parent
    (folder / "h.h").write_text('#define H "c.h"\n#include H\n')
    real = tmp_path / "elsewhere" if how == "a link" else folder
    (real / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(real / "deep")
    (real / "c.h").write_text("#define V 111\n")
    before = programs.compile(source)
    assert programs.compile(source).key == before.key
    old = Path(before.ptx).read_text()
    (real / "c.h").write_text("#define V 222\n")
    (folder / "later.h").write_text("")
    after = programs.compile(source)
    assert after.key != before.key
    assert Path(after.ptx).read_text() != old


_HOST = "inline int check(int e, const char* file) { return e; }\ninline int init() { return CHECK(1); }\n"
_MACRO = "#define CHECK(x) check(x, __FILE__)\n"
_NAME = "__device__ inline const char* name() {{ return {}; }}\n"
_KERNEL = '#include "f.h"\n__global__ void k(const char** x) {{ x[0] = {}; }}\n'
PATHS = {
    "a macro that nobody calls": (_MACRO + _KERNEL.format(0), "", True),
    "host code of a header": (_KERNEL.format(0) + "int main() { return CHECK(0); }", _MACRO + _HOST, True),
    "the source": (_KERNEL.format("__FILE__"), "", True),
    "a header": (_KERNEL.format("name()"), _NAME.format("__FILE__"), False),
    "a macro of the source in a header": (
        "#define A B\n#define B __FILE__\n" + _KERNEL.format("name()"),
        _NAME.format("A"),
        False,
    ),
    "the length of a path": (_KERNEL.format("(char*)n"), "constexpr size_t n = sizeof(__FILE__);", False),
    "a macro of the job": (_KERNEL.format("name()"), _NAME.format("HERE"), False),
    "an assertion": (
        "#include <cassert>\n" + _KERNEL.format("name()"),
        _NAME.format("0; } __device__ inline void f(int n) { assert(n);"),
        True,
    ),
    "an assertion that is compiled": (
        "#include <cassert>\n" + _KERNEL.format("name(x)"),
        "__device__ inline const char* name(const char** x) { assert(x[0]); return 0; }",
        False,
    ),
}
"""What may have the path of a file: the source, its header, and whether the program is that of every folder."""


@pytest.mark.parametrize("what", PATHS)
def test_a_path_in_the_program_is_part_of_its_key(what: str, write: Write, tmp_path: Path) -> None:
    text, header, is_portable = PATHS[what]
    source = replace(write(text, kernels=("k",)), defines={"HERE": "__FILE__"})
    Path(source.path).with_name("f.h").write_text(header)
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "k.cu").write_text(Path(source.path).read_text())
    (moved / "f.h").write_text(header)
    there = replace(source, path=str(moved / "k.cu"))
    key = programs.compile(source).key
    found = programs.find(there)
    assert (found is not None) == is_portable
    again, other = programs.compile(source), programs.compile(there)
    assert (again.key, other.key == key) == (key, is_portable)
    assert programs.compile(source).key == key


def test_a_source_that_changes_while_it_compiles_is_compiled_again(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write('#include "c.h"\n__global__ void k(int* x) { x[0] = V; }', kernels=("k",))
    header = Path(source.path).with_name("c.h")
    header.write_text("#define V 111\n")
    real = nvrtc.compile_source

    def slow(source: Source, text: str) -> nvrtc_options.NvrtcResult:
        compiled = real(source, text)
        header.write_text("#define V 222\n")
        return compiled

    monkeypatch.setattr(nvrtc, "compile_source", slow)
    changed = programs.compile(source)
    assert ", 222;" in Path(changed.ptx).read_text()
    monkeypatch.undo()
    header.write_text("#define V 111\n")
    assert ", 111;" in Path(programs.compile(source).ptx).read_text()


def test_a_source_that_changed_since_it_was_planned_is_refused(write: Write) -> None:
    source = write("__global__ void k() {}", kernels=("k",))
    planned = replace(source, digest=programs.inputs(source).digest)
    programs.compile(planned)
    Path(source.path).write_text("__global__ void k() { __syncthreads(); }")
    with pytest.raises(CompileError, match="was changed since it was planned"):
        programs.compile(planned)


def _counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[Any]:
    """Count the calls of a module's function."""
    calls: list[Any] = []
    real = getattr(module, name)

    def counted(*arguments: object) -> object:
        calls.append(arguments[0])
        return real(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_a_combination_that_the_source_refuses_is_remembered(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _counted(monkeypatch, nvrtc, "compile_source")
    source = write('static_assert(TILE < 3, "TILE is too large");\n__global__ void k() {}\n', kernels=("k",))
    refused = replace(source, defines={"TILE": "3"})
    for _ in range(2):
        with pytest.raises(InfeasibleSource, match="TILE is too large"):
            programs.compile(refused)
    with pytest.raises(InfeasibleSource, match="TILE is too large"):
        programs.find(refused)
    assert len(calls) == 1
    assert programs.compile(replace(source, defines={"TILE": "2"})).ptx
    Path(source.path).write_text("__global__ void k() {}\n")
    assert programs.compile(refused).ptx


def test_a_remembered_refusal_names_the_file_that_is_compiled_now(tmp_path: Path) -> None:
    text = '#include "limit.h"\n__global__ void k() {}\n'
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "k.cu").write_text(text)
        (folder / "limit.h").write_text('static_assert(false, "never");\n')
        with pytest.raises(InfeasibleSource) as refused:
            programs.compile(Source(str(folder / "k.cu"), kernels=("k",)))
        assert f"{folder}/limit.h:1" in str(refused.value)
        assert refused.value.source_line == CodeLine(f"{folder}/limit.h", 1)


def _error(source: Source) -> str:
    with pytest.raises(CompileError) as caught:
        programs.compile(source)
    return str(caught.value)


def test_a_failure_is_remembered_with_its_message(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = _counted(monkeypatch, nvrtc, "compile_source")
    source = write("__global__ void k() { wrong; }\n", kernels=("k",))
    monkeypatch.chdir(Path(source.path).parent)
    assert _error(source).startswith("k.cu:1: error")
    monkeypatch.chdir(tmp_path)
    assert _error(source).startswith("kernels/k.cu:1: error")
    assert len(calls) == 1
    other = write("__global__ void l() {}\n", "l.cu", kernels=("k",))
    for _ in range(2):
        assert "it has l" in _error(other)
    assert len(calls) == 2


@pytest.mark.parametrize("change", ["beside", "in a folder", "in the folder of a header", "by __has_include", "wheels"])
def test_a_failure_is_forgotten_when_a_header_appears(
    change: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = change == "by __has_include"
    first_line = '#if __has_include("late.h")\n#define x\n#endif' if has else '#include "late.h"'
    write("" if has else '#include "late.h"\n', "deep/outer.h")
    text = f'#include "deep/outer.h"\n{first_line}\n__global__ void k() {{ x; }}\n'
    source = write(text, kernels=("k",), include=(str(Path(write("", "folder/a.h").path).parent),))
    folder = {"in a folder": "folder/", "in the folder of a header": "deep/"}.get(change, "")
    wanted = 'identifier "x" is undefined' if has else 'cannot open source file "late.h"'
    assert wanted in _error(source)
    if change == "wheels":
        calls = _counted(monkeypatch, nvrtc, "compile_source")
        monkeypatch.setattr(source_keys, "header_versions", lambda: "others")
        assert wanted in _error(source)
        assert len(calls) == 1
        return
    write("#define x\n", f"{folder}late.h")
    if change == "in the folder of a header":
        assert "k.cu:2" in _error(source)
        write("#define x\n", "late.h")
    assert programs.compile(source).ptx


def test_kernels_that_are_no_templates_are_compiled_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    namespace n { __global__ void first(int* x) { x[0] = 1; } }
    extern "C" __global__ void second(int* x, int n) { x[n] = 2; }
    template <class T> __global__ void third(T* x) { x[0] = T(3); }
    __global__ void fourth(int* x) { x[0] = 4; }
    __global__ void fourth(float* x) { x[0] = 4; }
    static __global__ void fifth(int* x) { x[0] = 5; }
    namespace { namespace m { __global__ void sixth(int* x) { x[0] = 6; } } }
    inline __global__ void seventh(int* x) { x[0] = 7; }
    """
    source = write(text)
    names = ["n::first", "::second", "third<int>", "third<float>", "fourth(int*)", "fifth", "m::sixth", "seventh"]
    alone = {name: nvrtc.compile_source(replace(source, kernels=(name,)), text) for name in names}
    calls = _counted(monkeypatch, nvrtc, "compile_source")
    for name in names:
        program = programs.compile(replace(source, kernels=(name,), contract="native"))
        assert program.entries[name].mangled == alone[name].kernels[name]
        assert Path(program.ptx).read_text() == alone[name].ptx
    assert [kernels for call in calls for kernels in call.kernels] == [names[0], *names[2:4], "seventh"]
    text += "using namespace n;\nstatic __global__ void first(int* x) {}\n"
    ambiguous = write(text, "ambiguous.cu")
    programs.compile(replace(ambiguous, kernels=("second",)))
    assert "'first' is overloaded" in _error(replace(ambiguous, kernels=("first",)))
    assert "has no kernel 'eighth'" in _error(replace(source, kernels=("eighth",), contract="native"))


@pytest.mark.parametrize(
    "first_line", ["", "extern const char built[] __attribute__((unused)); // __DATE__\n#define ODD __DATE__\n"]
)
def test_variables_that_a_program_has_unasked_are_not_compiled_again(
    write: Write, monkeypatch: pytest.MonkeyPatch, first_line: str
) -> None:
    text = (
        first_line
        + """
    __constant__ float scale[4];
    namespace n { __device__ int count; }
    template <class T> __device__ T last;
    __global__ void first(float* x) { x[0] = scale[0]; n::count = 1; }
    __global__ void second(float* x) { x[0] = scale[1]; }
    """
    )
    source = write(text, kernels=("second",), symbols=("scale",))
    alone = nvrtc.compile_source(source, text)
    calls = _counted(monkeypatch, nvrtc, "compile_source")
    with programs.keeping_unknown():
        first = replace(source, kernels=("first",), symbols=())
        programs.keep(first, programs.compile(first))
        program = programs.find(source) or programs.compile(source)
        assert (len(calls), Path(program.ptx).read_text(), program.symbols["scale"]) == (1, alone.ptx, "scale")
        for symbol in ("n::count", "last<int>"):
            programs.compile(replace(source, symbols=(symbol,)))
        assert len(calls) == 3


def test_a_failure_that_no_name_mends_is_that_of_all_kernels(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _counted(monkeypatch, nvrtc, "compile_source")
    template = "template <class T> __global__ void k(T* x) {{ x->{}(); }}\n__global__ void l() {{ {} }}\n"
    gone = write(f'#include "gone.h"\n{template.format("y", "")}', "gone.cu")
    for kernels, harness in ((("k<int>",), ""), (("k<float>",), ""), (("l",), ""), ((), "// any")):
        assert "gone.h" in _error(replace(gone, kernels=kernels, harness=harness))
    assert len(calls) == 1
    own = write(template.format("y", "wrong;"), "own.cu")
    for names in ("l", "k<int>"):
        assert '"wrong" is undefined' in _error(replace(own, kernels=(names,)))
    assert len(calls) == 2
    instance = write(template.format("y", ""), "instance.cu")
    assert "instance.cu:1: error" in _error(replace(instance, kernels=("k<int>",)))
    assert programs.compile(replace(instance, kernels=("l",))).ptx


def test_a_lack_of_memory_is_not_remembered(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write("__global__ void k() {}\n", kernels=("k",))
    real = nvrtc._attempt

    def exhausted(_nvrtc: object, _source: Source, unit: TranslationUnit, *_: object, **_named: object) -> object:
        return nvrtc._Attempt(unit, None, "nvrtc: error: NVRTC_ERROR_OUT_OF_MEMORY", is_refused=False)

    monkeypatch.setattr(nvrtc, "_attempt", exhausted)
    assert "OUT_OF_MEMORY" in _error(source)
    monkeypatch.setattr(nvrtc, "_attempt", real)
    assert programs.compile(source).ptx


def test_a_program_that_the_assembler_refuses_is_remembered(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def refuse(*arguments: object) -> None:
        calls.append(arguments)
        raise InfeasibleSource("uses too much shared data (57024 bytes, 49152 max)")

    monkeypatch.setattr(cubin_linker, "link", refuse)
    program = programs.compile(source)
    for _ in range(2):
        with pytest.raises(InfeasibleSource, match="57024 bytes"):
            cubin_linker.build_cubin(program)
    assert len(calls) == 1
    found = programs.find(source)
    assert found is not None
    assert found.cubin == ""
    assert cubin_linker.resources(found) == {}


@pytest.mark.parametrize(
    "text", ["", "extern const char built[] __attribute__((unused)); // __DATE__\n#define ODD __DATE__\n"]
)
def test_types_of_kernels_are_those_of_any_program_that_was_made_for_them(
    write: Write, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    text += "struct A { int a; };\nstruct B { float b; };\n"
    text += "template <class T> __global__ void k(T* x) {}\n__constant__ A filter;\n__global__ void plain() {}\n"
    names = ("k<A>", "k<B>")
    both = programs.with_debug_types(write(text, kernels=names, symbols=("filter",)))
    plain = replace(both, kernels=("plain",), symbols=())
    with programs.keeping_unknown():
        programs.keep(plain, programs.compile(plain))
        known = programs.compile(both)
        programs.keep(both, known)
        monkeypatch.setattr(nvrtc, "compile_source", None)
        for name in names:
            typed = programs.find(replace(both, kernels=(name,), symbols=()))
            assert typed is not None
            assert typed.types == {name: known.types[name]}
        typed = programs.find(replace(both, kernels=names[1:]))
        assert typed is not None
        assert typed.types.keys() == {"k<B>", "filter"}
        assert programs.find(replace(both, kernels=("k<int>",))) is None
        assert programs.find(replace(both, kernels=names, options=())) is None
