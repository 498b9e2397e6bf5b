"""Which host functions are read for launches."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs import program


def test_functions_that_launch_kernels_of_other_files_alone_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("void go(int* x);\n")
    (tmp_path / "a.cu").write_text(
        '#include "a.h"\n__global__ void k(int* x) { x[0] = 1; }\n'
        "template <class K> void launch(K kernel, int* x) { kernel<<<1, 1>>>(x); }\n"
        "void go(int* x) { launch(k, x); }\n"
    )
    (tmp_path / "all.cu").write_text(
        '#include "a.h"\n__global__ void other(int* x) {}\nvoid others(int* x) { other<<<1, 1>>>(x); }\n'
        "void both(int* x) { others(x); go(x); }\n"
    )
    assert program.read(tmp_path / "a.cu").launching == {"go", "launch", "both"}
    assert "others" in program.read(tmp_path / "all.cu").launching
