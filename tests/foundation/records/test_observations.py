"""Observations as JSON: the keys that `verdicts.jsonl` and results.json have."""

from __future__ import annotations

import json
from typing import Any

from gpuregress.foundation.records import (
    Dump,
    Observations,
    Outcome,
    OverwrittenInput,
    PoisonComparison,
    PoisonDependence,
    SanitizerFinding,
    SanitizerResult,
    Timing,
    UnwrittenElements,
    from_json,
    to_json,
)

OUT = Dump("out", "/runs/r/dumps/sum/out.1", "float32", (8,), "aa", "bb")
WRITTEN: dict[str, Any] = {
    "poison": "fd7f",
    "unwritten": {"out": {"elements": 1, "of": 8, "ranges": [[7, 8]]}},
    "nan": {"out": 0},
    "unchanged": ["out"],
    "overwritten": {"x": {"elements": 2, "of": 8, "first": 5, "was": "0000803f", "now": "00000040"}},
    "poison_twice": {"out": {"unwritten": None, "shows": {"elements": 2, "of": 8, "first": 3}}},
    "determinism": {"out": "order varies"},
    "orders": ["usual", "blocks reversed"],
    "repeat_dumps": {"out": {"2": "/runs/r/dumps/repeat-2/sum/out.1"}},
    "timing": {
        "clock": "events on the GPU",
        "warmup": 1,
        "samples_ms": [1.0, 2.0],
        "median_ms": 1.5,
        "kernels_ms": {"sum": [1.0, 2.0]},
        "run": 2,
        "sm_clock": "1980 MHz",
    },
    "references": {"out": to_json(OUT)},
    "sanitizer": {
        "tool": "memcheck",
        "problem": "",
        "findings": [
            {
                "message": "Invalid read",
                "place": "sum.cu:3",
                "thread": "",
                "details": [],
                "repeated": 0,
                "kind": "out-of-bounds",
                "text": "Invalid read at sum.cu:3",
            }
        ],
    },
    "sticky": True,
}
READ = Observations(
    poison="fd7f",
    unwritten={"out": UnwrittenElements(1, 8, ((7, 8),))},
    nan={"out": 0},
    unchanged=("out",),
    overwritten={"x": OverwrittenInput(2, 8, 5, "0000803f", "00000040")},
    poison_twice={"out": PoisonComparison(None, PoisonDependence(2, 8, 3))},
    determinism={"out": "order varies"},
    orders=("usual", "blocks reversed"),
    repeat_dumps={"out": {"2": "/runs/r/dumps/repeat-2/sum/out.1"}},
    timing=Timing("events on the GPU", 1, (1.0, 2.0), 1.5, {"sum": (1.0, 2.0)}, 2, sm_clock="1980 MHz"),
    references={"out": OUT},
    sanitizer=SanitizerResult(
        "memcheck",
        "",
        (SanitizerFinding("Invalid read", "sum.cu:3", "", (), 0, "out-of-bounds", "Invalid read at sum.cu:3"),),
    ),
    sticky=True,
)


def test_the_keys_are_those_of_earlier_runs() -> None:
    assert json.loads(json.dumps(to_json(READ))) == WRITTEN
    assert from_json(Observations, WRITTEN) == READ


def test_defaults_have_no_key() -> None:
    assert to_json(Observations()) == {}
    assert to_json(Observations(nan={})) == {"nan": {}}
    assert from_json(Observations, {"unwritten": {}, "orders": []}) == Observations()


def test_an_outcome_calls_them_extra() -> None:
    outcome = Outcome("sum", "error", observations=Observations(error="DeviceError", details=("last words",)))
    assert to_json(outcome)["extra"] == {"error": "DeviceError", "details": ["last words"]}
    assert from_json(Outcome, json.loads(json.dumps(to_json(outcome)))) == outcome
