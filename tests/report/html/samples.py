"""Runs whose pages are looked at: with pictures, with many failures, with texts that try to be HTML."""

from __future__ import annotations

from typing import Any

from gpuregress.foundation.records import BufferVerdict, ErrorMaps, Finding, RunSummary, UlpFigures, Verdict
from gpuregress.gpu.records import replace
from gpuregress.judge import parameter_spaces
from gpuregress.report import json_report
from tests.report import samples
from tests.report.html.test_pictures import image

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\x1b[31m\u202e"
WORST = replace(samples.WORST, index=2)


def drawn(text: str = "out", shape: tuple[int, ...] = (2, 2)) -> Verdict:
    """A case that differs in a buffer with a picture."""
    size = 1
    for extent in shape:
        size *= extent
    values = [[0.0] * shape[-1] for _ in range(size // shape[-1])]
    wrong = [list(row) for row in values]
    wrong[-1][0] = 0.25
    figures = UlpFigures(
        max_abs=0.25,
        max_rel=1.0,
        misplaced_nan_or_inf=0,
        worst={},
        worst_thread="block 0, thread 2",
        error_maps=ErrorMaps(image=replace(image(values, wrong), shape=shape)),
        max_ulp=3.0,
        ulp_histogram=(("3-4", 1),),
    )
    comparison = replace(
        samples.DIFFERENT, buffer=text, worst=WORST, first=(WORST,), figures=figures, of=size, differing=1
    )
    same = replace(comparison, against="reference")
    buffer = BufferVerdict(text, "differ", f"/p/{text}.2", f"/p/{text}.1", (comparison, same))
    return samples.verdict("differ", buffers=(buffer,), reason=f"{text}: 1 of {size} differ")


def many(passing: int, failing: int, jobs: int = 10, pictures: int = 200) -> RunSummary:
    """Cases of several jobs; the failing ones of each job have three causes, and the first ones pictures."""
    model = drawn("result", (64, 64))
    (buffer,) = model.buffers
    verdicts = []
    for number in range(passing + failing):
        job, case = f"kernel_{number % jobs}", f"kernel_{number % jobs}/n={number},tile={number % 32},real=float"
        parameters = {"n": number, "tile": number % 32}
        names: dict[str, Any] = {"job": job, "case": case, "parameters": parameters, "revision": "1.4a7bd3"}
        if number >= failing:
            verdicts.append(samples.verdict("pass", **names))
            continue
        finding = Finding(("tail", "factor", "zeros")[number % 3], f"all {number} differing elements are 1/10")
        (first, _) = buffer.comparisons
        compared = replace(first, findings=(finding,))
        if number >= pictures:
            compared = replace(compared, figures=samples.DIFFERENT.figures)
        varied = replace(buffer, comparisons=(compared,))
        reason = f"result: {number} of 4096 differ; all are 1/10 of what they should be"
        names["cause"] = f"differ: result ({finding.pattern})"
        verdicts.append(samples.verdict("differ", buffers=(varied,), reason=reason, exit_code=1, **names))
    spaces = parameter_spaces.summarize(verdicts) if len(verdicts) < 1000 else ()
    return replace(samples.summary(), verdicts=tuple(verdicts), spaces=spaces, host="alpha", commit="8eb0c1f" * 5)


def entry(verdict: Verdict) -> dict[str, Any]:
    """A case as results.json has it."""
    found: dict[str, Any] = json_report.finite(json_report.case_document(verdict))
    return found
