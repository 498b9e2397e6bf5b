"""Observations as JSON, and what they tell of all further runs together."""

from __future__ import annotations

import json
from typing import Any

from gpuregress.foundation.records import (
    Dump,
    FurtherRun,
    Observations,
    Outcome,
    OverwrittenInput,
    PoisonComparison,
    PoisonDependence,
    RunFacts,
    SanitizerFinding,
    SanitizerResult,
    Timing,
    UnwrittenElements,
    WriteSurvey,
    from_json,
    to_json,
)
from gpuregress.gpu.records import replace

OUT = Dump("out", "/runs/r/dumps/sum/out.1", "float32", (8,), "aa", "bb")
WRITTEN: dict[str, Any] = {
    "writes": {
        "poison": "fd7f",
        "unwritten": {"out": {"elements": 1, "of": 8, "ranges": [[7, 8]]}},
        "nan": {"out": 0},
        "unchanged": ["out"],
        "overwritten": {"x": {"elements": 2, "of": 8, "first": 5, "was": "0000803f", "now": "00000040"}},
    },
    "order": "usual",
    "runs": [
        {
            "axis": "repeat",
            "name": "2",
            "dumps": {"out": to_json(OUT)},
            "facts": {"label": "blocks reversed", "digests": {"out": "cc"}, "determinism": {"out": "order varies"}},
        },
        {
            "axis": "poison",
            "name": "complement",
            "facts": {"poisons": {"out": {"unwritten": None, "shows": {"elements": 2, "of": 8, "first": 3}}}},
        },
        {"axis": "reference", "name": "", "dumps": {"out": to_json(OUT)}, "facts": {"errors": {"y": "no file"}}},
        {"axis": "schedule", "name": "reverse", "fault": "trap: x"},
    ],
    "timing": {
        "clock": "events on the GPU",
        "warmup": 1,
        "samples_ms": [1.0, 2.0],
        "median_ms": 1.5,
        "kernels_ms": {"sum": [1.0, 2.0]},
        "run": 2,
        "sm_clock": "1980 MHz",
    },
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
    writes=WriteSurvey(
        poison="fd7f",
        unwritten={"out": UnwrittenElements(1, 8, ((7, 8),))},
        nan={"out": 0},
        unchanged=("out",),
        overwritten={"x": OverwrittenInput(2, 8, 5, "0000803f", "00000040")},
    ),
    order="usual",
    runs=(
        FurtherRun(
            "repeat",
            "2",
            dumps={"out": OUT},
            facts=RunFacts(label="blocks reversed", digests={"out": "cc"}, determinism={"out": "order varies"}),
        ),
        FurtherRun(
            "poison",
            "complement",
            facts=RunFacts(poisons={"out": PoisonComparison(None, PoisonDependence(2, 8, 3))}),
        ),
        FurtherRun("reference", "", dumps={"out": OUT}, facts=RunFacts(errors={"y": "no file"})),
        FurtherRun("schedule", "reverse", fault="trap: x"),
    ),
    timing=Timing("events on the GPU", 1, (1.0, 2.0), 1.5, {"sum": (1.0, 2.0)}, 2, sm_clock="1980 MHz"),
    sanitizer=SanitizerResult(
        "memcheck",
        "",
        (SanitizerFinding("Invalid read", "sum.cu:3", "", (), 0, "out-of-bounds", "Invalid read at sum.cu:3"),),
    ),
    sticky=True,
)


def test_they_survive_json() -> None:
    assert json.loads(json.dumps(to_json(READ))) == WRITTEN
    assert from_json(Observations, WRITTEN) == READ


def test_defaults_have_no_key() -> None:
    assert to_json(Observations()) == {}
    assert to_json(Observations(writes=WriteSurvey(nan={"x": 0}))) == {"writes": {"nan": {"x": 0}}}
    assert from_json(Observations, {"writes": {"unwritten": {}}, "runs": []}) == Observations()


def test_they_tell_what_all_repeats_give_together() -> None:
    worse = FurtherRun("repeat", "3", facts=RunFacts(label="lanes reversed", determinism={"out": "values vary"}))
    seen = replace(READ, runs=(*READ.runs, worse))
    assert seen.orders == ("usual", "blocks reversed", "lanes reversed")
    assert (READ.determinism, seen.determinism) == ({"out": "order varies"}, {"out": "values vary"})
    assert list(seen.poisons) == ["out"]
    assert seen.reference.facts.errors == {"y": "no file"}
    assert Observations().reference.dumps == {}


def test_an_outcome_calls_them_extra() -> None:
    outcome = Outcome("sum", "error", observations=Observations(error="DeviceError", details=("last words",)))
    assert to_json(outcome)["extra"] == {"error": "DeviceError", "details": ["last words"]}
    assert from_json(Outcome, json.loads(json.dumps(to_json(outcome)))) == outcome
