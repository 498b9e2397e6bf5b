from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs.calls import split_arguments
from tests.lab.host_programs.launched import launches


def test_template_arguments_are_split_outside_of_brackets() -> None:
    assert split_arguments("a<b, c>, 3") == ["a<b, c>", " 3"]


def test_the_branch_that_is_taken_has_its_template_arguments(tmp_path: Path) -> None:
    text = """template <typename T, int B> __global__ void k(T *y) {}
template <class T> void go(int block) {
    T *y;
    cudaMalloc(&y, 64 * sizeof(T));
    switch (block) {
        case 16: k<T, 16><<<4, block>>>(y); break;
        default: k<T, 32><<<2, block>>>(y);
    }
}
int main() { go<double>(32); }
"""
    found = {one.template: one.branches_not_taken for one in launches(tmp_path, text)}
    assert found == {("double", "16"): 1, ("double", "32"): 0}
