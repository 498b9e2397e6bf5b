from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Extent, LackingDevice, Since, TimingComparison, Verdict
from gpuregress.gpu.records import replace
from gpuregress.judge.nights import EarlierNights, LeftOut, compare_nights, flaky_verdicts
from gpuregress.report import morning
from tests.judge.nights.nights import COMMIT, case, earlier, night, past

FAILS = past("differ", 21)


def names(failures: object) -> list[str]:
    return [one.case for one in failures]  # type: ignore[attr-defined]


def test_a_failure_is_new_or_still_there_since_its_first_night() -> None:
    tonight = night(case("a", "differ"), case("b", "differ"), case("c"))
    series = (FAILS, past("skip", 20), past("differ", 19, commit="aaaaaaaaaa"), past("pass", 18), past("differ", 17))
    changes = compare_nights(tonight, earlier({"a": (past("pass", 21),), "b": series, "c": (past("pass", 21),)}))
    assert (names(changes.new), names(changes.still), changes.fixed) == (["a"], ["b"], ())
    assert changes.still[0].since == Since(
        "20261119T020000Z-0001", "2026-11-19T02:00:00Z", "aaaaaaaaaa", 3, good=COMMIT
    )
    assert changes.new[0].diagnosis == "b: 689 of 1000 differ; all are 1/10 of what they should be"


def test_the_commit_of_a_changed_work_tree_is_marked_where_a_series_began() -> None:
    trend = (FAILS, past("differ", 20, dirty=True), past("pass", 19))
    changes = compare_nights(night(case("a", "differ")), earlier({"a": trend}))
    assert (changes.still[0].since.dirty, changes.still[0].since.nights) == (True, 3)  # type: ignore[union-attr]
    assert morning.headline(night(changes=changes)) == f"1 still failing: a (since 20 Nov, at {COMMIT[:7]}+)"


def test_a_case_that_fails_for_another_cause_is_changed() -> None:
    changes = compare_nights(night(case("a", "differ")), earlier({"a": (past("fault", 21, "trap in scale"),)}))
    assert (names(changes.new), names(changes.still), names(changes.changed)) == ([], [], ["a"])
    assert changes.changed[0].before == "trap in scale"


@pytest.mark.parametrize(
    ("before", "is_changed", "words"),
    [
        (Extent(3, 1000, 1e-6, "contiguous"), True, "(before: differ: factor, contiguous, by up to 1e-06)"),
        (Extent(600, 1000, 1e-6), True, "(before: differ: factor, by up to 1e-06)"),  # another decade of the error
        (Extent(20, 1000, 0.5), True, "(last night: 20 of 1000)"),  # another decade of the share
        (
            Extent(689, 1000, 0.4, "contiguous"),
            True,
            "(before: differ: factor, contiguous, by up to 0.4)",
        ),  # another place
        (Extent(300, 1000, 0.2), False, "(last night: 300 of 1000) (since 20 Nov"),
        (Extent(689, 1000, None, ""), False, ""),
        (None, False, ""),
    ],
)
def test_a_difference_of_another_extent_is_changed(before: Extent | None, *, is_changed: bool, words: str) -> None:
    tonight = night(case("a", "differ", extent=Extent(689, 1000, 0.5, "periodic")))
    trend = (replace(FAILS, extent=before), past("differ", 20), past("pass", 19))
    changes = compare_nights(tonight, earlier({"a": trend}))
    assert (names(changes.changed), names(changes.still)) == ((["a"], []) if is_changed else ([], ["a"]))
    lines = "\n".join(morning.lines(replace(tonight, changes=changes), root=Path("/project")))
    assert words in lines
    assert ("last night:" in lines) == (before is not None and before.differing != 689)


def test_what_passes_again_is_fixed_and_what_was_not_run_is_not() -> None:
    trends = {"a": (FAILS, past("differ", 20)), "b": (FAILS,), "c": (past("new", 21),), "gone": (FAILS,)}
    changes = compare_nights(night(case("a"), case("b", "skip"), case("c")), earlier(trends))
    assert names(changes.fixed) == ["a"]
    assert changes.fixed[0].since == Since("20261120T020000Z-0001", "2026-11-20T02:00:00Z", COMMIT, 2)


def test_a_job_that_was_wrong_and_is_well_is_fixed() -> None:
    changes = compare_nights(night(case("scale/n=1")), earlier({"scale": (past("error", 21, "error: key"),)}))
    assert names(changes.fixed) == ["scale"]


@pytest.mark.parametrize("known", [EarlierNights(unknown="the history is damaged"), EarlierNights()])
def test_without_a_history_each_failure_is_new(known: EarlierNights) -> None:
    changes = compare_nights(night(case("a", "differ"), missing=("b",)), known)
    assert (names(changes.new), changes.still) == (["a", "b"], ())
    assert changes.unknown == known.unknown


def test_a_missing_case_is_a_failure_that_goes_on() -> None:
    first = Since("20261120T020000Z-0001", "2026-11-20T02:00:00Z", COMMIT, 2)
    last = past("missing", 21, "missing")
    known = EarlierNights(last.run, last={"a": last}, since={"a": first})
    changes = compare_nights(night(missing=("a", "b")), known)
    assert (names(changes.new), names(changes.still)) == (["b"], ["a"])
    assert changes.still[0].since == Since(first.run, first.started, COMMIT, 3)
    assert names(compare_nights(night(case("a")), known).fixed) == ["a"]


def test_a_case_without_a_baseline_is_no_failure_of_its_code() -> None:
    changes = compare_nights(
        night(case("a", "new"), case("b", "new")), earlier({"b": (past("new", 21, "no baseline"),)})
    )
    assert (names(changes.unaccepted), changes.new, changes.still) == (["a", "b"], (), ())
    assert [one.since is None for one in changes.unaccepted] == [True, False]
    assert names(compare_nights(night(case("a", "differ")), earlier({"a": (past("new", 21),)})).new) == ["a"]


def test_a_used_up_tolerance_is_news_once() -> None:
    def near(before: float | None) -> list[bool]:
        known = earlier({"a": (past("pass", 21, tolerance_share=before),)})
        return [one.is_new for one in compare_nights(night(case("a", tolerance_share=0.9)), known).near]

    assert [near(0.3), near(None), near(0.85)] == [[True], [True], [False]]
    assert compare_nights(night(case("a", tolerance_share=0.8)), earlier({})).near == ()
    (almost,) = compare_nights(night(case("a", tolerance_share=0.999)), earlier({})).near
    assert almost.text == "almost 100 % of its tolerance is used"


def test_a_case_whose_verdict_moves_without_its_code_is_flaky() -> None:
    trend = (past("pass", 21), past("differ", 20), past("pass", 19), past("pass", 18))
    tonight = night(case("a", "differ", revision="1.4"))
    (flaky,) = compare_nights(tonight, earlier({"a": trend})).flaky
    assert (flaky.text.partition(" (")[2], flaky.is_new) == ("revision 1.4): pass pass differ pass differ", True)
    assert compare_nights(tonight, earlier({"a": trend})).new == ()
    assert compare_nights(tonight, earlier({"a": trend[:1]})).flaky == ()
    known = compare_nights(night(case("a", revision="1.4")), earlier({"a": (past("differ", 22), *trend)}))
    assert (known.fixed, sorted(known.quarantined), known.is_news) == ((), ["a"], False)
    assert compare_nights(night(case("a", "differ", revision="1.5")), earlier({"a": trend})).flaky == ()


def test_a_third_failure_in_a_row_ends_the_quarantine() -> None:
    trend = (past("pass", 20), past("differ", 19), past("pass", 18), past("differ", 17))
    tonight = night(case("a", "differ", revision="1.4"))
    second = compare_nights(tonight, earlier({"a": (past("differ", 21), *trend)}))
    assert (sorted(second.quarantined), names(second.still)) == (["a"], [])
    third = compare_nights(tonight, earlier({"a": (past("differ", 22), past("differ", 21), *trend)}))
    assert (third.flaky, names(third.still)) == ((), ["a"])


def test_a_fault_among_the_last_nights_is_not_taken_for_flakiness() -> None:
    assert flaky_verdicts([past(verdict, 21) for verdict in ("fault", "pass", "fault", "pass")]) == ""
    assert flaky_verdicts([past(verdict, 21) for verdict in ("differ", "pass", "fault", "pass", "differ")]) == ""
    assert flaky_verdicts([past("timeout", 22), *(past(verdict, 21) for verdict in ("pass", "differ", "pass"))]) == ""
    assert flaky_verdicts([past(verdict, 21) for verdict in ("differ", "pass", "differ", "pass")]) != ""


def test_a_bug_and_its_fix_are_not_flaky() -> None:
    trend = (past("differ", 21), past("differ", 20), past("pass", 19, commit="a"))
    fixed = night(case("a", revision="1.4"), commit="b")
    assert compare_nights(fixed, earlier({"a": trend})).flaky == ()


@pytest.mark.parametrize("tonight", [case("a", "fault", revision="1.4"), case("a", "timeout", revision="1.4")])
def test_a_fault_and_another_failure_than_before_are_never_flaky(tonight: Verdict) -> None:
    trend = (past("pass", 21), past("differ", 20), past("pass", 19), past("differ", 18))
    changes = compare_nights(night(tonight), earlier({"a": trend}))
    assert (names(changes.new), changes.flaky) == (["a"], ())


def test_a_full_disk_and_a_dead_device_make_no_case_flaky() -> None:
    trend = (past("error", 21), past("pass", 20), past("error", 19), past("pass", 18))
    for tonight in (case("a", revision="1.4"), case("a", "error", revision="1.4")):
        assert compare_nights(night(tonight, commit=COMMIT), earlier({"a": trend})).flaky == ()
    apart = (past("differ", 21), past("error", 20), past("pass", 19), past("differ", 18))
    (flaky,) = compare_nights(night(case("a", revision="1.4"), commit=COMMIT), earlier({"a": apart})).flaky
    assert flaky.text.endswith("(revision 1.4): differ pass differ pass")


def test_what_was_left_out_is_named() -> None:
    left = LeftOut(("a",), ("b",), (LackingDevice("cuda", 3, "no driver", is_new=True),))
    changes = compare_nights(night(case("c")), earlier({}), left)
    assert (changes.no_turn, changes.held_back, changes.lacking) == (("a",), ("b",), left.lacking)
    assert changes.is_news


SLOWER = TimingComparison("slower", "instructions", "k: 1 → 9 instructions, 9 times as many", ratio=9.0)


def test_a_case_that_passes_and_is_slower_is_told_since_when() -> None:
    first = Since("20261120T020000Z-0001", "2026-11-20T02:00:00Z", COMMIT)
    tonight = night(case("a", timing=SLOWER), case("b", timing=SLOWER), case("c"), case("d", "differ", timing=SLOWER))
    known = EarlierNights("n", slower_since=lambda verdict: first if verdict.case == "a" else None)
    changes = compare_nights(tonight, known)
    told = [(remark.case, remark.is_new, remark.since) for remark in changes.slower]
    assert told == [("a", False, first), ("b", True, None), ("d", True, None)]
    assert not compare_nights(night(case("a", timing=SLOWER)), known).is_news, "it was reported on its first night"
    assert compare_nights(night(case("b", timing=SLOWER)), known).is_news
