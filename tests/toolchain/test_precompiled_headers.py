"""Precompiled headers: the same programs, with the same warnings."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Source
from gpuregress.toolchain import debug_types, nvrtc, precompiled_headers
from gpuregress.toolchain.nvrtc_options import NvrtcResult

pytest.importorskip("cuda.bindings.nvrtc")

SOURCE = """\
// A comment.
#include <cuda_fp16.h>
#include "scale.h"
#if SCALE > 2
#define MORE 1
#endif

void on_the_host();

template <typename T> __global__ void scale(T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = scaled(x[i]) + T(MORE);
}
"""
HEADER = "#pragma once\n#define SCALE 3\ntemplate <typename T> __device__ T scaled(T x) { return x * T(SCALE); }\n"


def _compiled(folder: Path, kernel: str, *options: str) -> NvrtcResult:
    path = folder / "scale.cu"
    return nvrtc.compile_source(Source(str(path), kernels=(kernel,), options=options), path.read_text())


def _compiled_source(source: Source) -> NvrtcResult:
    return nvrtc.compile_source(source, Path(source.path).read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scale.cu").write_text(SOURCE)
    (tmp_path / "scale.h").write_text(HEADER)
    return tmp_path


def test_a_source_gives_the_same_with_precompiled_headers(folder: Path) -> None:
    expected = [_compiled(folder, kernel) for kernel in ("scale<float>", "scale<double>")]
    above = folder / "precompiled"
    with precompiled_headers.precompiling(above):
        assert _compiled(folder, "scale<float>") == expected[0]
        assert len(list(above.rglob("*.pch"))) == 1
        for _ in range(2):
            assert [_compiled(folder, kernel) for kernel in ("scale<float>", "scale<double>")] == expected
    assert len(list(above.rglob("*.pch"))) == 1
    (folder / "scale.h").write_text(HEADER.replace("SCALE 3", "SCALE 4"))
    changed = _compiled(folder, "scale<float>")
    assert changed.ptx != expected[0].ptx
    with precompiled_headers.precompiling(above):
        for _ in range(3):
            assert _compiled(folder, "scale<float>") == changed


@pytest.mark.parametrize("most_bytes", [3_000_000, 9_000_000])
def test_a_full_disk_is_no_error_of_the_source(folder: Path, most_bytes: int) -> None:
    """The first limit stops the compiler's heap, the second one the file of the headers."""
    kernels = ("scale<float>", "scale<double>", "scale<int>")
    expected = [_compiled(folder, kernel) for kernel in kernels]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    try:
        with precompiled_headers.precompiling(folder / "precompiled"):
            assert [_compiled(folder, kernel) for kernel in kernels] == expected
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_forked_processes_read_the_headers_of_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _compiled(folder, "scale<double>")
    (folder / "other.cu").write_text(SOURCE.replace('"scale.h"', '"scale.h"\n#include <cuda_bf16.h>'))
    other = Source(str(folder / "other.cu"), kernels=("scale<int>",))
    expected_of_other = _compiled_source(other)
    compile_once = nvrtc._compile
    are_precompiled: list[bool] = []

    def counted(*arguments: Any) -> Any:
        """Note whether the headers are precompiled."""
        are_precompiled.append(bool(arguments[6]))
        return compile_once(*arguments)

    monkeypatch.setattr(nvrtc, "_compile", counted)
    above = folder / "precompiled"
    with precompiled_headers.precompiling(above):
        _compiled(folder, "scale<float>")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            with precompiled_headers.precompiling(above):
                is_equal = _compiled(folder, "scale<double>") == expected
                is_equal &= _compiled_source(other) == expected_of_other
            answer = [is_equal, precompiled_headers.lacks_some(), are_precompiled, precompiled_headers.learned()]
            os.write(writer, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answers:
        is_equal, lacks_some, of_child, learned = json.load(answers)
    os.waitpid(child, 0)
    assert (is_equal, lacks_some) == (True, False)
    assert all(of_child)
    assert len(list(above.rglob("*.pch"))) == 2
    are_precompiled.clear()
    with precompiled_headers.precompiling(above):
        assert _compiled_source(other) == expected_of_other
        assert are_precompiled == [False], "headers that another process may be writing are not read"
        assert precompiled_headers.lacks_some()
        precompiled_headers.learn(learned)
        assert _compiled_source(other) == expected_of_other
    assert are_precompiled == [False, True]
    assert len(list(above.rglob("*.pch"))) == 2


@pytest.mark.parametrize("body", ["", "int idle = 1; "])
@pytest.mark.parametrize("guard", ["#pragma once\n", "#define AGAIN(x) x\n"])
@pytest.mark.parametrize("is_refused_at_first", [True, False])
def test_warnings_of_a_header_are_not_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, guard: str, *, is_refused_at_first: bool
) -> None:
    text = SOURCE.replace('"scale.h"', '"scale.h"\n#include "odd.h"').replace("int i =", f"{body}int i =")
    (folder / "scale.cu").write_text(text)
    (folder / "odd.h").write_text(f"{guard}#ifdef __CUDA_ARCH__\n#warning odd\n#endif\n")
    function = "__device__ inline int odd() { int unused = 1; return 2; }\n"
    function += "__device__ inline double even(double4 x) { return x.x; }\n"  # deprecated, by the compiler itself
    (folder / "scale.h").write_text(f"{HEADER}{function}")
    kernels = ("scale<float>", "scale<double>", "scale<float>")
    expected = [_compiled(folder, kernel) for kernel in kernels]
    assert "scale.h:4" in expected[0].warnings
    assert "double4" in expected[0].warnings
    compile_once = nvrtc._compile
    are_precompiled: list[bool] = []

    def counted(*arguments: Any) -> Any:
        """Note whether the headers are precompiled."""
        are_precompiled.append(bool(arguments[6]))
        return compile_once(*arguments)

    monkeypatch.setattr(nvrtc, "_compile", counted)
    with precompiled_headers.precompiling(folder / "precompiled"):
        if is_refused_at_first:
            with pytest.raises(CompileError):
                _compiled(folder, "scale<Gone>")
        assert [_compiled(folder, kernel) for kernel in kernels] == expected
    # The second compilation shows what the first one alone says.
    assert are_precompiled == [True] * (5 if is_refused_at_first else 4)


COUNTED = "#ifdef LEVEL\n#undef LEVEL\n#define LEVEL 2\n#else\n#define LEVEL 1\n#endif\n"
ONCE = "#pragma once\n#define LEVEL sizeof(Odd)\n"
PACKED = "struct Packed { char a; int b; };\n"


@pytest.mark.parametrize(
    ("directives", "header"),
    [
        (f'{COUNTED}#include "level.h"\n', ""),
        ('#include "level.h"\n', COUNTED),
        ('#define LEVEL 1\n#warning odd\n#include "level.h"\n#undef LEVEL\n#define LEVEL 2\n', "#pragma once\n"),
        ('#define LEVEL 1\n#include "level.h"\n', "#undef LEVEL\n#define LEVEL 2\n#define LEVEL 3\n"),
        ('#define LEVEL 1\n#include "level.h" // \\\n int f(\n', ""),
        ('#define LEVEL 1\n#include "level.h" /*\n int f(*/\n', ""),
        ('#include "level.h"\n', f"{ONCE}#pragma pack(push, 1)\n{PACKED}#pragma pack(pop)\n"),
        ('#include "level.h"\n', f'{ONCE}_Pragma("pack(1)")\n'),
        ('#include "level.h"\n', f"{ONCE}#define P(x) _Pragma(#x)\nP(pack(1))\n"),
        ('#include "level.h"\n', "#pragma once\n#define LEVEL called(x[1])\n#pragma nv_abi preserve_n_data(3)\n"),
    ],
)
def test_directives_mean_the_same_if_they_are_precompiled(tmp_path: Path, directives: str, header: str) -> None:
    (tmp_path / "level.h").write_text(header)
    (tmp_path / "scale.cu").write_text(
        f"{directives}struct Odd {{ char a; int b; }};\n"
        "__device__ __noinline__ int called(int n) { return n * threadIdx.x; }\n"
        "__global__ void scale(int *x) { x[0] *= LEVEL; }\n"
    )
    expected = _compiled(tmp_path, "scale")
    with precompiled_headers.precompiling(tmp_path / "precompiled"):
        for _ in range(2):
            assert _compiled(tmp_path, "scale") == expected


def test_a_header_that_names_the_source_is_parsed_for_each(tmp_path: Path) -> None:
    (tmp_path / "name.h").write_text("inline __device__ const char *name() { return __BASE_FILE__; }\n")
    sources = [Source(str(tmp_path / name), kernels=("k<1>",)) for name in ("a.cu", "b.cu")]
    for source in sources:
        text = '#include "name.h"\ntemplate <int N> __global__ void k(const char **s) { s[N] = name(); }\n'
        Path(source.path).write_text(text)
    expected = [_compiled_source(source) for source in sources]
    with precompiled_headers.precompiling(tmp_path / "precompiled"):
        for _ in range(2):
            assert [_compiled_source(source) for source in sources] == expected


@pytest.mark.parametrize(
    ("header", "kernel"),
    [("gone", "scale<float>"), ("x", "scale<Gone>"), ("x; }\n#include <gone.h>\n", "scale<float>")],
)
def test_errors_are_those_of_a_compilation_without(folder: Path, header: str, kernel: str) -> None:
    (folder / "scale.h").write_text(HEADER.replace("return x", f"return {header}"))
    with pytest.raises(CompileError) as expected:
        _compiled(folder, kernel)
    with precompiled_headers.precompiling(folder / "precompiled"):
        for _ in range(3):
            with pytest.raises(CompileError) as caught:
                _compiled(folder, kernel)
            assert (str(caught.value), caught.value.log) == (str(expected.value), expected.value.log)


@pytest.mark.parametrize(
    ("header", "kernel", "count"),
    [("gone", "scale<float>", 2), ("x", "scale<Gone>", 1), ("x; }\n#include <gone.h>\n", "scale<float>", 1)],
)
def test_errors_are_taken_from_a_compilation_with_precompiled_headers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, header: str, kernel: str, count: int
) -> None:
    (folder / "scale.h").write_text(HEADER.replace("return x", f"return {header}"))
    compile_once = nvrtc._compile
    made: list[Any] = []

    def counted(*arguments: Any) -> Any:
        """Note the compilations."""
        made.append(arguments)
        return compile_once(*arguments)

    monkeypatch.setattr(nvrtc, "_compile", counted)
    with precompiled_headers.precompiling(folder / "precompiled"), pytest.raises(CompileError):
        _compiled(folder, kernel)
    assert len(made) == count  # the first one's errors may be those of an older standard


@pytest.mark.parametrize("warning", ["", "#warning odd\n"])
def test_errors_of_instances_in_headers_that_were_parsed_before_are_taken_from_a_compilation_with_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, warning: str
) -> None:
    header = HEADER.replace("return x", "return x.gone\n")
    (folder / "scale.h").write_text(header.replace("#pragma", f"{warning}#pragma"))
    text = f"{SOURCE}template <class T> __global__ void bad(T *x) {{ x[0].gone(); }}\n"
    (folder / "scale.cu").write_text(text)
    refused = ("bad<int>", "scale<float>", "scale<double>")
    logs: list[str] = []
    for kernel in refused:
        with pytest.raises(CompileError) as caught:
            _compiled(folder, kernel)
        logs.append(caught.value.log)
    compile_once = nvrtc._compile
    are_precompiled: list[bool] = []

    def counted(*arguments: Any) -> Any:
        """Note whether the headers are precompiled."""
        are_precompiled.append(bool(arguments[6]))
        return compile_once(*arguments)

    monkeypatch.setattr(nvrtc, "_compile", counted)
    with precompiled_headers.precompiling(folder / "precompiled"):
        for kernel, log in zip(refused, logs, strict=True):
            with pytest.raises(CompileError) as caught:
                _compiled(folder, kernel)
            assert caught.value.log == log
    assert are_precompiled == [True] * (4 if warning else 3)


def test_a_name_that_is_not_there_is_not_looked_for_in_a_later_standard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.cu").write_text(
        "#define BEGIN {\nint host() BEGIN return 0; } // not of std::\n"
        "template <class T> __global__ void k(T *x) { x[0] = 2; }\n"
    )
    units: list[tuple[str, ...]] = []
    attempt = nvrtc._attempt

    def counted(*arguments: Any, **options: Any) -> Any:
        """Note the options of an attempt."""
        units.append(arguments[1].options)
        return attempt(*arguments, **options)

    monkeypatch.setattr(nvrtc, "_attempt", counted)
    with precompiled_headers.precompiling(tmp_path / "precompiled"):
        _compiled_source(Source(str(tmp_path / "k.cu"), kernels=("k<int>",)))
        with pytest.raises(CompileError):
            _compiled_source(Source(str(tmp_path / "k.cu"), kernels=("k<Gone>",)))
    assert units == [()] * 3  # the host code is refused once


@pytest.mark.parametrize(
    ("text", "directives"),
    [
        ("#include <a>\nint x;\n#include <b>\n", "#include <a>\n"),
        (
            "/* c */\n#define A\n#ifdef A\n#include <a>\n#endif\nint x;\n",
            "/* c */\n#define A\n#ifdef A\n#include <a>\n#endif\n",
        ),
        ("#ifdef A\n#include <a>\nint x;\n#endif\n", ""),
        ("int x;\n#include <a>\n", ""),
    ],
)
def test_what_is_precompiled_ends_before_the_first_code(text: str, directives: str) -> None:
    found = precompiled_headers.leading_directives(text)
    assert "".join(line for line in found.splitlines(keepends=True)) == directives


@pytest.mark.parametrize(
    ("header", "refusals"),
    [
        ("struct Host{} {{ int get() {{ return 0; }} }};\n", [True, False, False, False]),
        ("inline int host{}() {{ return 0; }}\n", [False, False, False]),  # seen before the first attempt
        ("", [True, False, False, False]),
    ],
)
def test_host_code_is_refused_once_for_all_kernels_of_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, refusals: list[bool]
) -> None:
    count = 50 if header else 0
    text = "".join(f'#include "h{number}.h"\n' for number in range(count))
    for number in range(count):
        (tmp_path / f"h{number}.h").write_text(header.format(number))
    if not count:  # device code has a word of this class, and does not use it
        text = "struct Host { Gone gone; };\n"
    kernel = "template <class T> __global__ void scale(T *x) { int Host = 2; x[0] *= Host; }\n"
    (tmp_path / "scale.cu").write_text(f"{text}{kernel}")
    expected = [_compiled(tmp_path, kernel) for kernel in ("scale<float>", "scale<double>")]
    refused: list[bool] = []
    are_precompiled: list[bool] = []
    compile_once = nvrtc._compile

    def counted(*arguments: Any) -> Any:
        """Note whether an attempt was refused, and whether the headers are precompiled."""
        made = compile_once(*arguments)
        refused.append(made.result is None)
        are_precompiled.append(bool(arguments[6]))
        return made

    monkeypatch.setattr(nvrtc, "_compile", counted)
    with precompiled_headers.precompiling(tmp_path / "precompiled"):
        assert [_compiled(tmp_path, kernel) for kernel in ("scale<float>", "scale<double>")] == expected
        _compiled(tmp_path, "scale<float>", *debug_types.OPTIONS)
    assert refused == refusals
    # The other kernels need what an attempt leaves, so the first texts without host code are precompiled.
    assert are_precompiled == [bool(header) and not is_refused for is_refused in refusals]


def test_what_another_process_has_learned_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "#define BEGIN {\nint host() BEGIN return 0; }\ntemplate <class T> __global__ void k(T *x) { x[0] = 2; }\n"
    )
    units: list[object] = []
    attempt = nvrtc._attempt

    def counted(*arguments: Any, **options: Any) -> Any:
        """Note an attempt."""
        units.append(arguments[2])
        return attempt(*arguments, **options)

    monkeypatch.setattr(nvrtc, "_attempt", counted)
    monkeypatch.setattr(precompiled_headers, "_refusals", {})
    with precompiled_headers.precompiling(tmp_path / "precompiled"):
        _compiled_source(Source(str(path), kernels=("k<int>",)))
        refusals = json.loads(json.dumps(precompiled_headers.learned()))
        monkeypatch.setattr(precompiled_headers, "_refusals", {})
        precompiled_headers.learn(refusals)
        _compiled_source(Source(str(path), kernels=("k<float>",)))
    assert len(units) == 3


def test_what_fails_for_one_kernel_is_not_tried_again_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "struct Host { Gone gone; };\nstruct Other { Host host; };\nstruct Third { int Host; };\n"
    kernel = "template <class T> __global__ void k(T x) { int Host = 2, Other = 3; x << (Host + Other); }\n"
    path = tmp_path / "k.cu"
    path.write_text(f"{text}{kernel}")
    units: list[object] = []
    attempt = nvrtc._attempt

    def counted(*arguments: Any, **options: Any) -> Any:
        """Note an attempt."""
        units.append(arguments[2])
        return attempt(*arguments, **options)

    monkeypatch.setattr(nvrtc, "_attempt", counted)
    messages: list[list[str]] = []
    for folder in (tmp_path / "precompiled", None):
        messages.append([])
        with precompiled_headers.precompiling(folder):
            for type_ in ("float", "double"):
                with pytest.raises(CompileError) as caught:
                    _compiled_source(Source(str(path), kernels=(f"k<{type_}>",)))
                messages[-1].append(str(caught.value))
                units.append(None)
    assert messages[0] == messages[1]
    parts = "".join("x" if unit else " " for unit in units).split()
    # The texts, of which each goes on where the last one was refused; the first and the last one in a later standard.
    # The second kernel is tried with the last text alone.
    assert parts == ["xxxxx", "xxx", "xxxxx", "xxxxx"]


def test_types_are_asked_without_a_later_standard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <class T> struct A { T x; };\n")
    units: list[object] = []
    attempt = nvrtc._attempt

    def counted(*arguments: Any, **options: Any) -> Any:
        """Note the options of an attempt."""
        units.append(arguments[1].options)
        return attempt(*arguments, **options)

    monkeypatch.setattr(nvrtc, "_attempt", counted)
    with pytest.raises(CompileError):
        _compiled_source(
            Source(str(path), harness="\ntemplate <class T> struct B { A<typename T::gone> x; }; B<int> b;\n")
        )
    assert units == [()]
