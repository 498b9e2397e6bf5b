"""A run with one verdict of each kind, and awkward texts in it."""

from __future__ import annotations

from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    Element,
    ErrorFigures,
    Fault,
    Finding,
    Outcome,
    RunSummary,
    Verdict,
)

WORST = Element(5, "", "1.25", "1.5", 0.25, 0.2, 2097152)
DIFFERENT = Comparison(
    "sum",
    "baseline",
    "every bit equal",
    same=False,
    identical=False,
    of=8,
    differing=3,
    worst=WORST,
    first=(WORST,),
    findings=(Finding("tail", "the tail from element 5 on"),),
    figures=ErrorFigures(
        max_abs=float("inf"),
        max_rel=float("nan"),
        misplaced_nan_or_inf=0,
        worst={},
        worst_thread="block (1,0,0), thread (5,0,0)",
    ),
)


def verdict(status: str, **changes: object) -> Verdict:
    values: dict[str, object] = {
        "job": "reduce",
        "case": f"reduce/{status}",
        "status": status,
        "seconds": 0.25,
        "exit_code": 0,
    }
    return Verdict(**{**values, **changes})  # type: ignore[arg-type]  # keyword by keyword


def summary() -> RunSummary:
    buffer = BufferVerdict(
        "sum", "differ", "/p/runs/r/dumps/reduce/sum.1.5", "/p/baselines/reduce/sum.1.4", (DIFFERENT,)
    )
    fault = Outcome(
        "reduce/fault", "fault", Fault("trap", "trap at k.cu:3", ("a\x00b", "stack"), 7), output="hello <&>\n"
    )
    return RunSummary(
        run="20261120T020000Z-3f2a",
        folder="/p/runs/20261120T020000Z-3f2a",
        device="cpu",
        started="2026-11-20T02:00:00Z",
        seconds=1.5,
        verdicts=(
            verdict("pass"),
            verdict("differ", buffers=(buffer,), reason="sum: 3 of 8 differ", changes=("seed 1 → 2",), exit_code=1),
            verdict("new", reason="no baseline yet", exit_code=1),
            verdict("fault", reason="trap: trap at k.cu:3", outcome=fault, exit_code=3),
            verdict("timeout", reason="timeout: killed", exit_code=3),
            verdict("error", job="broken", case="broken/<&>", reason="k.cu:3: error", exit_code=3),
            verdict("skip", job="other", case="other", reason="its job runs on cuda only"),
        ),
        notes=("the baseline gone has no case any more",),
        exit_code=3,
    )
