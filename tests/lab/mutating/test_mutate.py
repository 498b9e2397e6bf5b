"""Mutation testing of a small job on the CPU device, from the unchanged run to the reasons of the survivors."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import GpuregressError, Interrupted, UsageError
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.judge import verdict
from gpuregress.lab import calibrate
from gpuregress.lab.calibrate import Calibration, Proposal
from gpuregress.lab.mutating import mutate
from gpuregress.lab.mutating.campaign import Campaign, MutateRequest, MutationReport, tolerance_advice
from gpuregress.lab.mutating.mutants import Edit, Mutant
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.subject import NothingNoticed
from gpuregress.lab.mutating.survivors import RACE
from gpuregress.lab.mutating.trials import ONLY_CHECKED, TrialResult, TrialState
from gpuregress.session.events import Advanced, Event, ignore
from gpuregress.store import project
from gpuregress.store.project import Project
from tests.cli.runs.test_mutate import REPORT
from tests.lab.mutating.test_programs import subject_of
from tests.workshop import RUN, Workshop

KERNEL = """\
#include "add.h"
__device__ float dead(float x) { return x; }
extern "C" __global__ void scale(float *out, const float *x, float a, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = a * x[i];
    if (a < 0.0f)
        out[i] = add(x[i], a);
}
"""
HEADER = "__device__ inline float add(float x, float y) { return x + y; }\n"


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


@pytest.fixture
def small(shop: Workshop) -> Workshop:
    shop.write("kernels/scale.cu", KERNEL)
    shop.write("kernels/add.h", HEADER)
    shop.job(("n: [100]", "n: [40]"), ("ceil(n / 32)", "1"), ("[32]", "[32]"), ("{int32: n}", "{int32: 30}"))
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    return shop


def tried(shop: Workshop, **request: object) -> tuple[MutationReport, list[Event]]:
    events: list[Event] = []
    made, where = MutateRequest(**request), project.find(shop.root)  # type: ignore[arg-type]
    return mutate.mutate(where, plan.make(where, ["scale"]).cases, made, listen=events.append), events


def test_every_mutant_has_its_result_and_its_reason(small: Workshop) -> None:
    before = digests(small.root)
    report, events = tried(small)
    assert digests(small.root) == before
    reasons = {(one.operator, one.file, one.line): one.reason for one in report.survived}
    assert reasons["plus-minus", "kernels/add.h", 1] == "never executed"
    assert reasons["index-off-by-one", "kernels/scale.cu", 9] == "never executed"
    killed = {(one.operator, one.line): one for one in report.killed}
    assert killed["boundary", 6].case == "scale/n=40"
    assert "-    if (i < n)\n+    if (i <= n)\n" in killed["boundary", 6].diff
    assert killed["index-off-by-one", 7].status in ("differ", "fault")
    assert all(one.line != 2 for one in (*report.killed, *report.survived)), "dead code has mutants"
    counted = len(report.killed) + len(report.timed_out) + len(report.survived) - report.equivalent
    assert report.tried == report.mutants == counted + report.equivalent + len(report.not_valid)
    assert report.score == pytest.approx((len(report.killed) + len(report.timed_out)) / counted)
    assert [event.done for event in events if isinstance(event, Advanced) and event.of == report.mutants] == list(
        range(1, report.mutants + 1)
    )
    again, _ = tried(small, limit=4, seed=1)
    assert (again.tried, again.cached, again.seed) == (4, 4, 1)


def test_a_race_that_only_the_check_finds_survives(tmp_path: Path) -> None:
    subject, file = subject_of(tmp_path), str(tmp_path / "k.cu")
    removed = Mutant("barrier-removed", file, 1, "f();", ";", (Edit(0, 4, ";"),))
    campaign = Campaign(subject, [removed, removed, removed], {file: "f();\n"})
    campaign._on_checked(0, TrialResult("survived"), TrialResult("killed", "k/1", "fault", "on x[1]", RACE))
    campaign._on_checked(1, TrialResult("survived"), TrialResult("survived"))
    campaign._on_result(2, TrialResult("killed", "k/1", "differ", "1 of 9 differ"))
    report = campaign.report(3, 0, 1.0, ())
    assert [(one.reason, one.hint) for one in report.survived] == [
        (ONLY_CHECKED, "k/1: on x[1]; with `checks: {device: [races]}` the job notices it"),
        ("no case noticed", "with `--check races` no case notices it, either"),
    ]
    assert (report.racing, report.score, report.score_with_races) == (1, 1 / 3, 2 / 3)


class FakeTrials:
    """Keeps what is to be tried: name → the variation and what takes its result."""

    def __init__(self) -> None:
        self.added: dict[str, tuple[Variation, Callable[[TrialResult], None]]] = {}
        self.more: Callable[[], bool] | None = None

    def add(self, variation: Variation, listen: Callable[[TrialResult], None], *, is_needed: bool = False) -> None:
        del is_needed
        self.added[variation.name] = variation, listen

    def follow(self, more: Callable[[], bool]) -> None:
        self.more = more

    def answer(self, name: str, result: TrialResult) -> None:
        self.added[name][1](result)


class FakeResults:
    """Results that are known."""

    def __init__(self, known: TrialResult | None = None) -> None:
        self.known = known

    def find(self, _variation: Variation) -> TrialResult | None:
        return self.known

    def keep(self, _variation: Variation, _result: TrialResult) -> None: ...


def begun(
    tmp_path: Path,
    *operators: str,
    results: FakeResults | None = None,
    request: MutateRequest | None = None,
    expect_fault: str | None = None,
) -> tuple[Campaign, FakeTrials]:
    """A campaign of mutants of these operators whose kernels that do nothing are under way."""
    subject, file, trials = subject_of(tmp_path), str(tmp_path / "k.cu"), FakeTrials()
    subject = replace(subject, cases=tuple(replace(case, expect_fault=expect_fault) for case in subject.cases))
    probe = (Edit(0, 0, "__trap(); "),)
    chosen = [Mutant(name, file, 1, "f", "g", (Edit(0, 1, "g"),), (probe,)) for name in operators]
    campaign = Campaign(subject, chosen, {file: "f\n"})
    campaign.begin(trials, results or FakeResults(), request or MutateRequest())  # type: ignore[arg-type]
    return campaign, trials


@pytest.mark.parametrize("state", ["not valid", "trouble", "timed out", "survived", "equal", "cut"])
def test_no_mutant_is_tried_before_kernels_that_do_nothing_are_noticed(tmp_path: Path, state: TrialState) -> None:
    _, trials = begun(tmp_path, "constant")
    if state == "cut":
        trials.answer("idle", TrialResult(state))
    else:
        is_noticed = state not in ("survived", "equal")
        with pytest.raises(UsageError, match="cannot be run" if is_noticed else "pass every case") as caught:
            trials.answer("idle", TrialResult(state))
        assert isinstance(caught.value, NothingNoticed) != is_noticed
    assert trials.more is None


def test_only_mutants_of_values_are_compared_by_their_optimised_code(tmp_path: Path) -> None:
    _, trials = begun(tmp_path, "constant", "barrier-removed", "mask-narrowed")
    trials.answer("idle", TrialResult("killed"))
    assert trials.more is not None
    assert [trials.more() for _ in range(4)] == [True, True, True, False]
    assert [trials.added[name][0].is_compared for name in ("m0", "m1", "m2")] == [True, False, False]


def test_a_survivor_that_may_be_a_race_is_checked_and_others_are_probed(tmp_path: Path) -> None:
    campaign, trials = begun(tmp_path, "constant", "barrier-removed", "atomic-plain")
    trials.answer("idle", TrialResult("killed"))
    assert trials.more is not None
    while trials.more():
        pass
    for name in ("m0", "m1", "m2"):
        trials.answer(name, TrialResult("survived"))
    assert {"p0-0", "races0"} <= {*trials.added}
    trials.answer("races0", TrialResult("survived"))
    assert trials.added["m1-races"][0].checks == ("races",)
    trials.answer("m1-races", TrialResult("killed", "k/1", "fault", "on x[1]", "race"))
    trials.answer("m2-races", TrialResult("killed", "k/1", "fault", "trap", "trap"))
    assert "p1-0" not in trials.added, "its reason is known"
    assert "p2-0" in trials.added
    reasons = [one.reason for one in campaign.report(3, 0, 1.0, ()).survived]
    assert reasons == ["no case noticed", ONLY_CHECKED, "no case noticed"]


def test_where_each_case_expects_a_trap_none_is_set(tmp_path: Path) -> None:
    _, trials = begun(tmp_path, "constant", expect_fault="trap")
    trials.answer("idle", TrialResult("killed"))
    assert trials.more is not None
    assert trials.more()
    trials.answer("m0", TrialResult("survived"))
    assert {*trials.added} == {"idle", "m0"}


@pytest.mark.parametrize(
    ("fresh", "until", "known", "tried"),
    [
        (False, None, True, {}),
        (True, None, True, {"idle", "m0"}),
        (False, 0.0, True, {}),
        (False, 0.0, False, {}),
        (False, None, False, {"idle", "m0"}),
    ],
)
def test_results_that_are_known_are_taken_unless_all_is_tried_again(
    tmp_path: Path, *, fresh: bool, until: float | None, known: bool, tried: Collection[str]
) -> None:
    """When the time is over nothing else is."""
    results = FakeResults(TrialResult("killed") if known else None)
    request = MutateRequest(fresh=fresh, until=until)
    campaign, trials = begun(tmp_path, "constant", results=results, request=request)
    if "idle" in trials.added:
        trials.answer("idle", TrialResult("killed"))
    if trials.more is not None:
        while trials.more():
            pass
    assert {*trials.added} == {*tried}
    assert campaign._cached == campaign.progress[0] == (known and not fresh)


def test_when_the_time_is_over_no_further_mutant_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, trials = begun(tmp_path, "constant", request=MutateRequest(until=time.monotonic() + 60))
    trials.answer("idle", TrialResult("killed"))
    monkeypatch.setattr(time, "monotonic", lambda: 1e18)
    assert trials.more is not None
    assert not trials.more()
    assert {*trials.added} == {"idle"}


def test_kernels_that_do_nothing_must_be_noticed(shop: Workshop) -> None:
    shop.job(("launches:", "checks: {x: [finite]}\ndump: [x]\nlaunches:"))
    shop.call(*RUN)
    assert shop.call("accept").exit_code == 0
    with pytest.raises(UsageError, match="kernels that do nothing pass every case of scale"):
        tried(shop)


def test_a_tolerance_that_lets_most_mutants_live_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def calibrated(_project: Project, selector: str, **_options: object) -> Calibration:
        rules = (
            Proposal("out", "{ulp: 2}", True, 3, ""),
            Proposal("sum", "", True, 1, ""),
            Proposal("x", "", False, 2, ""),
        )
        return Calibration(selector, (), 3, ("cpu",), 0, rules)

    monkeypatch.setattr(calibrate, "calibrate", calibrated)
    subject = subject_of(tmp_path)
    case = subject.cases[0]
    passed = replace(verdict.skipped(case, ""), tolerance_share=0.03125)
    subject = replace(subject, verdicts={case.name: passed})
    tolerated, other = TrialResult("survived", changed=(case.name,)), TrialResult("survived")
    killed = [TrialResult("killed")] * 9
    assert tolerance_advice(subject, [tolerated, other, *killed], lambda _event: None) == ()
    assert tolerance_advice(subject, [tolerated, tolerated, other, *killed], lambda _event: None) == (
        "2 of 3 survivors change bits of the results within the tolerance.",
        "The unchanged results use at most 0.031 of it.",
        "The tightest rules that repeats and other orders of the blocks allow:",
        "  out: {ulp: 2}",
        "  sum: every bit equal",
    )


@pytest.mark.parametrize(
    ("error", "lines", "is_interrupted"),
    [
        (
            UsageError("no run came to its end"),
            ("Most survivors live within the tolerance; the tightest one is not known: no run came to its end",),
            False,
        ),
        (Interrupted("interrupted"), (), True),
    ],
)
def test_results_are_not_lost_where_no_tolerance_can_be_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: GpuregressError,
    lines: tuple[str, ...],
    *,
    is_interrupted: bool,
) -> None:
    def fails(*_arguments: object, **_options: object) -> Calibration:
        raise error

    monkeypatch.setattr(calibrate, "calibrate", fails)
    subject, file = subject_of(tmp_path), str(tmp_path / "k.cu")
    added = Mutant("constant", file, 1, "1", "2", (Edit(0, 1, "2"),))
    campaign = Campaign(subject, [added], {file: "1\n"})
    campaign._on_result(0, TrialResult("survived", changed=("k",)))
    report = campaign.report(1, 0, 1.0, campaign.tolerance(ignore))
    assert (report.tolerance, report.interrupted, len(report.survived)) == (lines, is_interrupted, 1)


def test_an_interrupted_job_is_the_last_one(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.job(name="other")
    where, told = project.find(shop.root), replace(REPORT, interrupted=True)
    monkeypatch.setattr(mutate, "mutate", lambda *_arguments, **_more: told)
    assert list(mutate.mutate_each(where, ["*"], MutateRequest(), lambda: nullcontext(ignore))) == [told]

    def stopped(_project: Any, cases: Sequence[Case], _request: Any, **_more: Any) -> Any:
        if cases[0].job == "scale":
            raise Interrupted("interrupted")
        return REPORT

    monkeypatch.setattr(mutate, "mutate", stopped)
    going = mutate.mutate_each(where, ["*"], MutateRequest(), lambda: nullcontext(ignore))
    assert next(going) == REPORT
    with pytest.raises(Interrupted):
        next(going)
