"""A case, its outcome, its baseline and comparisons, for the tests of verdicts."""

from __future__ import annotations

from typing import Any

from gpuregress.foundation.records import Baseline, Case, Comparison, DeviceInfo, Dump, MadeOf, Outcome, Source, Verdict
from gpuregress.gpu.records import replace

FACTS = MadeOf(
    "5eed", {"x": "aa", "y": "bb"}, 42, "nvrtc 13.4.1", ("-lineinfo",), "pinned", "sm_90", "H200", "570", ("k()",)
)
CPU = DeviceInfo("cpu", "virtual sm_90", "sm_90", "", 0)
GPU = DeviceInfo("cuda:0", "NVIDIA H200", "sm_90", "", 0)


def make_case(**more: Any) -> Case:
    case = Case("reduce", "reduce/n=8", "/p/r.yaml", {}, Source("/p/k.cu"), "1.5", "5eed", 42, {}, (), ("sum",), {})
    return replace(case, **more)


def make_baseline(*buffers: str, arch: str = "") -> Baseline:
    dumps = {name: Dump(name, f"/b/{name}.1.4", "float32", (8,), "aa", "bb") for name in buffers or ("sum",)}
    return Baseline("reduce/n=8", "/b/baseline.yaml", "1.4", FACTS, dumps, (), arch=arch)


def done(**more: Any) -> Outcome:
    return Outcome(
        "reduce/n=8", "done", dumps=(Dump("sum", "/r/sum.1.5", "float32", (8,), "a", "b"),), seconds=0.5, **more
    )


def against(what: str = "baseline", *, same: bool = True, message: str = "") -> Comparison:
    return Comparison("sum", what, "", same, same, 8, differing=0 if same else 3, message=message)


def text(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.status, verdict.reason, verdict.exit_code
