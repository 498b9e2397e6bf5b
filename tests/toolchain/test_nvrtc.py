from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.toolchain import nvrtc, nvrtc_options, programs
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.host_code.unit import TranslationUnit
from tests.toolchain.conftest import Write


def _compile(write: Write, text: str, **settings: object) -> nvrtc_options.NvrtcResult:
    return nvrtc.compile_source(write(text, **settings), text)


def _refusal(write: Write, text: str, **settings: object) -> str:
    with pytest.raises(CompileError) as caught:
        _compile(write, text, **settings)
    return str(caught.value)


def test_names_are_looked_up_as_c_plus_plus_has_them(write: Write) -> None:
    text = """
    namespace a { template <class T> __global__ void k(T* x) { x[0] = T(1); } __device__ int seen; }
    static __constant__ float taps[3];
    extern "C" __global__ void plain(float* x) { x[0] = taps[1] + a::seen; }
    """
    compiled = _compile(write, text, kernels=("a::k<float>", "a::k<double>", "plain"), symbols=("a::seen", "taps"))
    assert compiled.kernels == {"a::k<float>": "_ZN1a1kIfEEvPT_", "a::k<double>": "_ZN1a1kIdEEvPT_", "plain": "plain"}
    assert compiled.symbols == {"a::seen": "_ZN1a4seenE", "taps": "taps"}
    assert compiled.compiler.startswith("nvrtc 13.")
    assert ".target sm_90" in compiled.ptx


def test_managed_variables_are_found(write: Write) -> None:
    text = "namespace a { __managed__ int seen; } __device__ __managed__ int hits[4];\n"
    text += "__global__ void k() { a::seen = 1; }\n"
    compiled = _compile(write, text, kernels=("k",), symbols=("a::seen", "::hits"))
    assert compiled.symbols == {"a::seen": "_ZN1a4seenE", "::hits": "hits"}
    assert "has no variable 'b::seen'; it has seen, hits" in _refusal(write, text, symbols=("b::seen",))


def test_float_functions_stay_float_and_need_no_include(write: Write) -> None:
    text = "__global__ void k(float* x) { x[0] = std::sqrt(x[0]) + std::fabs(x[1]) + std::floor(x[2]); }"
    assert "f64" not in _compile(write, text, kernels=("k",)).ptx
    assert "f64" not in _compile(write, f"#include <cmath>\n{text}", kernels=("k",)).ptx


@pytest.mark.parametrize("call", ["pow(x[0], n)", "std::pow(x[0], n)", "fma(x[0], x[1], n)", "fma(n, n, x[0])"])
@pytest.mark.parametrize("options", [(), ("-w",), ("-diag-suppress=1444",)])
def test_numbers_of_several_types_are_promoted_as_by_nvcc(write: Write, call: str, options: tuple[str, ...]) -> None:
    """nvcc 13.0 compiles all of them to functions of double, because GNU's <cmath> has templates for them."""
    text = "__global__ void k(float* x, int n) { auto value = CALL; x[0] = value; x[1] = sizeof(value); }"
    text = text.replace("CALL", call)
    compiled = _compile(write, text, kernels=("k",), options=options)
    silent = _compile(write, f"#pragma nv_diag_suppress 20012, 1444\n{text}", kernels=("k",), options=options)
    assert re.sub(r"\.loc.*", "", compiled.ptx) == re.sub(r"\.loc.*", "", silent.ptx)
    assert "cvt.rn.f64.s32" in compiled.ptx
    assert re.search(r"0f41000000|\b1090519040\b", compiled.ptx, re.IGNORECASE)  # 8 bytes, as a float
    assert not compiled.warnings


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("#pragma nv_diag_suppress deprecated_entity_with_custom_message\n", ()),
        ("#pragma nv_diag_suppress 20012, \\\n 1444\n", ()),
        ("[[deprecated]] ", ()),
        ('struct __attribute__((deprecated("old"))) Old { static ', ()),
        ("", ("-Werror", "all-warnings")),
    ],
)
def test_powers_are_found_where_the_compiler_warns_of_none(write: Write, text: str, options: tuple[str, ...]) -> None:
    text += "__device__ float power(float x, int n) { return pow(x, n); }"
    scope = ""
    if "struct" in text:
        text, scope = f"{text} }};", "Old::"
    text += f"\n__global__ void k(float* x, int n) {{ x[0] = {scope}power(x[0], n); }}"
    assert "cvt.rn.f64.s32" in _compile(write, text, kernels=("k",), options=options).ptx


def test_powers_of_a_double_are_those_of_its_function(write: Write) -> None:
    text = "__global__ void k(double* x, int n) { x[0] = pow(x[0], n); }"
    other = "__global__ void k(double* x, int n) { x[0] = pow(x[0], (double)n); }"
    compiled, expected = (_compile(write, body, kernels=("k",)).ptx for body in (text, other))
    assert re.sub(r"\s*\.loc.*", "", compiled).count(".f64") == re.sub(r"\s*\.loc.*", "", expected).count(".f64")


def test_what_our_prelude_defines_brings_no_warning(write: Write) -> None:
    text = "#include <cuda/std/cmath>\n__global__ void k(float* x) { x[0] = INFINITY; x[1] = NAN; }\n"
    assert not _compile(write, text, kernels=("k",)).warnings
    own = f"#define AGAIN 1\n#define AGAIN 2\n{text}"
    (warning,) = re.findall(r": warning.*", _compile(write, own, kernels=("k",)).warnings)
    assert "AGAIN" in warning


def test_host_libraries_have_types_of_members(write: Write) -> None:
    text = """
    #include <typeinfo>
    #include <condition_variable>
    #include <sstream>
    #include <cusparse.h>
    #include <thrust/device_vector.h>
    struct Parameter {
      const std::type_info* type;
      std::recursive_mutex mutex;
      std::condition_variable ready;
      std::ostringstream* log;
      cusparseMatDescr_t shape;
      thrust::device_vector<int> values;
      int last;
    };
    __global__ void k(Parameter* p) { p->last = sizeof(Parameter); }
    """
    ptx = _compile(write, text, kernels=("k",)).ptx
    assert re.search(r"mov\.\w+\s+%r\d+, 152;|, 152;", ptx)


def test_a_source_that_has_a_name_of_the_powers_keeps_nvrtcs_with_a_warning(write: Write) -> None:
    text = "__device__ int gpuregress_pow; __global__ void k(float* x, int n) { x[0] = pow(x[0], n); }"
    assert "nvcc computes this power in double" in _compile(write, text, kernels=("k",)).warnings


def test_functions_of_whole_numbers_are_those_of_doubles(write: Write) -> None:
    text = """
    __global__ void k(double* x, long n) {
      x[0] = ldexp(n, 2) + scalbn(n, 2) + lround(n) + ilogb(n) + isnan(n) + fma(n, n, n) + sqrt(n);
    }
    """
    assert ".entry _Z1kPdl(" in _compile(write, text, kernels=("k",)).ptx


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        ("thrust/complex.h", "curand_kernel.h", "mma.h"),
        ("cuda.h", "cub/cub.cuh", "cooperative_groups.h"),
    ],
)
def test_nvidias_headers_are_there(write: Write, headers: tuple[str, ...]) -> None:
    lines = [f"#include <{header}>" for header in headers]
    _compile(write, "\n".join([*lines, "__global__ void k() {}"]), kernels=("k",))


def test_includes_begin_beside_the_source_whatever_the_working_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("#define VALUE 7\n", "value.h")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/value.h").write_text("#define VALUE 8\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    ptx = _compile(write, '#include "value.h"\n__global__ void k(int* x) { x[0] = VALUE; }', kernels=("k",)).ptx
    assert ", 7;" in ptx


def test_no_path_of_the_machine_gets_into_the_ptx(write: Write, tmp_path: Path) -> None:
    write("__device__ inline int f(int x) { return x * x; }\n", "deep/f.h")
    text = '#include <cuda_fp16.h>\n#include "deep/f.h"\n'
    text += "__global__ void k(int* x, __half* h) { assert(x[1]); x[0] = f(x[0]); h[0] = h[1] + h[2]; }"
    ptx = _compile(write, text, kernels=("k",)).ptx
    assert str(tmp_path) not in ptx
    assert "site-packages" not in ptx
    assert '"k.cu"' in ptx


@pytest.mark.parametrize("name", ["café".encode(), b"caf\xe9"])
def test_names_of_folders_may_have_any_bytes(write: Write, name: bytes) -> None:
    folder = os.fsdecode(name)
    write("__device__ inline int f(int x) { return x * x; }\n", f"{folder}/f.h")
    text = '#include "f.h"\n__global__ void k(int* x) { x[0] = f(x[1]); }'
    ptx = _compile(write, text, name=f"{folder}/k.cu", kernels=("k",)).ptx
    assert '"f.h"' in ptx
    assert "caf" not in ptx
    with pytest.raises(CompileError, match=r"k\.cu:1: error: identifier \"y\""):
        _compile(write, "__global__ void k(int* x) { x[0] = y; }", name=f"{folder}/k.cu", kernels=("k",))


@pytest.mark.parametrize("options", [(), ("-G",)])
def test_internal_names_are_those_of_every_process_and_text(write: Write, options: tuple[str, ...]) -> None:
    text = """\
    namespace { __device__ int table[2] = {1, 2}; }
    namespace { template <typename T> __device__ __noinline__ T f(T x) { return -x; } }
    static __device__ int last;
    template <typename T> __global__ void k(T* x) { x[0] = table[x[1]] + f(x[2]) + last; }
    """
    texts = [text, text.replace("-x", "+x")]
    first, second = (_compile(write, one, kernels=("k<int>",), symbols=("table",), options=options) for one in texts)
    names = [set(re.findall(r"\w*_INTERNAL_\w*", one.ptx)) for one in (first, second)]
    assert names[0] == names[1] != set()
    assert not any(str(os.getpid()) in name for name in names[0])
    assert first.symbols == second.symbols
    assert options or "gpuregress" not in first.ptx


def test_guarded_host_code_is_no_obstacle(write: Write) -> None:
    text = "__global__ void k() {}\n#ifndef __CUDACC_RTC__\n#include <vector>\nint main() { k<<<1, 1>>>(); }\n#endif\n"
    assert _compile(write, text, kernels=("k",)).kernels == {"k": "_Z1kv"}


def test_unknown_names_list_those_that_are_there(write: Write) -> None:
    text = "template <class T> __global__ void sum(T* x) {}\n__global__ void scan() {}\n__constant__ int taps;"
    assert "it has sum<T>, scan (did you mean 'scan'?)" in _refusal(write, text, kernels=("scam",))
    assert "as `sum<float>`" in _refusal(write, text, kernels=("sum",))
    assert "it has taps" in _refusal(write, text, symbols=("tapes",))


def test_no_bytes_of_the_process_are_overwritten(write: Write) -> None:
    _compile(write, "__global__ void k() {}", kernels=("k",))  # an empty log is one byte long
    assert [bytes([value])[0] for value in range(256)] == list(range(256))


def test_options_reach_the_compiler(write: Write) -> None:
    text = "__global__ void k(float* x) { x[0] = x[1] / x[2] + N; }"
    compiled = _compile(write, text, kernels=("k",), options=("--use_fast_math", "-lineinfo"), defines={"N": "3"})
    assert "div.approx" in compiled.ptx
    assert ".loc" in compiled.ptx


@pytest.mark.parametrize("options", [("-I../two",), ("-I", "../two"), ("--include-path=../two",)])
def test_include_folders_of_the_job_and_of_the_options(write: Write, tmp_path: Path, options: tuple[str, ...]) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").write_text(f"#define {name.upper()} {value}\n")
    text = '#include "one.h"\n#include <two.h>\n__global__ void k(int* x) { x[0] = ONE + TWO + 96; }'
    settings = {"kernels": ("k",), "include": (str(tmp_path / "one"),), "options": options}
    assert ", 99;" in _compile(write, text, **settings).ptx


def test_a_source_that_ends_within_a_declaration_is_told_so(write: Write) -> None:
    text = "__global__ void k() {}\ntemplate <class T>\n"
    assert "At end of source: error: expected a declaration" in _refusal(write, text, kernels=("k",))


LIBRARY = """
template <int N, class T> __global__ void fill(T* x) {
    static_assert(N > 0, "N must be positive");
    x[threadIdx.x] = T(N);
}
template __global__ void fill<1, float>(float*);
template __global__ void fill<2, float>(float*);
"""


def test_only_kernels_that_are_asked_for_are_instantiated(write: Write) -> None:
    compiled = _compile(write, LIBRARY, kernels=("fill<2, float>",))
    assert re.findall(r"\.entry (\w+)", compiled.ptx) == ["_Z4fillILi2EfEvPT0_"]
    assert re.search(r"\.loc\s+\d+ 4 ", compiled.ptx)
    everything = _compile(write, LIBRARY)
    assert len(re.findall(r"\.entry (\w+)", everything.ptx)) == 2
    assert _instructions(compiled.ptx, "_Z4fillILi2EfEvPT0_") == _instructions(everything.ptx, "_Z4fillILi2EfEvPT0_")


def test_what_is_wrong_is_told_of_the_whole_source(write: Write) -> None:
    text = LIBRARY + "template __global__ void fill<0, float>(float*);\n"
    assert ".entry" in _compile(write, text, kernels=("fill<3, int>",)).ptx
    assert "N must be positive" in _refusal(write, text, kernels=("missing",))
    made = "#define DECLARE template __global__ void\n" + LIBRARY + "DECLARE fill<3, int>(int*);\n"
    assert ".entry" in _compile(write, made, kernels=("fill<3, int>",)).ptx


def _instructions(ptx: str, kernel: str) -> list[str]:
    body = ptx[ptx.index(f".entry {kernel}") :].partition("\n}\n")[0]
    return [line for line in body.splitlines() if ".loc" not in line and "$L_" not in line]


def _attempted(monkeypatch: pytest.MonkeyPatch) -> list[TranslationUnit]:
    """Count the compilations by NVRTC."""
    units: list[TranslationUnit] = []
    real = nvrtc._attempt

    def counted(*arguments: Any, **named: Any) -> Any:
        units.append(arguments[2])
        return real(*arguments, **named)

    monkeypatch.setattr(nvrtc, "_attempt", counted)
    return units


def test_a_program_for_its_types_is_compiled_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    units = _attempted(monkeypatch)
    text = """__global__ void k(int* y, int n) {
        int a[5], b[5];
        for (int i = 0; i < 5; ++i) { a[i] = y[i]; b[i] = y[5 + i]; }
        y[0] = a[n] + b[n] + (int)pow(y[0], n);
    }"""
    source = write(text, kernels=("k",), options=("-w",))
    assert nvrtc.compile_source(source, text).local_arrays
    assert len(units) == 4  # the arrays, and the powers of both programs
    question = write(text, harness="\n__device__ int size = sizeof(int);\n", options=("-w",))
    for typed in (programs.with_debug_types(source), question):
        units.clear()
        assert not nvrtc.compile_source(typed, text).local_arrays
        assert len(units) == 1


HOST_TYPE = "struct Host { Gone x; };\n"


def test_a_missing_header_ends_the_attempts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    units = _attempted(monkeypatch)
    text = f'#include "gone.h"\n{HOST_TYPE}template <class T> __global__ void k(T* x) {{}}\n'
    text += "template __global__ void k<float>(float*);\nvoid host(Host h) { gone(h); }\n"
    with pytest.raises(CompileError) as caught:
        _compile(write, text, kernels=("k<int>",))
    assert caught.value.missing_headers == ("gone.h",)
    (unit,) = units
    assert unit.text.split() == ["#include", '"gone.h"']
    with pytest.raises(CompileError) as caught:
        _compile(write, f"__device__ int f() {{ return y; }}\n{text}", kernels=("k<int>",))
    message = str(caught.value)
    assert message.splitlines()[0].endswith('k.cu:2: catastrophic error: cannot open source file "gone.h"')
    assert not {"undefined", "detected"} & set(message.split())


def test_a_texture_reference_ends_the_attempts(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    units = _attempted(monkeypatch)
    kernel = "template <class T> __global__ void k(T* x, Host* h) { x[0] = tex1D(tex, 0); }\n"
    text = f"{HOST_TYPE}texture<float> tex;\n{kernel}"
    assert "tex is a texture reference" in _refusal(write, text, kernels=("k<float>",))
    assert len(units) == 1


@pytest.mark.parametrize(
    ("host", "specialization"),
    [
        ("namespace host { struct half { Gone x; }; }", "template <> struct Size<half>"),
        ("struct Value { Gone x; };", "template <typename Value> struct Size<Value*>"),
    ],
)
def test_a_specialization_with_the_name_of_a_host_type_stays(write: Write, host: str, specialization: str) -> None:
    text = f"""#include <cuda_fp16.h>
    {host}
    template <class T> struct Size {{ static const int value = 1111; }};
    {specialization} {{ static const int value = 2222; }};
    __global__ void k(int* x) {{ x[0] = Size<half>::value + Size<half*>::value; }}
    """
    assert " 3333;" in _compile(write, text, kernels=("k",)).ptx


@pytest.mark.parametrize(
    "specialization",
    [
        "template <> struct Size<float> { Gone x; static const int value = 2; };",
        "template <> struct Size<float> { typedef Gone Type;\n static const int value = 2; };",
        "template <> struct Size<float> : Gone {\n static const int value = 2; };",
        "struct Host { Gone x; };\ntemplate <> struct Size<float> { Host x; static const int value = 2; };",
    ],
)
def test_a_specialization_with_host_code_is_not_replaced_by_the_primary_template(
    write: Write, specialization: str
) -> None:
    text = f"template <class T> struct Size {{ static const int value = 1; }};\n{specialization}\n"
    kernel = "template <class T> __global__ void k(T* x) { x[0] = Size<T>::value; }\n"
    assert "2: error: " in _refusal(write, text + kernel, kernels=("k<float>",))
    assert ".entry" in _compile(write, text + kernel, kernels=("k<int>",)).ptx
    needed = "template <> struct Size<Gone> {\n  Gone x;\n};\n"
    assert ".entry" in _compile(write, text + needed + kernel, kernels=("k<int>",)).ptx


def test_the_first_error_of_the_first_attempt_is_the_headline(write: Write) -> None:
    """Declarations that do not compile are dropped, and what used them has errors that hide the cause."""
    for device in ("void f(Host* h) {}", "void f() { Host* h; }"):
        text = f"{HOST_TYPE}__device__ {device}\n__global__ void k(int* x) {{ x[0] = y; }}\n"
        refusal = _refusal(write, text, kernels=("k",))
        assert 'k.cu:1: error: identifier "Gone" is undefined' in refusal.splitlines()[0]
        assert 'k.cu:3: error: identifier "y" is undefined' in refusal


def test_host_code_of_headers_that_are_not_parsed_is_no_headline(write: Write, tmp_path: Path) -> None:
    text = "".join(f'#include "h{number}.h"\n' for number in range(50))
    source = write(f"{text}__global__ void k(int* x) {{ x[0] = y; }}\n", kernels=("k",))
    for number in range(50):
        (Path(source.path).parent / f"h{number}.h").write_text("struct Host { int get() { return 0; } };\n")
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_source(source, Path(source.path).read_text())
    assert 'k.cu:51: error: identifier "y" is undefined' in str(caught.value).splitlines()[0]


NEWER = "template <class T> requires (sizeof(T) < 8) __global__ void k(T* x) { x[0] = 1; }\n"


def test_a_source_in_a_later_standard_is_told_the_option(write: Write) -> None:
    with pytest.raises(CompileError) as caught:
        _compile(write, NEWER, kernels=("k<int>",))
    assert caught.value.standard == "c++20"
    assert "it compiles as C++20: write `compile: {options: [-std=c++20]}` in the job" in str(caught.value)
    assert _compile(write, NEWER, kernels=("k<int>",), options=("-std=c++20",)).ptx
    for text, options in ((NEWER, ("-std=c++17",)), (f"{NEWER}typename wrong;", ())):
        assert "C++20" not in _refusal(write, text, kernels=("k<int>",), options=options)


@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ("x[0] = f(1);", "classes"),
        ("f.insert(1);", "classes"),
        ("x[0] = f->value;", "classes"),
        ("x[0] = f[0];", "classes"),
        ("x[0] = F::value;", "classes"),
        ("x[0] = f << 1;", "any"),
        ("x[0] = gone;", "nothing"),
        ("x[0] = f(1); } __device__ void other() { gone();", "nothing"),
    ],
)
def test_an_error_tells_which_template_arguments_may_mend_it(write: Write, body: str, needs: str) -> None:
    with pytest.raises(CompileError) as caught:
        _compile(write, f"template <class F> __global__ void k(int* x, F f) {{ {body} }}\n", kernels=("k<float>",))
    assert caught.value.needs == needs


def test_directives_alone_tell_the_missing_headers(write: Write) -> None:
    write(
        "#pragma once\n#include <c/gone.h>\n#define INNER 1\nthis is no code; /* nor\n#include <d/gone.h> */\n", "a.h"
    )
    text = '#include "a.h"\n#if INNER // begins\n#include <e/gone.h> /* and goes\non */\n'
    text += "#else\n#include <f/gone.h>\n#endif\n"
    text += (
        'void host() { gone(R"(\n#include <g/gone.h>\n)"); }\n#ifdef __NVCC__\n#include <cub/cub.cuh>\n#include "h.h"\n'
    )
    text += "#endif\n"
    with pytest.raises(CompileError) as caught:
        _compile(write, text, harness=harness.DIRECTIVES)
    assert caught.value.missing_headers == ("c/gone.h", "e/gone.h", "h.h")
    assert not caught.value.log
    write("", "b.h")
    assert _compile(write, '#include "b.h"\nno code\n', harness=harness.DIRECTIVES).ptx
    with pytest.raises(CompileError) as caught:
        _compile(write, "#error gone\n", harness=harness.DIRECTIVES)
    assert caught.value.missing_headers == ()


@pytest.mark.parametrize(
    ("condition", "count"),
    [("CUB_VERSION + THRUST_VERSION + CCCL_VERSION > 9", 1), ("defined(CUB_NAMESPACE_BEGIN)", 2)],
)
def test_directives_are_read_without_the_code_of_cccl(
    write: Write, monkeypatch: pytest.MonkeyPatch, condition: str, count: int
) -> None:
    units = _attempted(monkeypatch)
    text = f"#include <cub/cub.cuh>\n#if !({condition})\n#error gone\n#endif\n#include <gone.h>\n"
    with pytest.raises(CompileError) as caught:
        _compile(write, text, harness=harness.DIRECTIVES)
    assert caught.value.missing_headers == ("gone.h",)
    assert ["cub/cub.cuh" in unit.headers for unit in units] == [True, False][:count]


@pytest.mark.parametrize("is_of_device", [False, True])
def test_host_code_brings_no_headers(write: Write, monkeypatch: pytest.MonkeyPatch, *, is_of_device: bool) -> None:
    texts: list[str] = []
    program = nvrtc._program

    def noted(bindings: object, text: str, *others: Any) -> object:
        texts.append(text)
        return program(bindings, text, *others)

    monkeypatch.setattr(nvrtc, "_program", noted)
    annotation = "__device__ " if is_of_device else ""
    write(f"{annotation}int largest(int a) {{ return std::max(a, 2); }}\n", "a.h")
    _compile(write, '#include "a.h"\n__global__ void k(int* x) { x[0] = 1; }\n', kernels=("k",))
    assert [text.startswith("#include <algorithm>\n") for text in texts] == [is_of_device]
