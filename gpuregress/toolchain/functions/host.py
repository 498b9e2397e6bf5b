"""Host programs of functions under test: the same function, compiled by the host's compiler.

The program holds the user's text without what only a device understands: kernels, functions of the device alone, and
headers of the device's libraries. It maps the files of the buffers into memory, calls the function for each element,
and ends. So a function that crashes or hangs takes only this program with it.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, HarnessError
from gpuregress.foundation.records import HARNESS_FILE, FunctionArgument, Source
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cache, nvrtc_options
from gpuregress.toolchain.functions import declarations, harness
from gpuregress.toolchain.functions.overloads import FunctionInstance
from gpuregress.toolchain.headers import virtual_headers

_COMPILERS = ("g++", "clang++", "c++")
_COMPILE_S = 120.0
_VERSION_S = 10.0
_DEVICE_HEADER = re.compile(
    r'^([ \t]*)#[ \t]*include[ \t]*[<"](?:cooperative_groups[^>"]*|cub/[^>"]*|cuda/[^>"]*|mma\.h|cuda_pipeline[^>"]*'
    r'|device_launch_parameters\.h|cuda\.h|cuda_runtime(?:_api)?\.h|curand_kernel\.h)[>"].*$',
    re.MULTILINE,
)
_PRELUDE = """\
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmath>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector_types.h>
#include <vector_functions.h>
%(half)s
#undef __host__
#undef __device__
#undef __global__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __align__
#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __managed__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC_RTC__ 1
typedef unsigned int uint;
template <typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> static inline T max(T a, T b) { return a < b ? b : a; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define main gpuregress_main_of_the_source
"""
_MAP = """\
#undef main
static void* gpuregress_map(const char* path) {
    if (!strcmp(path, "-")) return 0;
    int file = open(path, O_RDWR);
    struct stat status;
    if (file < 0 || fstat(file, &status)) { perror(path); exit(125); }
    void* data = mmap(0, status.st_size ? status.st_size : 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) { perror(path); exit(125); }
    close(file);
    return data;
}
"""


class IncompleteHeaders(HarnessError):
    """The CUDA headers of this machine do not suffice for the host's compiler."""


class HostCompiler(Record):
    """A C++ compiler of this host: how it is called, and `g++ 12.2.0`."""

    command: tuple[str, ...]
    version: str


def program_text(instance: FunctionInstance, arguments: Sequence[FunctionArgument]) -> str:
    """Write the main program after the source: it takes the calls' number, then a file or a number for each argument.

    Args:
        instance: the function.
        arguments: what it is given; no shared memory.
    """
    values = []
    for at, one in enumerate(arguments):
        word = f"argv[{at + 3}]"
        if one.given == "parameter":
            values.append(f"    const double gpuregress_d{at} = strtod({word}, 0);")
            values.append(f"    const long long gpuregress_i{at} = strtoll({word}, 0, 10);")
            values.append(f'    const bool gpuregress_w{at} = !strpbrk({word}, ".en");')
        else:
            values.append(f"    void* gpuregress_p{at} = gpuregress_map({word});")
    given = ", ".join(_given(at, one) for at, one in enumerate(arguments))
    lines = [
        *harness.beginning(instance, len(arguments)),
        _MAP.strip(),
        "int main(int, char** argv) {",
        "    const unsigned long long gpuregress_calls = strtoull(argv[1], 0, 10);",
        "    void* gpuregress_result = gpuregress_map(argv[2]);",
        *values,
        "    typedef gpuregress_harness::tested::result gpuregress_type;",
        "    typedef gpuregress_harness::bare<gpuregress_type>::type gpuregress_stored;",
        "    for (unsigned long long gpuregress_call_number = 0; gpuregress_call_number < gpuregress_calls;",
        "         ++gpuregress_call_number) {",
        "        const gpuregress_harness::sink<gpuregress_type> gpuregress_sink = {",
        "            static_cast<gpuregress_stored*>(gpuregress_result), gpuregress_call_number};",
        f"        gpuregress_sink.begin(), ::{instance.name}({given});",
        "    }",
        "    return 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _given(at: int, argument: FunctionArgument) -> str:
    type_ = harness.parameter_type(at)
    if argument.given == "parameter":
        bare = f"gpuregress_harness::bare<{type_}>::type"
        return f"(gpuregress_w{at} ? static_cast<{bare}>(gpuregress_i{at}) : static_cast<{bare}>(gpuregress_d{at}))"
    return f"gpuregress_harness::argument<{type_}>::get(gpuregress_p{at}, gpuregress_call_number)"


def find_compiler() -> HostCompiler | None:
    """Find the host's compiler: that of `$CXX`, g++ or clang++; None where there is none."""
    chosen = tuple(shlex.split(os.environ.get("CXX", "")))
    for command in [chosen] if chosen else [(name,) for name in _COMPILERS]:
        compiler = _probe(command, os.environ.get("PATH", ""))
        if compiler is not None:
            return compiler
    return None


@lru_cache(maxsize=8)
def _probe(command: tuple[str, ...], path: str) -> HostCompiler | None:
    program = shutil.which(command[0], path=path)
    if program is None:
        return None
    try:
        ran = subprocess.run(
            [program, *command[1:], "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+\.\d+(?:\.\d+)?", ran.stdout)
    if ran.returncode != 0 or number is None:
        return None
    return HostCompiler((program, *command[1:]), f"{Path(command[0]).name} {number[0]}")


def build(source: Source, text: str, compiler: HostCompiler, flags: Sequence[str], scratch: Path) -> Path:
    """Compile the host program of a function, or take it from the cache; return the program.

    Args:
        source: the job's, which declares the function.
        text: from `program_text`.
        compiler: the host's.
        flags: further ones, as `-ffp-contract=off`.
        scratch: a folder for the program.

    Raises:
        CompileError: the compiler refuses it, or the source cannot be read.
        HarnessError: the compiler does not end.
        StorageError: no space, no permission.
    """
    try:
        inputs = nvrtc_options.inputs(source)
    except OSError as error:
        raise CompileError(f"cannot read {source.path}: {error.strerror}") from error
    texts = [content.decode(errors="replace") for content in inputs.contents]
    macros = declarations.specifier_macros(texts)
    half = "#include <cuda_fp16.h>" if any("cuda_fp16.h" in content for content in texts) else ""
    if any("cuda_bf16.h" in content for content in texts):
        half += "\n#include <cuda_bf16.h>"
    stripped, *headers = (host_text(content, macros) for content in texts)
    main = "\n".join([_PRELUDE % {"half": half}, f'#line 1 "{Path(source.path).name}"', stripped, text])
    header_texts = dict(zip(inputs.files[1:], headers, strict=True))
    options = _options(source, flags)
    parts = ["host", compiler.version, platform.machine(), *options, inputs.structure, main]
    for path, header in header_texts.items():
        parts += [str(path), header]
    key = cache.digest(parts)
    program = scratch / f"host-{key[:16]}"
    if program.exists():
        return program
    if cache.load(key) is None:
        _compile(source, compiler, options, main, header_texts, program)
        cache.store(key, {"compiler": compiler.version}, {".host": storage.read_bytes(program)})
    else:
        shutil.copyfile(cache.file_path(key, ".host"), program)
    program.chmod(0o700)
    return program


def host_text(text: str, macros: Mapping[str, tuple[str, ...]]) -> str:
    """Return a text without what only a device understands; its lines keep their numbers.

    Args:
        text: of a source or a header.
        macros: from `declarations.specifier_macros`.
    """
    for function in declarations.scan(text, macros):
        if "__host__" not in function.spaces:
            first, last = function.span
            text = text[:first] + re.sub(r"[^\n]", " ", text[first:last]) + text[last:]
    return _DEVICE_HEADER.sub(r"\1", text)


def _options(source: Source, flags: Sequence[str]) -> list[str]:
    standard = "c++17"
    for option in source.options:
        if re.match(r"-{1,2}std\b", option):
            standard = option.rpartition("=")[2]
    options = ["-x", "c++", f"-std={standard}", "-O2", "-w", "-fno-strict-aliasing", *flags]
    for name, value in source.defines.items():
        options.append(f"-D{name}={value}" if value else f"-D{name}")
    return options


def _compile(
    source: Source,
    compiler: HostCompiler,
    options: Sequence[str],
    main: str,
    headers: Mapping[Path, str],
    program: Path,
) -> None:
    """Compile the program in a copy of the project's folders, so that each `#include` leads where it did."""
    root = program.parent / f"{program.name}-sources"

    def copied(path: Path) -> Path:
        return root / path.absolute().relative_to("/")

    for path, text in headers.items():
        copied(path).parent.mkdir(parents=True, exist_ok=True)
        copied(path).write_text(text, encoding="utf-8")
    folders = [copied(folder) for folder in nvrtc_options.search_folders(source)]
    folders[0].mkdir(parents=True, exist_ok=True)
    file = folders[0] / f"{HARNESS_FILE}.cpp"
    file.write_text(main, encoding="utf-8")
    include = [f"-I{folder}" for folder in folders]
    for folder in virtual_headers.cuda_folders():
        include += ["-isystem", str(folder)]
    command = [*compiler.command, *options, *include, "-o", str(program), str(file), "-lm"]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_S, check=False, cwd=folders[0]
        )
    except subprocess.TimeoutExpired as error:
        raise HarnessError(f"{compiler.version} did not end within {_COMPILE_S:g} s") from error
    except OSError as error:
        raise HarnessError(f"{compiler.version} cannot be run: {error.strerror}") from error
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if ran.returncode != 0:
        lacking = _lacking_header(ran.stderr)
        if lacking:
            raise IncompleteHeaders(f"{lacking}, which is not on this machine: install the nvidia-cuda-crt package")
        raise CompileError(_shown(ran.stderr, root, compiler))


def _lacking_header(said: str) -> str:
    """Name the header of CUDA that another one includes and this machine lacks, "" if that is not what failed."""
    for folder in virtual_headers.cuda_folders():
        pattern = (
            rf"^{re.escape(str(folder))}/(\S+?):\d+:\d+: fatal error: '?([^\s:']+)'?(?:: No such file| file not found)"
        )
        found = re.search(pattern, said, re.MULTILINE)
        if found:
            return f"CUDA's {found[1]} includes {found[2]}"
    return ""


def _shown(said: str, root: Path, compiler: HostCompiler) -> str:
    """Return the compiler's first error, with the project's paths."""
    lines = said.replace(str(root), "").splitlines() or ["no message"]
    errors = [line for line in lines if ": error: " in line or "fatal error: " in line]
    return f"{compiler.version} refuses it on the host: {(errors or lines)[0]}"


def contraction_flags() -> tuple[str, ...]:
    """Return the flags under which the host's compiler fuses multiplications and additions; () where it cannot."""
    if platform.machine() in ("aarch64", "arm64"):
        return ("-ffp-contract=fast",)
    return ("-ffp-contract=fast", "-mfma") if _has_fma() else ()


@lru_cache(maxsize=1)
def _has_fma() -> bool:
    try:
        return "fma" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
