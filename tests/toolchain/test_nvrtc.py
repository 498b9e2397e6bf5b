from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.errors import CompileError
from gpuregress.toolchain import compiler_messages, nvrtc, virtual_headers
from tests.toolchain.conftest import Write


def _compile(write: Write, text: str, **settings: object) -> nvrtc.NvrtcResult:
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


def test_ordinary_host_headers_are_there(write: Write) -> None:
    includes = "".join(f"#include <{name}>\n" for name in virtual_headers.HEADERS if "/" not in name)
    text = (
        includes
        + """
    #include <cuda_runtime.h>
    __global__ void k(float* x, double* d, int n) {
        x[0] = std::sqrt(x[0]) + std::pow(x[1], 2.f) + std::max(x[2], x[3]) + M_PI + INFINITY + FLT_MAX + INT_MAX;
        std::uint8_t u = 3; std::size_t z = n; uint q = UINT32_MAX; x[1] = u + z + q;
        x[5] = std::numeric_limits<float>::infinity();
        if (std::is_same<int, float>::value || std::isnan(x[6])) { std::printf("%d", n); memcpy(x, d, 8); }
        assert(n > 0);
    }
    """
    )
    ptx = _compile(write, text, kernels=("k",)).ptx
    assert "vprintf" in ptx
    assert "__assertfail" in ptx


def test_a_header_that_is_there_is_not_called_the_hosts() -> None:
    assert virtual_headers.HEADERS.keys().isdisjoint(compiler_messages._HOST_ONLY.split())


def test_nvcc_knows_the_constants_of_math_without_an_include(write: Write) -> None:
    _compile(write, "__global__ void k(double* x) { x[0] = INFINITY; x[1] = M_PI; x[2] = NAN; uint n = 1; x[n] = n; }")


def test_float_functions_stay_float(write: Write) -> None:
    text = (
        "#include <cmath>\n__global__ void k(float* x) { x[0] = std::sqrt(x[0]) + std::fabs(x[1]) + std::floor(x[2]); }"
    )
    assert "f64" not in _compile(write, text, kernels=("k",)).ptx


@pytest.mark.parametrize(
    "header",
    ["cooperative_groups.h", "cub/block/block_reduce.cuh", "curand_kernel.h", "mma.h", "cuda.h", "cub/cub.cuh"],
)
def test_nvidias_headers_are_there(write: Write, header: str) -> None:
    _compile(write, f"#include <{header}>\n__global__ void k() {{}}", kernels=("k",))


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


def test_an_error_has_the_file_the_line_and_the_compilers_words(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = _refusal(write, "\n\n__global__ void k(int* x) {\n  x[0] = y;\n}\n", kernels=("k",))
    assert message.startswith('kernels/k.cu:4: error: identifier "y" is undefined')


def test_an_error_in_a_header_names_the_header(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("int f( { }\n", "f.h")
    assert "kernels/f.h:1: error" in _refusal(write, '#include "f.h"\n')


def test_host_code_is_explained(write: Write) -> None:
    message = _refusal(write, "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    assert "k.cu:2: error" in message
    assert "#ifndef __CUDACC_RTC__" in message
    assert "<vector> is a host header" in _refusal(write, "#include <vector>\n")
    calls = "__global__ void k(cudaStream_t* s) { cudaStreamCreate(s); cudaStreamDestroy(*s); cudaStreamDestroy(*s); }"
    assert "#ifndef __CUDACC_RTC__" in _refusal(write, calls)


def test_a_launch_by_a_kernel_is_explained(write: Write) -> None:
    assert "let the job launch them" in _refusal(write, "__global__ void k(int n) { if (n) k<<<1, 1>>>(n - 1); }")


def test_a_constant_of_the_build_is_looked_for_in_the_job(write: Write) -> None:
    hint = "goes into compile.defines"
    assert hint in _refusal(write, "__global__ void k(int* x) { x[0] = TILE; }")
    twice = "__global__ void k(int* x) { __shared__ int s[block_size_x]; s[0] = x[block_size_x]; x[0] = s[0]; }"
    assert hint in _refusal(write, twice)
    assert hint not in _refusal(write, "__global__ void k(int* x) { x[0] = y; }")


def test_cudas_header_brings_what_it_brings_to_nvcc(write: Write) -> None:
    text = "#include <cuda.h>\n__global__ void k(uint8_t* x, CUtexObject t) { x[0] = sizeof(t); }"
    assert _compile(write, text, kernels=("k",)).kernels == {"k": "_Z1kPhy"}


def test_guarded_host_code_is_no_obstacle(write: Write) -> None:
    text = "__global__ void k() {}\n#ifndef __CUDACC_RTC__\n#include <vector>\nint main() { k<<<1, 1>>>(); }\n#endif\n"
    assert _compile(write, text, kernels=("k",)).kernels == {"k": "_Z1kv"}


def test_a_missing_header_says_where_it_was_searched(write: Write) -> None:
    message = _refusal(write, '#include "nowhere.h"\n')
    assert "nowhere.h" in message
    assert "compile.include" in message


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


def test_options_of_nvcc_are_explained(write: Write) -> None:
    assert "go to NVRTC" in _refusal(write, "", options=("-O3",))
    assert "the device chooses the architecture (sm_90)" in _refusal(write, "", options=("-arch=sm_80",))


@pytest.mark.parametrize("options", [("-I../two",), ("-I", "../two"), ("--include-path=../two",)])
def test_include_folders_of_the_job_and_of_the_options(write: Write, tmp_path: Path, options: tuple[str, ...]) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").write_text(f"#define {name.upper()} {value}\n")
    text = '#include "one.h"\n#include <two.h>\n__global__ void k(int* x) { x[0] = ONE + TWO + 96; }'
    settings = {"kernels": ("k",), "include": (str(tmp_path / "one"),), "options": options}
    assert ", 99;" in _compile(write, text, **settings).ptx


def test_a_header_of_the_project_wins_over_ours(write: Write) -> None:
    write("#define OURS 41\n", "limits.h")
    text = "#include <limits.h>\n__global__ void k(int* x) { x[0] = OURS; }"
    assert ", 41;" in _compile(write, text, kernels=("k",)).ptx
