"""Jobs from the arguments of Kernel Tuner's tune_kernel: whole calls."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import gpuregress
from gpuregress.foundation.records import Launch

SOURCE = """
template <typename Real>
__global__ void add(Real *c, const Real *a, const Real *b, int n)
{
    int i = (blockIdx.x * block_size_x + threadIdx.x) * per_thread;
    for (int k = i; k < i + per_thread; ++k)
        if (k < n) c[k] = a[k] + b[k];
}
"""
A = np.linspace(0, 1, 1000, dtype=np.float32)
B, C, N = A[::-1].copy(), np.zeros(1000, np.float32), np.int32(1000)
SPACE: dict[str, Any] = {"block_size_x": [32, 64, 2048], "per_thread": [1, 4]}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").mkdir()
    monkeypatch.chdir(tmp_path)


def made(**changes: Any) -> gpuregress.Job:
    given: dict[str, Any] = {
        "kernel_name": "add<float>",
        "kernel_source": SOURCE,
        "problem_size": 1000,
        "arguments": [C, A, B, N],
        "tune_params": SPACE,
        "grid_div_x": ["block_size_x", "per_thread"],
        **changes,
    }
    return gpuregress.from_kernel_tuner(**given)


def written(job: gpuregress.Job) -> Any:
    return yaml.safe_load(job.path.read_text())


def launch(case: gpuregress.Case) -> Launch:
    return case.launches[0]


def test_each_configuration_is_a_case_with_its_grid_and_block(tmp_path: Path) -> None:
    job = made(answer=[A + B, None, None, None])
    assert [(launch(case).grid, launch(case).block) for case in job][:4] == [
        ((32, 1, 1), (32, 1, 1)), ((8, 1, 1), (32, 1, 1)), ((16, 1, 1), (64, 1, 1)), ((4, 1, 1), (64, 1, 1))
    ]  # fmt: skip
    text = written(job)
    assert text["launches"][0]["grid"] == ["ceil(1000 / (block_size_x * per_thread))"]
    assert text["compile"] == {"defines": ["block_size_x", "per_thread", {"kernel_tuner": 1}]}
    assert text["compare"] == {"c": {"rtol": 1e-5, "atol": 1e-6}}
    assert (text["dump"], text["infeasible"], "agree" in text) == (["c"], "skip", False)
    assert np.array_equal(np.load(tmp_path / "configs/add/c.answer.npy"), A + B)


def test_the_cases_run_and_a_wrong_configuration_is_found() -> None:
    job = made(kernel_source=SOURCE.replace("k < n)", "k < n - (per_thread == 4))"), answer=[A + B, None, None, None])
    results = gpuregress.run(
        [job["block_size_x=64,per_thread=1"], job["block_size_x=64,per_thread=4"], job[5]], device="cpu"
    )
    assert [result.status for result in results] == ["pass", "differ", "skip"]


def test_functions_and_pythons_own_expressions_are_tabulated() -> None:
    job = made(
        tune_params={"block_size_x": [32, 64], "per_thread": [1, 2, 4], "variant": ["a", "b+c"]},
        restrictions=["block_size_x in (32, 64)", lambda p: p["per_thread"] != 2, "per_thread * block_size_x <= 128"],
        grid_div_x=[lambda p: p["per_thread"] * 100],
        problem_size=lambda p: 1000 * p["per_thread"] if p["variant"] == "a" else 500,
    )
    text = written(job)
    assert {(case.parameters["block_size_x"], case.parameters["per_thread"]) for case in job} == {
        (32, 1),
        (64, 1),
        (32, 4),
    }
    assert "per_thread * block_size_x <= 128" in text["where"]
    assert {case.parameters["variant"]: launch(case).grid[0] for case in job if case.parameters["per_thread"] == 1} == {
        "a": 10, "b+c": 5
    }  # fmt: skip
    assert text["agree"] == ["block_size_x", "per_thread", "variant"]


def test_constants_shared_memory_macros_and_options() -> None:
    source = (
        "__constant__ float k[4];\n__global__ void f(float *y) { y[threadIdx.x] = k[0] * grid_size_x * block_size_y; }"
    )
    job = made(
        kernel_name="f",
        kernel_source=source,
        arguments=[C],
        tune_params={"BLOCK_SIZE_X": [32, 64]},
        grid_div_x=None,
        cmem_args={"k": np.ones(4, np.float32)},
        smem_args={"size": "BLOCK_SIZE_X * 4"},
        compiler_options=["--use_fast_math"],
    )
    text = written(job)
    assert text["buffers"]["k"]["symbol"] == "k"
    assert text["compile"]["options"] == ["--use_fast_math"]
    assert text["compile"]["defines"][1] == {
        "kernel_tuner": 1, "grid_size_x": "ceil(1000 / BLOCK_SIZE_X)", "block_size_y": 1
    }  # fmt: skip
    assert [launch(case).shared for case in job] == [128, 256]


def test_an_answer_of_another_shape_needs_a_function(tmp_path: Path) -> None:
    (tmp_path / "configs/sums.py").write_text("def agrees(expected, actual):\n    return True\n")
    text = written(made(answer=[np.float32(3), None, None, None], verify="sums.py:agrees"))
    assert text["verify"] == {"c": "sums.py:agrees"}
    with pytest.raises(gpuregress.UsageError, match=r"c has the shape \[1000\] and its answer \[\]: pass verify="):
        made(answer=[np.float32(3), None, None, None])


def test_a_constant_that_is_called_as_a_parameter_is_a_buffer_of_its_own(tmp_path: Path) -> None:
    buffers = written(made(cmem_args={"a": np.ones(4, np.float32)}))["buffers"]
    assert (buffers["a"]["shape"], buffers["a_constant"]["shape"], buffers["a_constant"]["symbol"]) == (
        [1000],
        [4],
        "a",
    )
    assert np.load(tmp_path / "configs/add/a.npy").shape == (1000,)


def test_what_only_concerns_measurements_is_ignored_and_parameters_that_never_vary_do_not_agree() -> None:
    job = made(iterations=32, verbose=True, strategy="brute_force", restrictions=["block_size_x == 32"])
    assert written(job)["agree"] == ["per_thread"]
    assert "agree" not in written(made(restrictions=["block_size_x == 32", "per_thread == 1"]))


def test_a_job_that_cannot_be_loaded_leaves_everything_as_it_was(tmp_path: Path) -> None:
    def files() -> dict[str, bytes]:
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    wrong: dict[str, Any] = {"agree": ["nothing"], "answer": [A + B, None, None, None]}
    with pytest.raises(gpuregress.JobErrors, match="nothing"):
        made(**wrong)
    assert list((tmp_path / "configs").iterdir()) == []
    made()
    before = files()
    assert len(before) == 5
    with pytest.raises(gpuregress.JobErrors, match="nothing"):
        made(**{**wrong, "arguments": [C, B, A, N]})
    assert files() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arguments": [C, A, B, 1000]}, "n is 1000: pass a numpy array, or a number as numpy.int32"),
        ({"answer": [C]}, "answer has 1 entries; the kernel takes 4 arguments"),
        ({"restrictions": "False"}, "restrictions leave no configuration"),
        ({"restrictions": [3]}, "3 is neither an expression nor a function"),
        ({"verify": lambda *_: True}, "is a function of Kernel Tuner's form"),
        ({"texmem_args": {"t": C}}, "texmem_args: write a `texture:`"),
        ({"lang": "OpenCL"}, "lang is OpenCL: a job is for CUDA"),
        ({"kernel_source": lambda _params: SOURCE}, "kernel_source is a function"),
        ({"kernel_source": "missing.cu"}, "there is no file missing.cu"),
        ({"answr": [A]}, "unknown argument 'answr'; did you mean 'answer'"),
        ({"kernel_name": 3}, "kernel_name is 3: expected text"),
        ({"kernel_source": []}, "expected a path or the text of a kernel"),
        ({"answer": [A, None, None, 3]}, "argument 3 is a number, which no kernel writes"),
        ({"verify": "x.py:f"}, "verify compares with the answer, and there is none"),
        ({"smem_args": {"sise": 3}}, "smem_args has 'sise', and no 'size'"),
        ({"smem_args": {"size": "blok"}}, "smem_args: cannot evaluate 'blok': unknown parameter 'blok'"),
        ({"compiler_options": "-w"}, "compiler_options is '-w': pass a list of options"),
        ({"atol": None}, "atol is None: expected a number"),
        ({"defines": {"N": lambda _params: 3}}, "a function of the configuration"),
    ],
)
def test_what_no_job_can_say_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(gpuregress.UsageError, match=words):
        made(**changes)


def test_grids_and_blocks_are_kernel_tuners() -> None:  # tests/lab/kernel_tuner/test_thread_grid.py has its rules
    util = pytest.importorskip("kernel_tuner.util", reason="Kernel Tuner needs scikit-learn and pandas")
    space = {"block_size_x": [16, 32], "block_size_y": [2, 4], "tile": [1, 2, 3]}
    divisors: tuple[Any, Any, Any] = (["block_size_x", "tile"], "block_size_y * 2", None)
    names = ["block_size_x", "block_size_y", "block_size_z"]
    source = "__global__ void f(float *y) { if (threadIdx.x == 0) y[0] = tile; }"
    job = gpuregress.from_kernel_tuner(
        "f", source, (1000, "tile * 100", 3), [C], space, *divisors, ["block_size_x * tile != 48"]
    )
    configurations = (dict(zip(space, values, strict=True)) for values in itertools.product(*space.values()))
    expected = {
        tuple(one.items()): (
            util.get_grid_dimensions(util.get_problem_size((1000, "tile * 100", 3), one), one, divisors, names),
            util.get_thread_block_dimensions(one),
        )
        for one in configurations
        if util.check_restriction("block_size_x * tile != 48", one)
    }
    assert {tuple(case.parameters.items()): (launch(case).grid, launch(case).block) for case in job} == expected
