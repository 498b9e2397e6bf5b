"""Jobs whose kernels are written in CuTe DSL, TileLang or Warp, most of them without these languages."""

from __future__ import annotations

import json
import shutil
from importlib import util
from pathlib import Path

import pytest

from gpuregress.foundation.records import CompiledLaunch, Source, WarpLaunch, WarpParameter
from gpuregress.jobs import plan
from gpuregress.store import project
from gpuregress.toolchain import programs
from gpuregress.toolchain.python_kernels import compiler, source_inputs
from tests.workshop import RUN, Workshop

ROOT = Path(__file__).parents[2]
NORMALS = CompiledLaunch(
    block=(256, 1, 1),
    shared=0,
    entry="normals_cuda_kernel_forward",
    warp=WarpLaunch(
        2,
        (
            WarpParameter("out", "float32", 2, (3,)),
            WarpParameter("field", "float32", 2),
            WarpParameter("spacing", "float32"),
        ),
    ),
)
"""What Warp 1.19 decides about the kernel of `kernels/warp/normals.py`, whose PTX is beside this file."""


def copied(shop: Workshop, language: str) -> None:
    shutil.rmtree(shop.root / "configs")
    for folder in (f"configs/{language}", f"kernels/{language}"):
        shutil.copytree(ROOT / folder, shop.root / folder)
    for baseline in (ROOT / "baselines").glob(f"{language}-*"):
        shutil.copytree(baseline, shop.root / "baselines" / baseline.name)


def results(shop: Workshop) -> dict[str, tuple[str, str]]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["case"]: (case["verdict"], case["reason"]) for case in document["cases"]}


def build_normals(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the programs of the Warp job into a cache, as a host with Warp does."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(shop.root / "cache"))
    ptx = (Path(__file__).parent / "warp_normals.ptx").read_text()

    def compiled(source: Source) -> compiler.CompiledPython:
        assert source.python is not None
        return compiler.CompiledPython(ptx, NORMALS, "warp-lang 1.19.0")

    with monkeypatch.context() as there:
        there.setattr(compiler, "compile_source", compiled)
        there.setattr(compiler, "version", lambda _language: "1.19.0")
        there.setattr(source_inputs, "packages", lambda _files: {"warp": "1.19.0"})
        for case in plan.make(project.find(shop.root), []).cases:
            programs.make(case.sources[0])


@pytest.mark.slow
@pytest.mark.parametrize("language", ["cute", "tilelang", "warp"])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_jobs_agree_with_their_baselines(shop: Workshop, language: str, device: str) -> None:
    package = {"cute": "cutlass"}.get(language, language)
    if util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    copied(shop, language)
    assert shop.call("run", "--device", device).exit_code == 0
    assert {verdict for verdict, _ in results(shop).values()} == {"pass"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "package"),
    [("cute", "nvidia-cutlass-dsl"), ("tilelang", "tilelang"), ("warp", "'gpuregress[warp]'")],
)
def test_a_case_is_skipped_where_its_language_is_not_installed(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, language: str, package: str
) -> None:
    if util.find_spec({"cute": "cutlass"}.get(language, language)) is not None:
        pytest.skip("it is installed")
    copied(shop, language)
    monkeypatch.setenv("GPUREGRESS_CACHE", str(shop.root / "cache"))
    assert shop.call(*RUN).exit_code == 5, "nothing ran"
    for verdict, reason in results(shop).values():
        assert verdict == "skip"
        assert f"which is not installed: pip install {package}" in reason


def test_a_warp_kernel_that_was_built_elsewhere(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warp's PTX gets launch bounds and arrays as Warp lays them out: the results are those of the baseline."""
    copied(shop, "warp")
    build_normals(shop, monkeypatch)
    assert shop.call(*RUN).exit_code == 0
    assert {verdict for verdict, _ in results(shop).values()} == {"pass"}
    shop.write(
        "configs/warp/normals.yaml",
        (shop.root / "configs/warp/normals.yaml").read_text().replace("dim: [rows,", "dim: [rows + 1,"),
    )
    shop.call(*RUN)
    verdict, reason = results(shop)["warp-normals/rows=9,columns=33"]
    assert verdict == "fault"
    assert "out-of-bounds write of 4 bytes at out[891] (out has 891)" in reason
    assert "called at normals.py:21" in reason


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("dim: [rows, columns]", "dim: [rows]", ":12: launches[0].dim: normals takes 2 dimensions of wp.tid(), not 1"),
        ("dim: [rows, columns]", "repeat: 1", ":12: launches[0]: missing key dim: the threads of normals along each"),
        ("    args", "    grid: [1]\n    args", ":13: launches[0].grid: follows from dim, the threads along each axis"),
        (", {float32: 0.5}", "", ":13: launches[0].args: normals takes 3 arguments (out, field, spacing), not 2"),
        ("{float32: 0.5}", "{int32: 1}", ":13: launches[0].args[2]: int32 is given, and spacing of normals is float32"),
        ("[out,", "[{struct: [out]},", "args[0]: a struct is given: name a buffer, and out of normals is an array of"),
        (
            "columns, 3]",
            "columns, 4]",
            "out is float32 of shape [9, 33, 4], and out of normals is an array of float32 with 2",
        ),
        (
            "field: {dtype: float32",
            "field: {dtype: float64",
            "field is float64 of shape [9, 33], and field of normals is an array of float32 with 2 dimensions",
        ),
        ("language: warp", "language: warp\nsignature: {out: f}", ":5: signature: is for Triton and Numba: a Warp"),
        ("language: warp", "language: numba", ".dim: is for language: warp; other kernels take grid and block"),
    ],
)
def test_what_is_wrong_with_a_launch_of_a_warp_kernel(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, before: str, after: str, message: str
) -> None:
    copied(shop, "warp")
    build_normals(shop, monkeypatch)
    path = shop.root / "configs/warp/normals.yaml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    assert message in shop.fails(2, "check")
