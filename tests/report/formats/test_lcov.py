"""Trace files of lcov."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import BranchCount, FileCoverage
from gpuregress.report.formats import lcov
from tests.report.samples import summary
from tests.report.test_coverage_report import covered


def test_a_record_has_branches_and_lines() -> None:
    text = lcov.render(covered(), Path("/p"))
    assert text.splitlines()[:4] == ["TN:gpuregress", "SF:k.cu", "BRDA:2,0,0,0", "BRDA:2,0,1,4"]
    assert "DA:2,0\n" in text
    assert text.endswith("BRF:8\nBRH:5\nDA:1,4\nDA:2,0\nDA:3,4\nDA:4,4\nDA:5,4\nLF:5\nLH:4\nend_of_record\n")


def test_each_condition_of_a_line_is_a_block_of_branches() -> None:
    branches = (BranchCount(7, 1, 2, 2, "branch", "a"), BranchCount(7, 1, 0, 0, "branch", "b"))
    lines = lcov.render(covered(FileCoverage("/p/k.cu", ((7, 4),), branches)), Path("/p")).splitlines()
    assert [line for line in lines if line.startswith("BR")] == [
        "BRDA:7,0,0,2",
        "BRDA:7,0,1,2",
        "BRDA:7,1,0,-",
        "BRDA:7,1,1,-",
        "BRF:4",
        "BRH:2",
    ]


def test_without_counts_it_has_the_notes_alone() -> None:
    lines = lcov.render(summary(), Path("/p")).splitlines()
    assert len(lines) == len(summary().notes)
    assert all(line.startswith("# ") for line in lines)


SOURCE = """\
template <typename T> __device__ T twice(T x)
{
    return x + x;
}
__device__ float twice(float x, int n) { return x * n; }
__device__ float declared(float x);
__global__ void both(float *y)
{
    y[0] = twice(y[0]);
}
__global__ void never(float *y)
{
    y[0] = 1;
}
"""


def test_functions_that_have_code_are_counted_by_their_first_line(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    lines = ((3, 64), (9, 32), (10, 32), (13, 0))
    text = lcov.render(covered(FileCoverage(str(path), lines)), tmp_path)
    assert text.splitlines()[:10] == [
        "TN:gpuregress",
        "SF:k.cu",
        "FN:1,twice<T>(T)",
        "FN:7,both",
        "FN:11,never",
        "FNDA:64,twice<T>(T)",
        "FNDA:32,both",
        "FNDA:0,never",
        "FNF:3",
        "FNH:2",
    ]


OPERATORS = """\
struct A {
    __device__ float operator()(float x) const { return x; }
    __device__ float operator+(float x) const { return x; }
    __device__ float operator [] (int x) const { return x; }
    __device__ float at(int x) const { return x; }
    __device__ float at(int x) { return x; }
};
"""


def test_no_function_is_lost_that_is_called_as_another_one(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(OPERATORS)
    text = lcov.render(covered(FileCoverage(str(path), tuple((line, line) for line in range(2, 7)))), tmp_path)
    functions = [line for line in text.splitlines() if line.startswith("FN")]
    assert functions == [
        "FN:2,A::operator()",
        "FN:3,A::operator+",
        "FN:4,A::operator[]",
        "FN:5,A::at(int)",
        "FN:6,A::at(int):6",
        "FNDA:2,A::operator()",
        "FNDA:3,A::operator+",
        "FNDA:4,A::operator[]",
        "FNDA:5,A::at(int)",
        "FNDA:6,A::at(int):6",
        "FNF:5",
        "FNH:5",
    ]


def test_functions_of_python_files_are_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("import x\n\n@x.jit\ndef add(a):\n    b = a\n    return b\n\ndef host():\n    pass\n")
    text = lcov.render(covered(FileCoverage(str(path), ((5, 7), (6, 7)))), tmp_path)
    assert "FN:4,add\nFNDA:7,add\nFNF:1\nFNH:1\n" in text
