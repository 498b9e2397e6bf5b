from __future__ import annotations

from pathlib import Path

from gpuregress import plan
from gpuregress.plan.explain import explain
from gpuregress.project import Project
from gpuregress.records import Case
from tests.plan.projects import JOB, project

FULL = (
    JOB
    + """
compile:
  options: [-lineinfo]
  include: [../kernels/include]
  defines: {TILE: tile, HALF: n / 2, T: {text: float}, ON: }
seed: 42
where: [tile <= n, not (n > 1000 and tile == 256)]
compare: {sum: {rtol: 1.0e-5, order: any}}
checks: {sum: [finite, {nonzero: 8}, {range: [-1.0e3, .inf]}, {sum: {value: n, rtol: 1e-3}}]}
status: d_status
reference: {sum: "../configs/reference.py:block_sums"}
verify: {sum: "reference.py:totals_agree"}
repeat: 3
limits: {timeout: 2min, memory: 4GiB}
tags: [quick, 1.10]
expect: {fault: out-of-bounds}
timing: {warmup: 1, samples: 5}
resources: {registers: 64, spills: 0}
"""
)


def only(place: Project, *selectors: str) -> Case:
    (case,) = plan.make(place, selectors).cases
    return case


def test_explain_says_every_number(tmp_path: Path) -> None:
    place = project(tmp_path, reduce=FULL)
    text = "\n".join(explain(only(place, "reduce/n=1000,tile=128")))
    assert "block_sum<float><<<(8,1,1),(128,1,1),512>>>(sum=<32>, x=<4000>, n=1000)" in text
    assert "x: float32 [1000], 4000 bytes, normal (mean 0.0, std 2.0), seed " in text
    assert "-DTILE=128" in text
    assert "{" not in text.replace("{n", "")
