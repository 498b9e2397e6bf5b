from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import (
    JobOwner,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    RunSummary,
    Since,
    Suspect,
    Suspects,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import parameter_spaces
from gpuregress.judge.nights import NOTHING_LEFT_OUT, EarlierNights, LeftOut, compare_nights
from gpuregress.report import morning
from tests.judge.nights.nights import case, earlier, night, past

ROOT = Path("/project")


def told(summary: RunSummary, known: EarlierNights, left_out: LeftOut = NOTHING_LEFT_OUT) -> list[str]:
    changes = compare_nights(summary, known, left_out)
    return list(morning.lines(replace(summary, changes=changes), root=ROOT))


FAILED = (past("differ", 21), past("differ", 20), past("pass", 19))


def test_the_first_line_tells_what_changed() -> None:
    tonight = night(
        case("n", "differ"), case("s", "differ"), case("t", "differ"), case("f"), case("m", tolerance_share=0.9)
    )
    changes = compare_nights(tonight, earlier({"s": FAILED, "t": FAILED, "f": FAILED}))
    changes = replace(changes, slower=(NightRemark("slow", "1.4 times as slow"),))
    first = next(morning.lines(replace(tonight, changes=changes), root=ROOT))
    assert first == (
        "1 new failure: n; 2 still failing (since 20 Nov, at 8eb0c1f), 1 fixed, 1 slower, 1 near its tolerance"
    )


def test_the_part_of_an_owner_fails_with_a_case_that_is_newly_flaky_and_not_with_one_in_quarantine() -> None:
    tonight = night(case("a/n=1", "differ"), case("b/n=1", "differ"))
    flaky = NightRemark("a/n=1", "its verdict changes", is_new=True), NightRemark("b/n=1", "its verdict changes")
    owners = JobOwner("a", "ada@example.org"), JobOwner("b", "bea@example.org")
    summary = replace(tonight, changes=NightChanges(flaky=flaky, owners=owners))
    assert [morning.of_owner(summary, owner.address).exit_code for owner in owners] == [1, 0]


def test_a_new_failure_has_its_name_and_its_diagnosis_in_one_line() -> None:
    lines = told(night(case("scale/n=100", "differ")), earlier({}))
    assert lines[0] == "1 new failure: scale"
    assert lines[1] == ("differ   scale/n=100  0.012 s  b: 689 of 1000 differ; all are 1/10 of what they should be")


def test_two_nights_of_one_bug_print_different_texts() -> None:
    tonight = night(case("a", "differ"))
    second = told(tonight, earlier({"a": (past("differ", 21), past("pass", 20))}))
    third = told(tonight, earlier({"a": FAILED}))
    assert second[0] == "1 still failing: a (since 21 Nov, at 8eb0c1f)"
    assert third[:2] == ["1 still failing: a (since 20 Nov, at 8eb0c1f)", "still failing:"]
    assert third[2].endswith("should be (since 20 Nov, at 8eb0c1f; 3 nights)")


def test_the_parameters_of_failing_cases_are_told_once() -> None:
    verdicts = [case(f"j/n={n}", "differ" if n < 10 else "pass", parameters={"n": n}) for n in range(20)]
    tonight = night(*verdicts, spaces=parameter_spaces.summarize(verdicts))
    names = [f"j/n={n}" for n in range(10)]
    for trends in ({}, dict.fromkeys(names, FAILED)):
        lines = [line for line in told(tonight, earlier(trends)) if "every failing case has n <= 9" in line]
        assert len(lines) == 1


def test_failures_of_one_cause_are_together_and_bounded() -> None:
    many = [case(f"scale/n={n}", "differ") for n in range(100)]
    other = case("zzz", "fault", reason="trap: trap in zzz")
    lines = told(night(*many, other), earlier({}))
    assert lines[1].startswith("fault    zzz")
    assert lines[2].startswith("differ   100 cases of scale; the worst is scale/n=0: b: 689 of 1000 differ; all are")
    assert lines[3].endswith("scale/n=7 and 92 more")
    assert len(lines) == 6
    changes = compare_nights(night(*many, other), earlier({}))
    text = morning.full(replace(night(*many, other), changes=changes))
    assert text.count("\n  differ   scale/n=") == 100


def test_a_case_that_fails_differently_is_shown_with_its_cause_before() -> None:
    lines = told(night(case("a", "differ")), earlier({"a": (past("fault", 21, "trap in scale"),)}))
    assert lines[0] == "1 failing differently: a"
    assert "(before: trap in scale)" in lines[2]


def test_a_fix_is_told_once_and_a_night_without_news_is_silent() -> None:
    def changed(summary: RunSummary, known: EarlierNights) -> RunSummary:
        return replace(summary, changes=compare_nights(summary, known))

    fixed = changed(night(case("a")), earlier({"a": FAILED}))
    assert morning.is_worth_telling(fixed)
    assert list(morning.lines(fixed, root=ROOT))[:2] == [
        "1 fixed: a",
        "fixed    a  (failed 2 nights, since 20 Nov, at 8eb0c1f)",
    ]
    assert not morning.is_worth_telling(changed(night(case("a")), earlier({"a": (past("pass", 21),)})))
    slower = NightChanges(slower=(NightRemark("a", "1.4 times as slow"),))
    assert not morning.is_worth_telling(replace(night(case("a")), changes=slower))


def test_without_an_earlier_night_the_report_says_so() -> None:
    lines = told(night(case("a", "differ")), EarlierNights(unknown="the history is damaged"))
    assert lines[1] == "every failure counts as new: the history is damaged"


def test_what_was_not_run_is_counted_and_named() -> None:
    left = LeftOut(tuple(f"a/{n}" for n in range(20)), ("b",), (LackingDevice("cuda", 3, "no driver"),))
    lines = told(night(case("c"), exit_code=1), earlier({}), left)
    assert lines[0] == "20 not started, 1 skipped after timeouts, 3 skipped (no cuda on this host)"
    assert "not started before the deadline: a/0, a/1, a/2, a/3, a/4, a/5, a/6, a/7 and 12 more" in lines
    assert "skipped  3 cases on cuda, which this host lacks: no driver" in lines


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "nothing new"),
        ({"exit_code": 4}, "nothing new; the night failed (exit code 4)"),
        ({"state": "interrupted", "exit_code": 130}, "interrupted: nothing new"),
    ],
)
def test_a_night_that_failed_by_itself_says_so(changes: dict[str, object], line: str) -> None:
    assert morning.headline(replace(night(case("a")), **changes)) == line  # type: ignore[arg-type]


def test_a_day_of_another_year_has_its_year() -> None:
    assert morning.day("2025-12-31T12:00:00Z", "2026-11-22T02:00:00Z") == "31 Dec 2025"
    assert morning.day("nonsense", "2026-11-22T02:00:00Z") == "nonsense"


def test_missing_cases_are_told_as_they_are() -> None:
    lines = told(night(missing=("scale/n=200",)), earlier({}))
    assert lines[:2] == ["1 new failure: scale", "scale/n=200 vanished since the last nightly run"]


def test_another_run_has_no_morning_report() -> None:
    assert morning.full(night(case("a"))) == ""


def test_a_slower_case_is_told_with_the_commit_of_the_step() -> None:
    since = Since("20261120T020000Z-0001", "2026-11-20T02:00:00Z", "8eb0c1f2a7c3")
    changes = NightChanges(
        slower=(NightRemark("a", "9 times as many", since=since), NightRemark("b", "twice", is_new=True))
    )
    lines = list(morning.lines(replace(night(case("a"), case("b")), changes=changes), root=ROOT))
    assert lines[:3] == ["2 slower: a, b", "slower   a  9 times as many, since 20 Nov, at 8eb0c1f", "slower   b  twice"]


def test_the_full_report_names_all_that_got_no_turn_though_nothing_ran() -> None:
    names = tuple(f"job/n={number}" for number in range(30))
    text = morning.full(replace(night(), changes=NightChanges(no_turn=names)))
    assert all(name in text for name in names)


def suspected(name: str, *commits: str, uncommitted: tuple[str, ...] = ()) -> NightFailure:
    touching = tuple(Suspect(commit, "Ada", f"Change {commit}") for commit in commits)
    suspects = Suspects("8eb0c1f" * 5, "4f1c2d9" * 5, commits=3, touching=touching, uncommitted=uncommitted)
    return NightFailure(name, "differ", "out: 3 of 8 differ", "differ: out (baseline)", suspects=suspects)


def test_failures_that_look_alike_have_one_cause_only_with_a_suspect_in_common() -> None:
    """A commit that touches one job is not blamed for the failure of another one."""
    header = ("common.cuh",)
    failures = (
        suspected("blur/n=1", "aaaaaaa"),
        suspected("random/n=1"),
        suspected("blur/n=2"),
        suspected("scan/n=1", "aaaaaaa", "bbbbbbb"),
        suspected("one/n=1", uncommitted=header),
        suspected("two/n=1", uncommitted=header),
    )
    groups = [[failure.case for failure in members] for members in morning.by_cause(failures)]
    assert groups == [["blur/n=1", "blur/n=2", "scan/n=1"], ["random/n=1"], ["one/n=1", "two/n=1"]]


def test_uncommitted_changes_and_a_commit_that_is_gone_are_said_with_the_suspects() -> None:
    suspects = suspected("a", "aaaaaaa", uncommitted=("src/a.cu",)).suspects
    assert suspects is not None
    assert morning.suspects_text(replace(suspects, dirty=True, lost="76ae1e8" * 5)) == (
        "suspects: uncommitted changes of src/a.cu; aaaaaaa Change aaaaaaa (Ada); 2 other commits since 8eb0c1f; "
        "76ae1e8, on which it passed later, is gone from git"
    )
    alone = Suspects("8eb0c1f" * 5, "8eb0c1f" * 5, dirty=True, uncommitted=("src/a.cu",))
    assert morning.suspects_text(alone) == (
        "suspects: uncommitted changes of src/a.cu; no commit since 8eb0c1f, the last one where it was otherwise"
    )
