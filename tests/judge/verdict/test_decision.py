"""Every status and reason of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import (
    BaselineError,
    CompileError,
    JobError,
    JobErrors,
    KernelTimeout,
    UnsupportedError,
)
from gpuregress.foundation.records import (
    Argument,
    Buffer,
    CaseSettings,
    Fault,
    Fill,
    FurtherRun,
    Instruments,
    Launch,
    MadeOf,
    NoOptions,
    Observations,
    Outcome,
    ReferenceKernel,
    ResourceLimits,
    Source,
    TimingComparison,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.verdict import decide, failed
from tests.judge.verdict.samples import CPU, FACTS, GPU, against, done, make_baseline, make_case, text


def test_pass() -> None:
    verdict = decide(make_case(), done(), make_baseline(), {"sum": [against()]}, made_of=replace(FACTS, seed=1))
    assert text(verdict) == ("pass", "", 0)
    assert (verdict.revision, verdict.baseline_revision, verdict.seconds) == ("1.5", "1.4", 0.5)
    assert verdict.changes == ()
    assert [(b.name, b.status, b.dump, b.baseline) for b in verdict.buffers] == [
        ("sum", "pass", "/r/sum.1.5", "/b/sum.1.4")
    ]


def test_differ() -> None:
    verdict = decide(make_case(), done(), make_baseline(), {"sum": [against(same=False)]}, made_of=FACTS)
    assert text(verdict) == ("differ", "sum: 3 of 8 differ", 1)
    assert verdict.changes == ()


def test_changed_inputs_are_no_regression() -> None:
    now = replace(FACTS, inputs={"x": "a9", "y": "bb"})
    verdict = decide(make_case(), done(), make_baseline(), {"sum": [against(same=False)]}, made_of=now)
    assert text(verdict) == ("differ", "changed inputs, not a regression: sum: 3 of 8 differ", 1)
    assert verdict.changes == ("inputs of x changed",)


def test_an_input_that_only_a_reference_uses_explains_nothing() -> None:
    buffers = {name: Buffer(name, "float32", (8,), Fill("zeros", NoOptions(), 0)) for name in ("x", "y")}
    launch = Launch("k", (1, 1, 1), (1, 1, 1), 0, (Argument("struct", fields=(Argument("buffer", buffer="y"),)),))
    twin = {"sum": ReferenceKernel(Source("/p/k.cu"), ())}
    case = make_case(buffers=buffers, launches=(launch,), reference_kernels=twin)
    for changed, explained in (({"x": "a9", "y": "bb"}, False), ({"x": "aa", "y": "b9"}, True), ({"y": "bb"}, False)):
        now = replace(FACTS, inputs=changed)
        verdict = decide(case, done(), make_baseline(), {"sum": [against(same=False)]}, made_of=now)
        assert verdict.reason.startswith("changed inputs") == explained
        assert bool(verdict.changes) == explained


@pytest.mark.parametrize("by", ["reference", "check", "repeat", "inputs", "verify"])
def test_changed_inputs_explain_nothing_that_this_run_shows_by_itself(by: str) -> None:
    now = replace(FACTS, inputs={"x": "a9", "y": "bb"})
    comparisons = [against(same=False), against(by, same=False)]
    verdict = decide(make_case(), done(), make_baseline(), {"sum": comparisons}, made_of=now)
    assert text(verdict)[:2] == ("differ", "sum: 3 of 8 differ")
    assert verdict.changes == ("inputs of x changed",)


def test_a_case_that_only_the_dynamic_checks_judge() -> None:
    case = make_case(dump=(), settings=CaseSettings(instruments=Instruments(checks=("races", "leaks"))))
    assert text(decide(case, done(), None, {})) == ("pass", "no finding of races, leaks", 0)
    assert decide(case, done(), make_baseline(), {}).status == "differ"


def test_notes() -> None:
    verdict = decide(make_case(), done(), make_baseline(arch="sm_80"), {"sum": [against()]})
    assert verdict.notes == ("compared with the baseline for sm_80, which comes before the common one",)
    expecting = decide(make_case(expect_fault="trap"), done(), make_baseline(), {})
    assert expecting.notes == ("there is a baseline, and a job that expects a fault is not compared with it",)


FAULT = Fault("out-of-bounds", "x[1000] of 1000", launch=7, position=1)
LAUNCHES = (
    Launch("first", (1, 1, 1), (1, 1, 1), 0, (), origin=0),
    Launch("second<1>", (1, 1, 1), (1, 1, 1), 0, (), origin=1),
    Launch("second<1>", (1, 1, 1), (1, 1, 1), 0, (), origin=1),
)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("c", "fault", FAULT), ("fault", "out-of-bounds: x[1000] of 1000 (launch 7)", 3)),
        (Outcome("c", "done", Fault("status", "d_status[0] is 5")), ("fault", "status: d_status[0] is 5", 3)),
        (Outcome("c", "timeout", Fault("timeout", "30 s")), ("timeout", "timeout: 30 s", 3)),
        (Outcome("c", "timeout"), ("timeout", "timeout: no more is known", 3)),
        (Outcome("c", "error", message="no such\ndevice"), ("error", "no such", 4)),
    ],
)
def test_what_failed(outcome: Outcome, expected: tuple[str, str, int]) -> None:
    assert text(decide(make_case(), outcome, make_baseline(), {})) == expected


@pytest.mark.parametrize(
    ("expect", "outcome", "status"),
    [
        ("out-of-bounds", Outcome("c", "fault", FAULT, device=CPU), "pass"),
        ("out-of-bounds", Outcome("c", "fault", Fault("illegal-access", "", position=0), device=GPU), "pass"),
        ("out-of-bounds", Outcome("c", "fault", Fault("red-zone", "", position=0), device=GPU), "pass"),
        ("out-of-bounds", Outcome("c", "fault", Fault("illegal-access", "", position=0), device=CPU), "fault"),
        ("deadlock", Outcome("c", "timeout", Fault("timeout", "", position=0), device=GPU), "pass"),
        ("deadlock", Outcome("c", "timeout", device=CPU), "timeout"),
        ("deadlock", Outcome("c", "fault", Fault("barrier", "", position=0), device=CPU), "pass"),
        ("illegal-instruction", Outcome("c", "fault", Fault("barrier", "", position=0), device=CPU), "pass"),
        ("barrier", Outcome("c", "fault", Fault("deadlock", "", position=0), device=CPU), "fault"),
        ("timeout", Outcome("c", "timeout", Fault("timeout", "30 s", position=2)), "pass"),
        ("timeout", Outcome("c", "timeout"), "timeout"),
        ("timeout", Outcome("c", "timeout", Fault("timeout", "30 s", launch=9)), "timeout"),
        ("crash", Outcome("c", "fault", Fault("crash", "in a Python function of the job")), "fault"),
        ("crash", Outcome("c", "fault", Fault("crash", "in launch 9", launch=9)), "fault"),
        ("trap", Outcome("c", "fault", FAULT, device=GPU), "fault"),
        ("trap", Outcome("c", "done"), "differ"),
        ("trap", Outcome("c", "error", message="no device"), "error"),
        ("status", Outcome("c", "done", Fault("status", "5", position=2)), "pass"),
        ("status", Outcome("c", "done", Fault("status", "5, in a repeat")), "fault"),
    ],
)
def test_an_expected_fault(expect: str, outcome: Outcome, status: str) -> None:
    verdict = decide(make_case(expect_fault=expect, launches=LAUNCHES), outcome, None, {})
    assert verdict.status == status
    assert verdict.reason
    assert verdict.exit_code == {"pass": 0, "differ": 1, "fault": 3, "timeout": 3, "error": 4}[status]


@pytest.mark.parametrize(
    ("index", "status"),
    [
        ({"expect_kernel": "second<1>"}, "pass"),
        ({"expect_launch": 1}, "pass"),
        ({"expect_kernel": "second<1>", "expect_launch": 1}, "pass"),
        ({"expect_kernel": "first"}, "fault"),
        ({"expect_launch": 0}, "fault"),
    ],
)
@pytest.mark.parametrize("position", [1, 2])
def test_a_fault_is_expected_in_its_place(index: dict[str, Any], status: str, position: int) -> None:
    outcome = Outcome("c", "fault", replace(FAULT, position=position))
    actual = decide(make_case(expect_fault="out-of-bounds", launches=LAUNCHES, **index), outcome, None, {})
    assert actual.status == status
    if status == "fault":
        assert actual.reason.startswith(
            "expected out-of-bounds " + ("of first" if "expect_kernel" in index else "in launch 1")
        )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CompileError("k.cu(3): error: no\nmore"), ("error", "k.cu(3): error: no", 3)),
        (UnsupportedError("tcgen05"), ("error", "tcgen05", 3)),
        (BaselineError("sum.1.4: edited"), ("error", "sum.1.4: edited", 4)),
        (KernelTimeout("killed after 30 s"), ("timeout", "killed after 30 s", 3)),
        (JobErrors((JobError(Path("r.yaml"), 3, "args", "is wrong"),)), ("error", "r.yaml:3: args: is wrong", 4)),
    ],
)
def test_what_could_not_be_run(error: Any, expected: tuple[str, str, int]) -> None:
    assert text(failed(make_case(), error)) == expected


def test_a_change_of_registers_is_said_even_where_all_is_the_same() -> None:
    before = MadeOf("s", arch="sm_90", resources={"k": {"registers": 32, "spill": 0}})
    now = replace(before, resources={"k": {"registers": 40, "spill": 8}})
    baseline = replace(make_baseline("sum"), made_of=before)
    verdict = decide(make_case(), done(), baseline, {"sum": [against()]}, made_of=now)
    assert (verdict.status, verdict.changes) == ("pass", ("k: registers 32 → 40", "k: spill 0 → 8"))
    uncounted = replace(before, resources={"k": {"registers": 0, "spill": 0}})
    assert decide(make_case(), done(), baseline, {"sum": [against()]}, made_of=uncounted).changes == ()


def test_more_registers_than_the_job_allows_is_a_difference() -> None:
    case = make_case(settings=CaseSettings(resources=ResourceLimits(64, 0)))
    same = {"sum": [against()]}
    used = {"k": {"registers": 80, "spill": 16}}
    verdict = decide(case, replace(done(), resources=used), make_baseline("sum"), same)
    assert (verdict.status, verdict.exit_code) == ("differ", 1)
    assert verdict.reason == "k: 80 registers a thread; the job allows 64"
    assert verdict.notes == ("k: 16 bytes spilt; the job allows 0",)
    fits = replace(done(), resources={"k": {"registers": 64, "spill": 0}})
    assert decide(case, fits, make_baseline("sum"), same).status == "pass"
    uncounted = replace(done(), resources={"k": {"registers": 0, "spill": 0}})
    assert decide(case, uncounted, make_baseline("sum"), same).status == "pass"


LACKING = Observations(runs=(FurtherRun("twin", "cuda", left_out="there is no GPU here"),))
WHY = "not compared with cuda: there is no GPU here"


def test_a_twin_that_cannot_run_here_is_a_skip_and_no_pass() -> None:
    passed = decide(make_case(), done(observations=LACKING), make_baseline(), {"sum": [against()]})
    assert text(passed) == ("skip", WHY, 0)
    assert text(decide(make_case(), done(observations=LACKING), None, {})) == ("skip", WHY, 0)


def test_a_twin_that_cannot_run_here_hides_no_difference() -> None:
    comparisons = {"sum": [against(same=False, message="3 of 8 differ")]}
    verdict = decide(make_case(), done(observations=LACKING), make_baseline(), comparisons)
    assert (verdict.status, WHY in verdict.notes) == ("differ", True)


def test_a_twin_that_agrees_is_enough() -> None:
    verdict = decide(make_case(), done(), None, {"sum": [against("twin")]})
    assert (verdict.status, verdict.against) == ("pass", ("twin",))


SLOWER = TimingComparison("slower", "time", "1.42 times slower than accepted (95 % interval 1.38 to 1.47)", fails=True)


def test_a_case_that_became_too_slow_differs() -> None:
    comparisons = {"sum": [against()]}
    verdict = decide(make_case(), done(), make_baseline(), comparisons, timing=SLOWER)
    assert (verdict.status, verdict.exit_code, verdict.reason) == ("differ", 1, SLOWER.message)
    assert verdict.timing == SLOWER
    told = replace(SLOWER, fails=False)
    verdict = decide(make_case(), done(), make_baseline(), comparisons, timing=told)
    assert (verdict.status, verdict.timing) == ("pass", told)


def test_a_limit_that_nothing_can_heed_is_told_of_a_case_that_passes_as_its_twin_and_of_no_new_one() -> None:
    told = TimingComparison("unclear", "instructions", "not compared: no accepted instruction counts", limit=1.1)
    passed = decide(make_case(), done(), None, {"sum": [against("twin")]}, timing=told)
    assert (passed.status, passed.timing) == ("pass", told)
    new = decide(make_case(), done(), None, {}, timing=told)
    assert (new.status, new.timing) == ("new", None)


def test_wrong_results_come_before_slow_ones() -> None:
    comparisons = {"sum": [against(same=False, message="3 of 8 differ")]}
    verdict = decide(make_case(), done(), make_baseline(), comparisons, timing=SLOWER)
    assert verdict.reason == "sum: 3 of 8 differ"
    assert SLOWER.message in verdict.notes
