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
    Comparison,
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
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge.verdict import decide, exit_code, failed, skipped
from gpuregress.judge.verdict.decision import fault_line, first_line
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


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([0], 0),
        ([0, 1], 1),
        ([1, 2], 2),
        ([2, 3], 3),
        ([1, 5], 1),
        ([1, 3], 3),
        ([3, 4], 4),
        ([4, 1, 3, 0], 4),
        ([0, 0], 0),
        ([], 5),
    ],
)
def test_the_gravest_wins(codes: list[int], expected: int) -> None:
    assert exit_code([Verdict("j", "c", "pass", exit_code=code) for code in codes]) == expected


def test_skips_alone_are_nothing_run() -> None:
    skip = skipped(make_case(), "needs cuda")
    assert text(skip) == ("skip", "needs cuda", 0)
    assert exit_code([skip]) == 5
    assert exit_code([skip, Verdict("j", "c", "pass")]) == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 0),
        ({"vanished": True}, 1),
        ({"has_lost_device": True}, 4),
        ({"vanished": True, "has_lost_device": True}, 4),
    ],
)
def test_cases_and_devices_that_are_gone_count(given: dict[str, bool], expected: int) -> None:
    assert exit_code([Verdict("j", "c", "pass")], **given) == expected


def test_all_lines_of_an_error_are_kept() -> None:
    told = "the assembler refuses this program for sm_90:\nk has 65536 bytes\nand 7 more"
    verdict = decide(make_case(), Outcome("c", "error", message=told), None, {})
    assert verdict.reason == "the assembler refuses this program for sm_90: k has 65536 bytes"
    assert verdict.notes == ("and 7 more",)


def test_a_reason_is_one_line() -> None:
    assert first_line("a\nb") == "a"
    assert first_line("") == ""


def test_a_fault_names_its_launch() -> None:
    assert fault_line(Outcome("c", "fault", Fault("trap", "k", launch=3))) == "trap: k (launch 3)"
    assert fault_line(Outcome("c", "timeout")) == "timeout: no more is known"


def test_differ_names_the_first_and_counts_the_rest() -> None:
    actual = {"sum": [against(), against("check", same=False, message="not finite")], "hist": [against(same=False)]}
    verdict = decide(make_case(dump=("sum", "hist")), done(), make_baseline("sum", "hist"), actual)
    assert text(verdict) == ("differ", "sum: check: not finite; and 1 more", 1)


@pytest.mark.parametrize(
    ("comparisons", "status"),
    [
        ([], "new"),
        ([against("check")], "new"),
        ([against("repeat")], "new"),
        ([against("check", same=False)], "differ"),
        ([against("repeat", same=False)], "differ"),
        ([against("reference")], "pass"),
        ([against("verify")], "pass"),
        ([against("reference"), against("check", same=False)], "differ"),
    ],
)
def test_without_a_baseline(comparisons: list[Comparison], status: str) -> None:
    verdict = decide(make_case(), done(), None, {"sum": comparisons})
    assert verdict.status == status
    assert verdict.exit_code == (0 if status == "pass" else 1)


def test_a_buffer_that_the_baseline_lacks_is_new() -> None:
    verdict = decide(make_case(dump=("sum", "hist")), done(), make_baseline(), {"sum": [against()]})
    assert text(verdict) == ("new", "hist: no baseline yet; sum: as its baseline", 1)


def test_what_is_new_hides_no_reference_that_passed() -> None:
    buffers = {"sum": [against("reference")], "hist": [against("check")], "low": [against("verify")]}
    verdict = decide(make_case(dump=("sum", "hist", "low")), done(), None, buffers)
    assert text(verdict) == ("new", "hist: no baseline yet; sum: as its reference; low: as verify", 1)
    assert text(decide(make_case(), done(), None, {})) == ("new", "no baseline yet", 1)


def test_nothing_dumped_never_passes() -> None:
    buffers = {"sum": Buffer("sum", "float32", (8,))}
    assert decide(make_case(dump=(), buffers=buffers), done(), None, {}).status == "new"
    # Without any buffer, what remains is that the launches end.
    assert decide(make_case(dump=()), done(), None, {}).status == "pass"


def test_an_accepted_buffer_that_is_not_dumped_differs() -> None:
    verdict = decide(make_case(), done(), make_baseline("sum", "old"), {"sum": [against()]})
    assert text(verdict) == ("differ", "old: its baseline is there, and the job no longer dumps it", 1)
    assert [(buffer.name, buffer.status, buffer.baseline) for buffer in verdict.buffers] == [
        ("old", "differ", "/b/old.1.4"),
        ("sum", "pass", "/b/sum.1.4"),
    ]
