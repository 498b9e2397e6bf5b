from __future__ import annotations

from pathlib import Path

from gpuregress.operations.drafts import host


def test_folders_above_a_source_that_hold_its_headers(tmp_path: Path) -> None:
    (tmp_path / "samples/a").mkdir(parents=True)
    (tmp_path / "Common").mkdir()
    (tmp_path / "Common/helper.h").write_text("")
    source = tmp_path / "samples/a/a.cu"
    source.write_text("#include <helper.h>\n#include <nowhere.h>\n")
    assert host.include_folders([source]) == (tmp_path / "Common",)


def test_a_kernel_without_a_launch_takes_that_of_one_with_its_parameters(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "__global__ void f(int *y) {}\n__global__ void g(int *y) {}\n__global__ void h(float *y) {}\n"
        "int main() { int *y; cudaMalloc(&y, 64); f<<<2, 8>>>(y); }\n"
    )
    found = host.HostProgram(source)
    f, g, h = (found.facts(one) for one in found.kernels)
    assert f is not None
    assert g is not None
    assert (f.launch, h) == (g.launch, None)
