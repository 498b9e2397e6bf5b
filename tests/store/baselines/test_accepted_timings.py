from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import (
    AcceptedTiming,
    Costs,
    DeviceInfo,
    InstructionCost,
    InstrumentReports,
    LineCost,
    MadeOf,
    Observations,
    Outcome,
    Timing,
)
from gpuregress.store.baselines import accepted_timings
from tests import fakes

CASE = fakes.case("double")
CPU = DeviceInfo("cpu", "virtual sm_90 on aarch64", "sm_90", "llvmlite", 1)
H200 = DeviceInfo("cuda:1", "NVIDIA H200", "sm_90", "driver 580", 1)
TIMED = Timing("events on the GPU", 3, (0.12345678, 2.0), 1.0, {}, 2, sm_clock="1980 MHz")


def test_the_samples_are_those_of_the_model() -> None:
    others = {"NVIDIA H100": AcceptedTiming("1.2", (1.0,)), "NVIDIA H200": AcceptedTiming("1.2", (9.0,))}
    outcome = Outcome("c", "done", device=H200, observations=Observations(timing=TIMED))
    facts = MadeOf("5eed", card="GPU-1", driver="driver 580", code="ab")
    updated = accepted_timings.updated(others, CASE, outcome, facts)
    assert updated["NVIDIA H100"] == others["NVIDIA H100"]
    assert updated["NVIDIA H200"] == AcceptedTiming(
        CASE.revision, (0.123457, 2.0), "ab", "GPU-1", "driver 580", "1980 MHz"
    )


def test_on_the_cpu_device_only_instructions_are_kept() -> None:
    outcome = Outcome(
        "c",
        "done",
        device=CPU,
        observations=Observations(timing=TIMED, instruments=InstrumentReports(instructions={"k": 7})),
    )
    updated = accepted_timings.updated({}, CASE, outcome, MadeOf("5eed", driver="llvmlite"))
    assert list(updated) == ["cpu"]
    assert updated["cpu"].samples_ms == ()
    assert updated["cpu"].instructions == {"k": 7}


def test_old_samples_of_a_case_that_is_timed_no_more_are_dropped() -> None:
    old = {"NVIDIA H200": AcceptedTiming("1.2", (9.0,)), "cpu": AcceptedTiming("1.2", instructions={"k": 1})}
    assert list(accepted_timings.updated(old, CASE, Outcome("c", "done", device=H200), MadeOf("5eed"))) == ["cpu"]
    assert accepted_timings.updated(old, CASE, Outcome("c", "done"), MadeOf("5eed")) == old


def test_costs_without_a_line_are_kept_as_one(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("first\n  second\n")
    items = [InstructionCost("k", path, line, 1, "ld", "load.global", {"sectors": 3, "sectors.global": 3})
             for path, line in ((str(source), 2), ("", 0), ("", 0))]  # fmt: skip
    assert accepted_timings.line_costs(Costs(tuple(items))) == (
        LineCost("a.cu", 2, "second", {"sectors": 3}),
        LineCost("", 0, "", {"sectors": 6}),
    )


def test_costs_of_which_a_part_was_lost_are_not_kept() -> None:
    items = (InstructionCost("k", "", 0, 1, "ld", "load.global", {"sectors": 3}),)
    for lost, kept in (("", 1), ("a warp executes too many instructions between two waits", 0)):
        seen = Observations(instruments=InstrumentReports(instructions={"k": 7}, costs=Costs(items, uncounted=lost)))
        outcome = Outcome("c", "done", device=CPU, observations=seen)
        assert len(accepted_timings.updated({}, CASE, outcome, MadeOf("5eed"))["cpu"].costs) == kept
