"""Gold standards: their three forms, and the arguments of their kernels."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from gpuregress import plan
from gpuregress.plan.explain import explain
from gpuregress.records import Case, Entry, Parameter, Program, Rule, from_json, to_json
from tests.plan.projects import JOB, project

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
    source = dataclasses.replace(case.source, kernels=("block_sum<double>",))
    assert case.reference_kernels["sum"].source == source


def test_arguments_are_held_against_the_references_own_signature(tmp_path: Path) -> None:
    case = first(tmp_path, NAIVE)
    good = Program("", "", "", {"naive": Entry("naive", (POINTER, POINTER, INTEGER))}, {}, "", (), "")
    assert plan.check_reference(case, "sum", good) == ()
    bad = dataclasses.replace(good, entries={"naive": Entry("naive", (POINTER, INTEGER, INTEGER))})
    (error,) = plan.check_reference(case, "sum", bad)
    assert error.key == "reference.sum.launches[0].args[1]"
    assert error.line == 19
    assert "the buffer x is a pointer and parameter 'n' is an integer of 4 bytes" in error.message
    assert "naive(float* sum, const float* x, int n)" in error.message


def test_show_says_what_a_reference_is(tmp_path: Path) -> None:
    reported = "\n".join(explain(first(tmp_path, NAIVE)))
    assert "naive.cu; |actual - baseline| <= 0 + 1e-06 * |baseline|, in any order" in reported
    assert "naive<<<(1,1,1),(1,1,1),0>>>(sum=<32>, x=<4000>, n=1000)" in reported
