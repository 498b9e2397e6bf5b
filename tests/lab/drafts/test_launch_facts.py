from __future__ import annotations

from pathlib import Path

from gpuregress.lab.drafts import launch_facts
from gpuregress.lab.drafts.launch import LaunchDraft
from gpuregress.lab.drafts.launch_facts import HostProgram


def _host_program(source: Path) -> HostProgram:
    found = HostProgram(source)
    found.ask_types()
    return found


def test_folders_above_a_source_that_hold_its_headers(tmp_path: Path) -> None:
    (tmp_path / "samples/a").mkdir(parents=True)
    (tmp_path / "Common").mkdir()
    (tmp_path / "Common/helper.h").write_text("")
    source = tmp_path / "samples/a/a.cu"
    source.write_text("#include <helper.h>\n#include <nowhere.h>\n")
    assert launch_facts.include_folders([source]) == (tmp_path / "Common",)


def test_a_kernel_without_a_launch_takes_that_of_one_with_its_parameters(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "__global__ void f(int *y) {}\n__global__ void g(int *y) {}\n__global__ void h(float *y) {}\n"
        "int main() { int *y; cudaMalloc(&y, 64); f<<<2, 8>>>(y); }\n"
    )
    found = _host_program(source)
    f, g, h = (found.facts(one) for one in found.kernels)
    assert f is not None
    assert g is not None
    assert (f.launch, h) == (g.launch, None)


def test_kernels_of_one_name_have_the_launches_of_their_namespaces(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "namespace a { __global__ void f(int *y) {} }\nnamespace b { __global__ void f(int *y) {} }\n"
        "int main() { int *y; cudaMalloc(&y, 64); a::f<<<2, 8>>>(y); b::f<<<3, 8>>>(y); }\n"
    )
    found = _host_program(source)
    grids = [facts.launch.grid for one in found.kernels if (facts := found.facts(one)) is not None]
    assert [grid[0].number for grid in grids if grid is not None] == [2, 3]


def test_a_program_that_takes_too_many_steps(tmp_path: Path) -> None:
    loops = 12 * "for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) for (int c = 0; c < n; c++) h[a] += b * c;\n"
    source = tmp_path / "a.cu"
    source.write_text(
        "__constant__ float w[2 * 8];\n__global__ void f(int *y) {}\n"
        f"int main() {{ int n = 512; float *h; int *y; f<<<n, 8>>>(y); {loops} }}\n"
    )
    found = _host_program(source)
    facts = found.facts(found.kernels[0])
    assert facts is not None
    assert facts.sizes["w"].number == 16


def test_guesses_that_would_multiply_are_smaller(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "__global__ void f(int *y) {}\n__global__ void g(int *y) {}\n"
        "void go(int *y, int a, int b, int c) { f<<<(a * b * c + 31) / 32, 32>>>(y); }\n"
    )
    facts = _host_program(source).facts(_host_program(source).kernels[0])
    assert facts is not None
    assert facts.launch.grid is not None
    assert facts.launch.grid[0].number == 64 * 64 * 64 // 32
    source.write_text("__global__ void f(int *y) {}\nvoid go(int *y, int a) { f<<<a, 32>>>(y); }\n")
    found = _host_program(source)
    facts = found.facts(found.kernels[0])
    assert facts is not None
    assert facts.launch.grid is not None
    assert facts.launch.grid[0].number == 1024


def test_the_launch_of_the_source_itself_and_the_constants_of_its_classes_are_taken(tmp_path: Path) -> None:
    (tmp_path / "b.cu").write_text("__global__ void k(int *y);\nint main() { k<<<7, 8>>>(0); }\n")
    source = tmp_path / "a.cu"
    source.write_text(
        "namespace a { struct Sizes { static constexpr int block = 3 * 32, grid = block / 2; };\n"
        "__global__ void k(int *y) { y[0] = Sizes::grid; } }\nusing namespace a;\n"
        "void run(int *y) { if (y) k<<<Sizes::grid, a::Sizes::block>>>(y); }\n"
    )
    found = _host_program(source)
    facts = found.facts(found.kernels[0])
    assert facts is not None
    assert facts.launch.grid is not None
    assert facts.launch.block is not None
    sizes = [facts.launch.grid[0], facts.launch.block[0]]
    assert [(size.number, size.is_known) for size in sizes] == [(48, True), (96, True)]


def test_launches_for_tensors_whose_channels_are_last_have_their_strides(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        """struct P { float *x, *y, *z; int b, c, l, zc; };
__global__ void rows(P p) { p.y[p.l * threadIdx.x] = p.x[p.c * threadIdx.x]; }
__global__ void columns(P p) { p.y[p.l * threadIdx.x] = p.x[p.c * threadIdx.x]; }
void go(at::Tensor x) {
  const auto sizes = x.sizes();
  auto y = torch::empty_like(x);
  auto z = torch::empty({x.size(0), x.size(1), x.size(2)});
  P p;
  p.x = x.data_ptr<float>(); p.y = y.data_ptr<float>(); p.z = z.data_ptr<float>();
  p.b = x.stride(0); p.c = x.stride(1); p.l = y.stride(2); p.zc = z.stride(1);
  const bool is_last = x.stride(1) == 1 && x.stride(2) > 1;
  if (!is_last) { rows<<<x.size(0), 32>>>(p); } else { columns<<<x.size(0), 32>>>(p); }
}
"""
    )
    found = _host_program(source)
    texts = []
    for kernel in found.kernels:
        facts = found.facts(kernel)
        assert facts is not None
        texts.append("\n".join(LaunchDraft(kernel, source, tmp_path / "configs/a.yaml", facts).lines(())))
    rows, columns = texts
    for text, strides in (
        (rows, ("x_size_1 * x_size_2", "x_size_2", "1")),
        (columns, ("x_size_2 * x_size_1", "1", "x_size_1")),
    ):
        for member, stride in zip("bcl", strides, strict=True):
            assert f" {member}: {{int32: {stride}}}" in text
        assert " zc: {int32: x_size_2}" in text
    assert "shape: [x_size_0, x_size_1, x_size_2]" in rows
    assert "shape: [x_size_0, x_size_2, x_size_1]" in columns
