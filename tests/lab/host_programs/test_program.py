from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs import program


def test_callers_and_headers_of_the_folder_belong_to_the_program(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text('#include "k.h"\n__global__ void k(int n) {}\nvoid go(int n) { k<<<1, T>>>(n); }\n')
    (tmp_path / "k.h").write_text("#pragma once\n#define T 32\nvoid go(int n);\n")
    (tmp_path / "main.cpp").write_text('#include "k.h"\nint main() { go(7); }\n')
    (tmp_path / "other.cpp").write_text("int other() { return 1; }\n")
    read = program.read(tmp_path / "k.cu")
    assert [path.name for path in read.files] == ["k.cu", "k.h", "main.cpp"]
    assert read.launching == {"main", "go"}
    assert read.macros["T"].body == "32"
    assert [str(one) for one in read.kernels] == ["k"]


def test_headers_in_a_folder_of_the_project_belong_to_the_program(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "inc").mkdir()
    (tmp_path / "src/a.cu").write_text('#include "k.cuh"\nint main() { k<<<1, 1>>>(7); }\n')
    (tmp_path / "inc/k.cuh").write_text("__global__ void k(int n) {}\n")
    read = program.read(tmp_path / "src/a.cu")
    assert [path.name for path in read.files] == ["a.cu", "k.cuh"]
    assert [str(one) for one in read.kernels] == ["k"]


def test_constant_memory_and_what_device_code_mentions(tmp_path: Path) -> None:
    text = "#define R 4\n#define L (2 * R + 1)\nconst int UNUSED = 3;\n__constant__ float taps[L];\n"
    (tmp_path / "k.cu").write_text(text + "__global__ void k() {}\nenum { A, B };\n")
    read = program.read(tmp_path / "k.cu")
    assert read.symbols["taps"].type == "float"
    assert {"R", "L"} <= read.device_words
    assert "UNUSED" not in read.device_words
    assert len(read.enumerators) == 1


def test_callers_include_the_header_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        '#include "k.cuh"\n__global__ void k(int n) {}\nvoid go(int n) { k<<<1, 1>>>(n); }\n'
    )
    (tmp_path / "k.cuh").write_text("void go(int n);\n")
    (tmp_path / "other.cu").write_text("__global__ void o(int n) {}\nvoid go(int n) { o<<<1, 1>>>(n); }\n")
    (tmp_path / "main.cu").write_text('#include "k.cuh"\n__global__ void m(int n) {}\nint main() { go(7); }\n')
    read = program.read(tmp_path / "k.cu")
    assert [path.name for path in read.files] == ["k.cu", "k.cuh", "main.cu"]
    assert [one.name for one in read.kernels] == ["k"]  # those of its callers are no part of it


def test_explicit_instantiations_of_functions(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "template <typename T, int N> void go(T *x) {}\ntemplate <> void go<int, 1>(int *x) {}\n"
        "template void go<double, 3>(double *x);\ntemplate void go<float, 4>(float *x);\n"
    )
    assert program.read(tmp_path / "k.cu").instances == {"go": ("double", "3")}
