from __future__ import annotations

import pytest

from gpuregress.foundation.records import (
    CaseSettings,
    FurtherRun,
    InstrumentReports,
    Observations,
    Outcome,
    PoisonComparison,
    PoisonDependence,
    ResourceLimits,
    RunFacts,
    SanitizerFinding,
    SanitizerResult,
    Timing,
    TimingComparison,
    UnwrittenElements,
)
from gpuregress.session import measurement_remarks
from tests import fakes


def test_remarks() -> None:
    unwritten = UnwrittenElements(17, 100, ((1, 2), (4, 8), (9, 10), (11, 12), (20, 30)))
    poison = {"y": PoisonComparison(unwritten, PoisonDependence(2, 100, 3)), "z": PoisonComparison(None, None)}
    timing = Timing("events on the GPU", 0, (1.0, 3.0, 2.0), 2.0, {}, 2, sm_clock="1980 MHz")
    outcome = Outcome(
        "c",
        "done",
        observations=Observations(
            runs=(FurtherRun("poison", "complement", facts=RunFacts(poisons=poison)),), timing=timing
        ),
    )
    lines = measurement_remarks.remarks(fakes.case("double", settings=CaseSettings(sanitize="memcheck")), outcome)
    assert lines[0] == "y: 17 of 100 elements were never written: [1], [4] to [7], [9], [11] and 1 more stretches"
    assert lines[1].startswith("y: 2 of 100 elements changed with what was there before, the first at [3]")
    assert lines[2] == "z: every element was written"
    assert lines[3] == "2 ms: the median of 3 samples, 1 to 3 ms, events on the GPU, SM clock 1980 MHz"
    assert lines[4] == "memcheck: not run, for the case did not come to its end"


def test_exchanges_between_lanes_are_told() -> None:
    outcome = Outcome(
        "c",
        "done",
        observations=Observations(instruments=InstrumentReports(exchanges=("k: lanes of a warp exchange values",))),
    )
    assert measurement_remarks.remarks(fakes.case("double"), outcome) == ("k: lanes of a warp exchange values",)


def test_what_the_dynamic_checks_do_not_watch_is_told() -> None:
    outcome = Outcome(
        "c",
        "done",
        observations=Observations(instruments=InstrumentReports(unwatched=("k: kernels in clusters are not watched",))),
    )
    assert measurement_remarks.remarks(fakes.case("double"), outcome) == ("k: kernels in clusters are not watched",)


def test_limits_that_nobody_can_judge_are_said() -> None:
    case = fakes.case("double", settings=CaseSettings(resources=ResourceLimits(registers=8)))
    uncounted = Outcome("c", "done", resources={"double": {"registers": 0}})
    assert measurement_remarks.remarks(case, uncounted) == (
        "resources: not judged, for this device counts no registers",
    )
    assert measurement_remarks.remarks(case, Outcome("c", "done", resources={"double": {"registers": 8}})) == ()


@pytest.mark.parametrize(
    ("problem", "findings", "lines"),
    [
        ("it ended with exit code 1", [], ["racecheck: it ended with exit code 1"]),
        ("", [], ["racecheck: nothing found"]),
        ("", ["a", "b"], ["racecheck: a", "racecheck: b"]),
        (
            "",
            list("abcdefg"),
            [*(f"racecheck: {w}" for w in "abcde"), "racecheck: 2 more findings are in results.json"],
        ),
    ],
)
def test_what_the_tool_found(problem: str, findings: list[str], lines: list[str]) -> None:
    reported = tuple(SanitizerFinding("", "", "", (), 0, "", text) for text in findings)
    report = SanitizerResult("racecheck", problem, reported)
    outcome = Outcome("c", "done", observations=Observations(sanitizer=report))
    assert (
        list(measurement_remarks.remarks(fakes.case("double", settings=CaseSettings(sanitize="racecheck")), outcome))
        == lines
    )


def test_a_comparison_of_times_is_told_where_it_does_not_fail() -> None:
    case, outcome = fakes.case("double"), Outcome("c", "done")
    slower = TimingComparison("slower", "instructions", "k: 1 → 9 instructions", ratio=9.0)
    assert measurement_remarks.remarks(case, outcome, slower) == ("slower: k: 1 → 9 instructions",)
    little = TimingComparison("slower", "instructions", "k: 8 → 9 instructions", ratio=1.125)
    assert measurement_remarks.remarks(case, outcome, little) == (), "nobody asked for its time"
    timed = Outcome("c", "done", observations=Observations(timing=Timing("wall time", 0, (1.0,), 1.0, {}, 2)))
    same = TimingComparison("same", "time", "as fast as accepted")
    assert measurement_remarks.remarks(case, timed, same) == (
        "1 ms: the median of 1 samples, 1 to 1 ms, wall time; as fast as accepted",
    )
    fails = TimingComparison("slower", "time", "2 times slower than accepted", fails=True)
    assert measurement_remarks.remarks(case, outcome, fails) == (), "it is the case's reason"
