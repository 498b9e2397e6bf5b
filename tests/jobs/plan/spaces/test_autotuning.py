from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CompileError, JobErrors, MissingCompiler, NothingToDo
from gpuregress.foundation.records import Case, PythonKernel, from_json, to_json
from gpuregress.jobs import plan
from gpuregress.toolchain.python_kernels import autotuning
from gpuregress.toolchain.python_kernels.autotuning import Configuration
from tests.jobs.plan.projects import project

KERNEL = """\
@triton.autotune(configs=CONFIGS, key=[])
@triton.heuristics({"EVEN": lambda args: True})
@triton.jit
def scale(y, n, BLOCK: tl.constexpr, NONE: tl.constexpr, EVEN: tl.constexpr): ...
@triton.jit
def plain(y, n): ...
"""
JOB = """\
source: ../kernels/k.py:scale
language: triton
signature: {y: "*fp32", n: "i32"}
buffers: {y: {dtype: float32, shape: [64]}}
launches: [{grid: [ceil(64 / BLOCK)], args: [y, {int32: 60}]}]
"""
LIST = tuple(
    Configuration("scale", {"BLOCK": block, "NONE": None}, {"num_warps": warps, "num_stages": 3})
    for block, warps in ((32, 1), (64, 1), (64, 2))
)


@pytest.fixture(autouse=True)
def configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autotuning, "configurations", lambda _path, _function, _arch: LIST)


def cases(root: Path, text: str = JOB, more: str = "") -> tuple[Case, ...]:
    made = project(root, job=text + more)
    (root / "kernels" / "k.py").write_text(KERNEL)
    return plan.make(made, []).cases


def names(root: Path, text: str = JOB, more: str = "") -> list[str]:
    return [
        case.name.removeprefix("job/").replace(",NONE=None", "").replace(",num_stages=3", "")
        for case in cases(root, text, more)
    ]


ALL = ["BLOCK=32,num_warps=1", "BLOCK=64,num_warps=1", "BLOCK=64,num_warps=2"]


def test_each_configuration_is_a_case(tmp_path: Path) -> None:
    planned = cases(tmp_path)
    assert planned[0].name == "job/BLOCK=32,NONE=None,num_warps=1,num_stages=3"
    types: dict[str, str] = {"y": "*fp32", "n": "i32"}
    arguments: dict[str, bool | int | float | tuple[int, ...] | None] = {"y": (64,), "n": 60}
    wanted = PythonKernel("triton", "scale", types, LIST[0].constants, LIST[0].settings, arguments)
    assert planned[0].source.python == wanted
    assert [case.launches[0].grid[0] for case in planned] == [2, 1, 1]
    assert {case.settings.agree for case in planned} == {("BLOCK", "NONE", "num_warps", "num_stages")}
    assert from_json(Case, to_json(planned[0])) == planned[0]


def test_selection_and_agreement(tmp_path: Path) -> None:
    assert names(tmp_path / "a", more="where: [BLOCK == 64 and num_warps < 2]\n") == [ALL[1]]
    assert names(tmp_path / "b", more="autotune: [2, 0]\n") == [ALL[2], ALL[0]]
    assert names(tmp_path / "c", more="parameters: {seeded: [1]}\n") == [f"seeded=1,{one}" for one in ALL]
    assert {one.settings.agree for one in cases(tmp_path / "d", more="agree: []\n")} == {()}
    assert {one.settings.agree for one in cases(tmp_path / "e", more="agree: [num_warps]\n")} == {("num_warps",)}
    reference = "reference: {y: {file: ../../answers.npy}}\n"
    np.save(tmp_path / "answers.npy", np.zeros(64, np.float32))
    assert {one.settings.agree for one in cases(tmp_path / "f", more=reference)} == {()}


def test_the_job_decides(tmp_path: Path) -> None:
    own = JOB.replace("ceil(64 / BLOCK)", "2")
    constants = "constants: {BLOCK: 32, NONE: null}\n"
    assert names(tmp_path / "a", own, constants) == ["job"]
    (case,) = cases(tmp_path / "b", own, f"{constants}autotune: off\n")
    assert case.source.python is not None
    assert case.source.python.constants == {"BLOCK": 32, "NONE": None}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("autotune: [3]\n", "autotune[0]: is 3, and scale has 3 configurations, counted from 0"),
        ("autotune: []\n", "autotune: expected all, off, or a list of configurations, counted from 0; got a list"),
        ("autotune: [true]\n", "autotune: expected all, off, or a list"),
        ("parameters: {BLOCK: [1]}\n", "parameters.BLOCK: 'BLOCK' is a parameter of scale's configurations, too"),
        ("num_warps: 4\n", "parameter 'BLOCK' of scale has no value"),
        ("agree: [blocks]\n", "agree[0]: unknown parameter 'blocks'; there are: BLOCK, NONE, num_warps"),
        ("autotune: all\nconstants: {BLOCK: 32, NONE: 1}\n", "autotune: has no effect"),
    ],
)
def test_mistakes(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(JobErrors) as caught:
        cases(tmp_path, more=more)
    assert message in str(caught.value)


def test_a_list_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise CompileError("k.py cannot be imported")

    monkeypatch.setattr(autotuning, "configurations", fail)
    with pytest.raises(JobErrors) as caught:
        cases(tmp_path)
    (error,) = caught.value.errors
    assert error.message == "the configurations of scale cannot be read: k.py cannot be imported"


def test_without_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingCompiler("k.py needs triton")

    monkeypatch.setattr(autotuning, "configurations", missing)
    with pytest.raises(JobErrors, match=r"source: its configurations are not known: k\.py needs triton"):
        cases(tmp_path / "a")
    made = project(tmp_path / "b", job=JOB + "infeasible: skip\n")
    (tmp_path / "b" / "kernels" / "k.py").write_text(KERNEL)
    with pytest.raises(NothingToDo, match=r"no case is left.*\njob: none of its cases is run: k\.py needs triton"):
        plan.make(made, [])
    (tmp_path / "b" / "configs" / "other.yaml").write_text(
        JOB.replace("k.py:scale", "k.py:plain").replace("64 / BLOCK", "8")
    )
    planned = plan.make(made, [])
    assert ([case.job for case in planned.cases], len(planned.notes)) == (["other"], 1)


def test_heuristics_need_the_same_arguments(tmp_path: Path) -> None:
    text = JOB.replace("}]}]", "}]}, {grid: [1], args: [y, {int32: 61}]}]")
    with pytest.raises(
        JobErrors, match=r"launches\[1\].args: differ from those of launches\[0\], and heuristics of scale"
    ):
        cases(tmp_path, text)
