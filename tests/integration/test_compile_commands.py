"""A project whose settings name the compilation database of its build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.jobs import plan
from gpuregress.store import project
from tests import workshop
from tests.workshop import RUN, Workshop

KERNEL = """\
#include "factor.h"
extern "C" __global__ void scale(float *out, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * BIAS * x[i];
}
"""


def write(shop: Workshop, words: str) -> None:
    entry = {"directory": str(shop.root / "build"), "command": f"nvcc {words} -c k.cu", "file": "../kernels/scale.cu"}
    shop.write("build/compile_commands.json", json.dumps([entry]))


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = workshop.make(tmp_path)
    made.write("gpuregress.yaml", "compile: {commands: build/compile_commands.json}\n")
    made.write("kernels/scale.cu", KERNEL)
    made.write("inc/factor.h", "#define FACTOR 2\n")
    made.write("other/factor.h", "#define FACTOR 3\n")
    write(made, "-I ../inc -DBIAS=1")
    return made


def dump(shop: Workshop) -> str:
    (path,) = (shop.root / "runs/latest/dumps/scale").rglob("out.*")
    return path.read_text().splitlines()[-1].split()[-1]


def test_jobs_are_compiled_with_the_options_of_the_build(shop: Workshop) -> None:
    assert "1 new" in shop.call(*RUN).stdout
    assert float(dump(shop)) == 198.0
    write(shop, "-I ../inc -DBIAS=2")
    shop.call(*RUN)
    assert float(dump(shop)) == 396.0
    write(shop, "-I ../other -DBIAS=2")
    shop.call(*RUN)
    assert float(dump(shop)) == 594.0


def test_what_a_job_has_itself_wins(shop: Workshop) -> None:
    shop.job(("source:", "compile: {include: [../other], defines: {BIAS: 5}}\nsource:"))
    shop.call(*RUN)
    assert float(dump(shop)) == 1485.0
    write(shop, "-I ../inc -DBIAS=1 --fmad=false -std=c++20")
    shop.job(("source:", "variants: {fmad: [on, off]}\ncompile: {options: [-std=c++17]}\nsource:"))
    (case,) = plan.make(project.find(shop.root), []).cases
    assert case.source.options == ("-std=c++17",)
    assert case.variants is not None
    assert case.variants.sources["fmad=off"][0].options == ("-std=c++17", "--fmad=false")


def test_a_reference_is_compiled_with_its_own_entry(shop: Workshop) -> None:
    reference = shop.write("kernels/trusted.cu", KERNEL.replace("scale", "trusted"))
    entries = json.loads((shop.root / "build/compile_commands.json").read_text())
    entries.append({**entries[0], "command": "nvcc -I ../other -DBIAS=1", "file": str(reference)})
    shop.write("build/compile_commands.json", json.dumps(entries))
    launch = "{kernel: trusted, grid: [ceil(n / 32)], block: [32], args: [out, x, {float32: 2.0}, {int32: n}]}"
    shop.job(("source:", f"reference: {{out: {{source: ../kernels/trusted.cu, launches: [{launch}]}}}}\nsource:"))
    output = shop.call(*RUN).stdout
    assert "reference: 99 of 100 differ" in output


def test_a_database_that_is_not_there_is_an_error(shop: Workshop) -> None:
    (shop.root / "build/compile_commands.json").unlink()
    message = shop.fails(2, *RUN)
    assert "build/compile_commands.json cannot be read: No such file or directory; the build writes it" in message
    shop.write("gpuregress.yaml", "compile: {commands: 3}\n")
    assert "gpuregress.yaml:1: compile.commands: expected a file" in shop.fails(2, *RUN)
    shop.write("gpuregress.yaml", "compile: {include: [x]}\n")
    assert "compile.include" in shop.fails(2, *RUN)


def test_a_draft_has_the_options_and_runs_without_the_settings(shop: Workshop) -> None:
    settings = shop.root / "gpuregress.yaml"
    text = settings.read_text()
    settings.unlink()
    (shop.root / "configs/scale.yaml").unlink()
    source = str(shop.root / "kernels/scale.cu")
    commands = str(shop.root / "build/compile_commands.json")
    result = shop.call("new", source, "--compile-commands", commands, "--device", "cpu")
    assert f"compile options from {commands} (entry 1, scale.cu): -I {shop.root}/inc -DBIAS=1" in result.stdout
    job = (shop.root / "configs/scale.yaml").read_text()
    assert f"compile: {{include: [../inc], defines: {{BIAS: 1}}}}   # from {commands}" in job
    assert "new      scale/" in result.stdout
    settings.write_text(text)
    (shop.root / "configs/scale.yaml").unlink()
    assert "compile options from " in shop.call("new", source, "--no-run").stdout
    assert "defines: {BIAS: 1}" in (shop.root / "configs/scale.yaml").read_text()
    wrong = shop.fails(2, "new", str(shop.write("a.py", "x = 1\n")), "--compile-commands", commands)
    assert "--compile-commands is for CUDA C++" in wrong
