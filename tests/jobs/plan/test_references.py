"""Gold standards: their three forms, and the arguments of their kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Entry, Parameter, Program, PythonKernel, Rule, from_json, to_json
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan.explain import explain
from tests.jobs.plan.projects import JOB, project

NAIVE = """\
reference:
  sum:
    source: ../kernels/naive.cu
    compile: {defines: {TILE: tile}}
    launches:
      - {kernel: naive, grid: [1], block: [1], args: [sum, x, {int32: n}]}
    compare: {rtol: n / 1.0e+9, order: any}
"""
POINTER, INTEGER = Parameter(8, 8, "pointer"), Parameter(4, 4, "integer", "n")


def first(root: Path, gold: str) -> Case:
    example = project(root, reduce=JOB + gold)
    (root / "kernels" / "naive.cu").write_text("__global__ void naive(float* sum, const float* x, int n) {}\n")
    return plan.make(example, []).cases[0]


def test_a_function_in_either_form(tmp_path: Path) -> None:
    short = first(tmp_path / "short", "reference: {sum: reference.py:block_sums}\n")
    function = "reference.py:block_sums"
    long = first(tmp_path / "long", f"reference: {{sum: {{python: {function}, compare: {{ulp: 2}}}}}}\n")
    assert short.reference == {"sum": f"{tmp_path}/short/configs/{function}"}
    assert long.reference == {"sum": f"{tmp_path}/long/configs/{function}"}
    assert (short.reference_rules, long.reference_rules) == ({}, {"sum": Rule(ulp=2)})
    assert short.compare == long.compare == {"sum": Rule()}


def test_kernels_with_their_own_source_numbers_and_rule(tmp_path: Path) -> None:
    case = first(tmp_path, NAIVE)
    gold = case.reference_kernels["sum"]
    assert gold.source.path == str(tmp_path / "kernels" / "naive.cu")
    assert gold.source.kernels == ("naive",)
    assert gold.source.defines == {"TILE": "128"}
    (launch,) = gold.launches
    assert (launch.kernel, launch.grid, launch.args[2].text) == ("naive", (1, 1, 1), "1000")
    assert case.reference_rules == {"sum": Rule(rtol=1e-6, atol=0.0, order="any")}
    assert case.source.kernels == ("block_sum<float>",)
    assert from_json(Case, to_json(case)) == case


def test_kernels_of_the_jobs_own_source_take_its_compile_settings(tmp_path: Path) -> None:
    gold = "reference: {sum: {launches: [{kernel: 'block_sum<double>', grid: [1], block: [1], args: [sum]}]}}\n"
    case = first(tmp_path, gold + "compile: {defines: {A: tile}}\n")
    source = replace(case.source, kernels=("block_sum<double>",))
    assert case.reference_kernels["sum"].source == source


def test_arguments_are_held_against_the_references_own_signature(tmp_path: Path) -> None:
    case = first(tmp_path, NAIVE)
    good = Program("", "", "", {"naive": Entry("naive", (POINTER, POINTER, INTEGER))}, {}, "", (), "")
    assert plan.check_reference(case, "sum", good) == ()
    bad = replace(good, entries={"naive": Entry("naive", (POINTER, INTEGER, INTEGER))})
    (error,) = plan.check_reference(case, "sum", bad)
    assert error.key == "reference.sum.launches[0].args[1]"
    assert error.line == 19
    assert "the buffer x is a pointer and parameter 'n' is an integer of 4 bytes" in error.message
    assert "naive(float* sum, const float* x, int n)" in error.message


def refused(root: Path, text: str) -> list[str]:
    with pytest.raises(JobErrors) as caught:
        first(root, text)
    return [f"{error.key}: {error.message.replace(str(root), 'PROJECT')}" for error in caught.value.errors]


def test_a_file_in_either_form(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=JOB)
    for n in (1000, 65536):
        np.save(tmp_path / "configs" / f"sums_{n}.npy", np.zeros(-(-n // 128), np.float32))
    for text in ('"sums_{n}.npy"', '{file: "sums_{n}.npy", compare: {atol: 1}}'):
        job = f"{JOB}where: [tile == 128]\nreference: {{sum: {text}}}\n"
        (tmp_path / "configs" / "reduce.yaml").write_text(job)
        names = [Path(case.reference_files["sum"]).name for case in plan.make(place, []).cases]
        assert names == ["sums_1000.npy", "sums_65536.npy"]


def test_a_file_that_does_not_fit_or_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", "reference: {sum: ans.npy}\n") == [
        "reference.sum: file not found: PROJECT/configs/ans.npy"
    ]
    said = refused(tmp_path / "b", "reference: {sum: {file: eight.bin}}\n")
    assert said == ["reference.sum.file: PROJECT/configs/eight.bin has 8 bytes and 8 elements of float32 need 32"]


@pytest.mark.parametrize(
    ("dtype", "rule", "is_refused"),
    [
        ("f4", "{}", False),
        ("f8", "{}", True),
        ("f8", "{order: any}", True),
        ("f2", "{}", True),
        ("f8", "{ulp: 0}", False),
        ("f8", "{metric: {max: 0.1}}", False),
        ("i8", "{}", False),
        ("f8", "{verify: reference.py:totals_agree}", False),
    ],
)
def test_a_file_of_another_precision_needs_a_tolerance(
    tmp_path: Path, dtype: str, rule: str, *, is_refused: bool
) -> None:
    place = project(tmp_path, reduce=f"{JOB}where: [n == 1000, tile == 128]\nreference: {{sum: sums.npz:a}}\n")
    np.savez(tmp_path / "configs" / "sums.npz", a=np.zeros(8, dtype), b=np.zeros(8))
    path = tmp_path / "configs" / "reduce.yaml"
    path.write_text(f"{path.read_text()}compare: {{sum: {rule}}}\n")
    if not is_refused:
        assert plan.make(place, []).cases
        return
    with pytest.raises(JobErrors) as caught:
        plan.make(place, [])
    assert "and sum is float32: two precisions are not equal to the bit; say how far apart" in str(caught.value)


TWIN = """\
reference:
  sum:
    buffer: wide
    launches: [{kernel: 'block_sum<double>', grid: [1], block: [1], args: [wide]}]
"""
WIDE = JOB.replace("launches:", "  wide: {dtype: float64, shape: [ceil(n / tile)]}\nlaunches:")


def test_a_twin_of_another_precision_needs_a_tolerance(tmp_path: Path) -> None:
    with pytest.raises(JobErrors) as caught:
        plan.make(project(tmp_path / "a", reduce=WIDE + TWIN), [])
    assert "wide is float64 and sum float32: two precisions are not equal to the bit" in str(caught.value)
    assert "reference.sum.buffer" in str(caught.value)
    case = plan.make(project(tmp_path / "b", reduce=WIDE + TWIN + "compare: {sum: {ulp: 2}}\n"), []).cases[0]
    assert case.reference_kernels["sum"].buffer == "wide"
    assert case.dump == ("sum",), "the twin is not written by the job's own launches"
    assert "wide of " in "\n".join(explain(case))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("buffer: wide", "buffer: wild"), "reference.sum.buffer: unknown buffer 'wild'; did you mean 'wide'?"),
        (("args: [wide]", "args: [sum]"), "reference.sum.launches: no launch takes wide, so it could not be sum's"),
        (("float64, shape: [ceil(n / tile)]", "float64, shape: [3]"), "reference.sum.buffer: wide has shape [3] and"),
        (("dtype: float64", "dtype: double2"), "reference.sum.buffer: wide is double2 and sum float32: their elements"),
        (("dump: [sum]", "checks: {wide: [finite]}"), "checks.wide: wide is written by the launches of a reference"),
    ],
)
def test_what_is_no_twin(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = WIDE + TWIN + "compare: {sum: {ulp: 2}}\ndump: [sum]\n"
    assert change[0] in text
    with pytest.raises(JobErrors) as caught:
        plan.make(project(tmp_path, reduce=text.replace(*change)), [])
    assert message in str(caught.value)


def test_accuracy_is_that_of_floats_in_their_places(tmp_path: Path) -> None:
    good = "reference: {sum: {python: reference.py:block_sums, improves: true}}\n"
    case = first(tmp_path / "a", good)
    assert case.improves == ("sum",)
    assert "reports its accuracy" in "\n".join(explain(case))
    (said,) = refused(tmp_path / "b", f"{good}compare: {{sum: {{order: any}}}}\n")
    assert said.startswith("reference.sum.improves: sum is compared in any order")
    whole = JOB.replace("sum: {dtype: float32", "sum: {dtype: int32")
    with pytest.raises(JobErrors, match="sum is int32: accuracy is counted in ulp"):
        plan.make(project(tmp_path / "c", reduce=whole + good), [])


def test_show_says_what_a_reference_is(tmp_path: Path) -> None:
    reported = "\n".join(explain(first(tmp_path, NAIVE)))
    assert "naive.cu; |actual - expected| <= 0 + 1e-06 * |expected|, in any order" in reported
    assert "naive<<<(1,1,1),(1,1,1),0>>>(sum=<32>, x=<4000>, n=1000)" in reported


PYTHON = """\
reference:
  sum:
    source: ../kernels/k.py:naive
    language: triton
    signature: {y: "*fp32", x: "*fp32", n: i32}
    constants: {TILE: tile, NONE: null}
    num_warps: 1
    launches: [{grid: [1], args: [sum, x, {int32: n}]}]
"""


def with_python(root: Path, gold: str) -> Case:
    (root / "kernels").mkdir(parents=True)
    text = "def naive(y, x, n, TILE: tl.constexpr, NONE: tl.constexpr): ...\n"
    (root / "kernels" / "k.py").write_text(text)
    (root / "kernels" / "naive.cu").write_text("__global__ void naive(float* sum, const float* x, int n) {}\n")
    return plan.make(project(root, reduce=JOB + gold), []).cases[0]


def test_a_kernel_in_python_is_a_reference_of_cxx(tmp_path: Path) -> None:
    case = with_python(tmp_path, PYTHON)
    gold = case.reference_kernels["sum"]
    types = {"y": "*fp32", "x": "*fp32", "n": "i32"}
    constants: dict[str, bool | int | float | str | None] = {"TILE": 128, "NONE": None}
    assert gold.source.python == PythonKernel("triton", "naive", types, constants, {"num_warps": 1})
    (launch,) = gold.launches
    assert (launch.kernel, launch.block, case.source.python) == ("naive", (32, 1, 1), None)
    assert "triton: y: *fp32, x: *fp32, n: i32, TILE=128, NONE=None, num_warps=1" in "\n".join(explain(case))


def test_settings_of_a_language_belong_to_a_source_in_python(tmp_path: Path) -> None:
    named = PYTHON.replace("[{grid", "[{kernel: naive, grid")
    with pytest.raises(JobErrors, match=r"reference.sum.language: is for kernels in Python, and .* naive.cu"):
        with_python(tmp_path / "a", named.replace("k.py:naive", "naive.cu"))
    with pytest.raises(
        JobErrors, match=r"reference.sum.language: belongs to a source: name it in reference.sum.source"
    ):
        with_python(tmp_path / "b", named.replace("    source: ../kernels/k.py:naive\n", ""))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("    language: triton\n", "", "reference.sum.source: unsupported kernel source k.py"),
        (", n: i32", "", "reference.sum.signature: parameter 'n' of naive has no type"),
        ('"*fp32", x', '"*fp64", x', "reference.sum.launches[0].args[0]: sum is float32, and signature.y is *fp64"),
        ("k.py:naive", "naive.cu", "reference.sum.launches[0].kernel: missing key"),
        ("    source: ../kernels/k.py:naive\n", "", "reference.sum.launches[0].kernel: missing key"),
        ("[{grid", "[{num_warps: 2, grid", "launches[0].num_warps: a reference has one kernel in Python: say it in"),
        ("launches: [{grid: [1], args: [sum, x, {int32: n}]}]", "python: r.py:f", "language belongs to launches:"),
    ],
)
def test_mistakes_of_a_reference_in_python(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in PYTHON
    with pytest.raises(JobErrors) as caught:
        with_python(tmp_path, PYTHON.replace(before, after, 1))
    assert message in str(caught.value)
