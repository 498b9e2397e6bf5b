"""Times and instruction counts against the accepted ones; synthetic samples, nothing is timed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import (
    AcceptedTiming,
    Baseline,
    CaseSettings,
    DeviceInfo,
    FalseAlarms,
    InstrumentReports,
    MadeOf,
    Observations,
    Outcome,
    Timing,
    TimingComparison,
    TimingLoop,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import timing_comparison
from tests import fakes

H200 = DeviceInfo("cuda:0", "NVIDIA H200", "sm_90", "driver 580", 1 << 30)
CPU = DeviceInfo("cpu", "virtual sm_90 on x86_64", "sm_90", "llvmlite", 1 << 30)
RANDOM = np.random.default_rng(4)


def samples(median: float, count: int = 30, spread: float = 0.02) -> tuple[float, ...]:
    return tuple(float(value) for value in median * RANDOM.lognormal(0, spread, count))


def timing(times: tuple[float, ...], clock: str = "") -> Timing:
    return Timing("events on the GPU", 3, times, float(np.median(times)), {}, 2, sm_clock=clock)


def compared(
    expected: tuple[float, ...], actual: tuple[float, ...], limit: float | None = None, tests: int = 1
) -> TimingComparison:
    return timing_comparison.of_samples(
        AcceptedTiming("1.4", expected, code="aa"), timing(actual), MadeOf("5eed", code="bb"), limit, tests=tests
    )


def test_a_significant_slow_down_beyond_the_limit_fails() -> None:
    result = compared(samples(1), samples(1.42), limit=1.1)
    assert (result.status, result.fails, result.same_code) == ("slower", True, False)
    assert result.message.startswith("1.4")
    assert "times slower than accepted (95 % interval 1." in result.message
    assert result.low is not None
    assert result.high is not None
    assert result.p is not None
    assert 1.1 < result.low < 1.42 < result.high * 1.01
    assert result.p < 1e-9
    assert result.effect == 1


def test_a_slow_down_within_the_limit_is_told_and_does_not_fail() -> None:
    result = compared(samples(1), samples(1.15), limit=1.5)
    assert (result.status, result.fails) == ("slower", False)
    result = compared(samples(1), samples(1.42))
    assert (result.status, result.fails) == ("slower", False), "no limit: told, not failed"


def test_where_the_interval_holds_the_limit_it_does_not_fail() -> None:
    result = compared(samples(1, 12, 0.1), samples(1.15, 12, 0.1), limit=1.1)
    assert result.low is not None
    assert result.low < 1.1
    assert not result.fails


def test_faster_same_and_unclear() -> None:
    faster = compared(samples(1), samples(0.5))
    assert (faster.status, faster.fails) == ("faster", False)
    assert faster.message.startswith(("2 times faster", "2.0", "1.9"))
    same = compared(samples(1), samples(1), limit=1.1)
    assert (same.status, same.fails) == ("same", False)
    assert same.message.startswith("as fast as accepted: ")
    unclear = compared(samples(1, 8, 0.5), samples(1, 8, 0.5))
    assert (unclear.status, unclear.fails) == ("unclear", False)


def test_a_significant_difference_of_less_than_2_percent_is_the_same() -> None:
    result = compared(samples(1, 400, 0.005), samples(1.01, 400, 0.005))
    assert result.p is not None
    assert result.p < 1e-9
    assert result.status == "same"
    assert compared(samples(1, 400, 0.005), samples(1.01, 400, 0.005), limit=1.005).fails, "the job asks for more"


def test_many_timed_cases_need_more_evidence() -> None:
    few, more = samples(1, 5), samples(1.5, 5)
    assert compared(few, more, limit=1.1).status == "slower"
    result = compared(few, more, limit=1.1, tests=1000)
    assert (result.status, result.fails) == ("unclear", False)
    assert result.message == "unclear: 5 accepted and 5 samples, at least 9 of each are needed for 1000 timed cases"


def test_too_few_samples_and_samples_of_0_are_unclear() -> None:
    assert compared(samples(1, 4), samples(9, 30)).message.startswith("unclear: 4 accepted and 30 samples, at least 5")
    assert compared((0.0,) * 6, (1.0,) * 6).message == "unclear: a sample is 0 ms"


def test_the_same_machine_code_points_to_the_machine() -> None:
    before = AcceptedTiming("1.4", samples(1), code="aa", card="GPU-1", driver="driver 570", sm_clock="1980 MHz")
    facts = MadeOf("5eed", code="aa", card="GPU-2", driver="driver 580")
    result = timing_comparison.of_samples(before, timing(samples(1.4), "1410 MHz"), facts, 1.1)
    assert result.same_code
    assert result.message.endswith(
        "; the machine code is the same, so the machine is to blame; SM clock 1980 MHz → 1410 MHz; driver 570 → 580; "
        "on another GPU of this model"
    )
    same = timing_comparison.of_samples(before, timing(before.samples_ms, "1410 MHz"), facts, 1.1)
    assert same.same_code
    assert "machine" not in same.message, "where nothing changed there is nothing to explain"


@given(
    st.lists(st.floats(0.01, 100), min_size=5, max_size=20),
    st.lists(st.floats(0.01, 100), min_size=5, max_size=20),
    st.none() | st.floats(1.01, 3),
)
@settings(max_examples=40, deadline=None)
def test_whatever_the_samples_it_fails_only_where_all_of_the_interval_is_above_the_limit(
    expected: list[float], actual: list[float], limit: float | None
) -> None:
    result = compared(tuple(expected), tuple(actual), limit)
    assert not result.fails or (limit is not None and result.low is not None and result.low > limit)
    assert not result.fails or result.status == "slower"
    back = compared(tuple(actual), tuple(expected), limit)
    assert {result.status, back.status} != {"slower"}
    assert result.p is None or result.p == pytest.approx(back.p or 0)


def test_false_alarms_of_equal_distributions_are_as_rare_as_the_level_says() -> None:
    alarms = sum(timing_comparison.halves_differ(samples(1, 40, 0.05)) is True for _ in range(150))
    assert alarms <= 150 * 0.05 * 2
    assert timing_comparison.halves_differ((*samples(1, 15), *samples(1.3, 15))) is True, "a card that warms up"
    assert timing_comparison.halves_differ(samples(1, 9)) is None


# --- of a case --------------------------------------------------------------------------------------------------------


def outcome(device: DeviceInfo, *, times: tuple[float, ...] = (), **seen: object) -> Outcome:
    reports = InstrumentReports(**seen)  # type: ignore[arg-type]
    observed = Observations(timing=timing(times) if times else None, instruments=reports)
    return Outcome("c", "done", device=device, observations=observed)


def baseline(**timings: AcceptedTiming) -> Baseline:
    named = {key.replace("_", " "): value for key, value in timings.items()}
    return Baseline("c", "/b/baseline.yaml", "1.4", MadeOf("5eed"), {}, (), timings=named)


def case_result(accepted: Baseline | None, actual: Outcome, loop: TimingLoop | None) -> TimingComparison | None:
    case = fakes.case("double", settings=CaseSettings(timing=loop))
    return timing_comparison.compare(case, actual, accepted, MadeOf("5eed"))


def test_samples_of_another_model_are_not_compared() -> None:
    accepted = baseline(NVIDIA_H100=AcceptedTiming("1.4", samples(1)))
    result = case_result(accepted, outcome(H200, times=samples(9)), TimingLoop(3, 30, 1.1))
    assert result is not None
    assert (result.status, result.fails) == ("unclear", False)
    assert result.message == (
        "not compared: no accepted samples of NVIDIA H200; `gpuregress accept fake/double` keeps this run's"
    )
    own = baseline(NVIDIA_H200=AcceptedTiming("1.4", samples(1)))
    result = case_result(own, outcome(H200, times=samples(9)), TimingLoop(3, 30, 1.1))
    assert result is not None
    assert result.fails


def test_nothing_is_compared_without_a_baseline_or_a_loop() -> None:
    loop, actual = TimingLoop(3, 30, 1.1), outcome(H200, times=samples(1))
    assert case_result(None, actual, TimingLoop(3, 30)) is None
    assert case_result(baseline(), outcome(H200), None) is None
    assert case_result(baseline(), replace(actual, state="fault"), loop) is None


def test_a_limit_without_a_baseline_is_said_to_be_unheeded() -> None:
    loop = TimingLoop(3, 30, 1.1)
    result = case_result(None, outcome(H200, times=samples(1)), loop)
    assert result is not None
    assert (result.status, result.fails) == ("unclear", False)
    assert result.message.startswith("not compared: no accepted samples of NVIDIA H200; `gpuregress accept ")
    result = case_result(None, outcome(CPU, instructions={"k": 500}), loop)
    assert result is not None
    assert result.message.startswith("not compared: no accepted instruction counts of the cpu device")


def counts(expected: dict[str, int], actual: dict[str, int], limit: float | None = 1.1) -> TimingComparison:
    result = case_result(
        baseline(cpu=AcceptedTiming("1.4", instructions=expected)),
        outcome(CPU, times=samples(9), instructions=actual),
        TimingLoop(3, 30, limit),
    )
    assert result is not None
    return result


def test_on_the_cpu_device_instructions_are_compared_and_no_clock() -> None:
    result = counts({"sum": 1_900_000}, {"sum": 1_900_000_000})
    assert (result.status, result.measure, result.fails) == ("slower", "instructions", True)
    assert result.message == "sum: 1.9 M → 1.9 G instructions, 1,000 times as many"
    assert (result.ratio, result.p) == (1000, None)
    assert counts({"sum": 5000}, {"sum": 5000}).message == "as many instructions as accepted: 5,000"
    assert counts({"sum": 1_900_000}, {"sum": 1_900_001}).message == (
        "sum: 1,900,000 → 1,900,001 instructions, 5.3e-05 % more"
    )


@pytest.mark.parametrize(
    ("actual", "status", "fails"),
    [(1099, "slower", False), (1101, "slower", True), (1010, "same", False), (900, "faster", False)],
)
def test_the_limit_of_instructions_is_exact(actual: int, status: str, fails: bool) -> None:  # noqa: FBT001 - a parameter
    result = counts({"sum": 1000}, {"sum": actual})
    assert (result.status, result.fails) == (status, fails)
    assert not counts({"sum": 1000}, {"sum": actual}, limit=None).fails


def test_of_several_kernels_the_one_that_changed_most_is_named() -> None:
    assert counts({"a": 1000, "b": 3000}, {"a": 1000, "b": 7000}).message == (
        "b: 3,000 → 7,000 instructions, 2.33 times as many; all kernels 2 times as many"
    )
    assert counts({"a": 1000, "b": 3000}, {"a": 1100, "b": 7000}).message == (
        "4,000 → 8,100 instructions, 2.02 times as many, most of it in b: 3,000 → 7,000 (2 of 2 kernels changed)"
    )


def test_loops_that_wait_are_left_out_and_named() -> None:
    before = AcceptedTiming("1.4", instructions={"k": 100}, uncounted=("k.cu:5",))
    waits = outcome(CPU, instructions={"k": 300}, uncounted=("k.cu:7",))
    result = case_result(baseline(cpu=before), waits, TimingLoop(0, 1, 1.1))
    assert result is not None
    assert result.message.endswith("3 times as many; without the loops that wait for other threads, at k.cu:7")
    result = case_result(baseline(cpu=before), outcome(CPU, instructions={"k": 300}), TimingLoop(0, 1, 1.1))
    assert result is not None
    assert (result.status, result.fails) == ("unclear", False)


def test_counts_of_cases_without_timing_are_told_where_they_changed() -> None:
    accepted = baseline(cpu=AcceptedTiming("1.4", instructions={"k": 100}))
    assert case_result(accepted, outcome(CPU, instructions={"k": 100}), None) is None
    result = case_result(accepted, outcome(CPU, instructions={"k": 500}), None)
    assert result is not None
    assert (result.status, result.fails) == ("slower", False)
    assert case_result(baseline(), outcome(CPU, instructions={"k": 500}), None) is None
    unknown = case_result(baseline(), outcome(CPU, instructions={"k": 500}), TimingLoop(0, 1))
    assert unknown is not None
    assert unknown.message.startswith("not compared: no accepted instruction counts of the cpu device")


def _verdict(name: str, measured: Timing | None, device: DeviceInfo = H200) -> Verdict:
    outcome = Outcome(name, "done", device=device, observations=Observations(timing=measured))
    return Verdict("job", name, "pass", outcome=outcome)


def test_a_case_that_drifts_differs_from_itself() -> None:
    steady = timing((1.0, 1.01) * 10)
    drifts = timing((*samples(1, 10), *samples(1.5, 10)))
    verdicts = [_verdict("a", steady), _verdict("b", drifts), _verdict("few", timing((1.0,) * 5))]
    measured = timing_comparison.false_alarms_of(
        [*verdicts, _verdict("plain", None), Verdict("job", "skipped", "skip")]
    )
    assert measured == FalseAlarms(2, ("b",))
    assert measured.rate == 0.5
    assert timing_comparison.text(measured) == (
        "A/A: 1 of 2 timed cases differ from themselves, the first half of the samples against the second: "
        "50 % false alarms"
    )


def test_without_timed_cases_there_is_no_rate() -> None:
    assert timing_comparison.false_alarms_of([_verdict("plain", None)]) is None
    assert timing_comparison.false_alarms_of([_verdict("b", timing((1.0,) * 10), CPU)]) is None, (
        "its times are compared with nothing"
    )
    assert FalseAlarms(0).rate == 0


def test_the_text_counts_what_was_compared() -> None:
    text = timing_comparison.text(FalseAlarms(1, ("a",)), "run")
    assert text.startswith("A/A: 1 of 1 run differs from itself, ")
    assert text.endswith(": 100 % false alarms")
