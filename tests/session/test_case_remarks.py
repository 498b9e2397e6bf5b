from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gpuregress.foundation.records import (
    BufferVerdict,
    CaseSettings,
    Comparison,
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
    Status,
    Timing,
    TimingComparison,
    UnwrittenElements,
)
from gpuregress.session import case_remarks
from gpuregress.session.case_remarks import ToleranceRemarks
from gpuregress.store.history import History
from tests import fakes
from tests.store.history.past import night, verdict


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
    lines = case_remarks.of_measurements(fakes.case("double", settings=CaseSettings(sanitize="memcheck")), outcome)
    assert lines[0] == "y: 17 of 100 elements were never written: [1], [4] to [7], [9], [11] and 1 more stretch"
    assert lines[1].startswith("y: 2 of 100 elements changed with what was there before, the first at [3]")
    assert lines[2] == "z: every element was written"
    assert lines[3] == "2 ms: the median of 3 samples, 1 to 3 ms, events on the GPU, SM clock 1980 MHz"
    assert lines[4] == "memcheck: not run, because the case did not run to its end"


def test_exchanges_between_lanes_are_told() -> None:
    outcome = Outcome(
        "c",
        "done",
        observations=Observations(instruments=InstrumentReports(exchanges=("k: lanes of a warp exchange values",))),
    )
    assert case_remarks.of_measurements(fakes.case("double"), outcome) == ("k: lanes of a warp exchange values",)


def test_what_the_dynamic_checks_do_not_watch_is_told() -> None:
    outcome = Outcome(
        "c",
        "done",
        observations=Observations(instruments=InstrumentReports(unwatched=("k: kernels in clusters are not watched",))),
    )
    assert case_remarks.of_measurements(fakes.case("double"), outcome) == ("k: kernels in clusters are not watched",)


def test_limits_that_nobody_can_judge_are_said() -> None:
    case = fakes.case("double", settings=CaseSettings(resources=ResourceLimits(registers=8)))
    uncounted = Outcome("c", "done", resources={"double": {"registers": 0}})
    assert case_remarks.of_measurements(case, uncounted) == (
        "resources: not judged, because this device counts no registers",
    )
    assert case_remarks.of_measurements(case, Outcome("c", "done", resources={"double": {"registers": 8}})) == ()


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
        list(case_remarks.of_measurements(fakes.case("double", settings=CaseSettings(sanitize="racecheck")), outcome))
        == lines
    )


def test_a_comparison_of_times_is_told_where_it_does_not_fail() -> None:
    case, outcome = fakes.case("double"), Outcome("c", "done")
    slower = TimingComparison("slower", "instructions", "k: 1 → 9 instructions", ratio=9.0)
    assert case_remarks.of_measurements(case, outcome, slower) == ("slower: k: 1 → 9 instructions",)
    little = TimingComparison("slower", "instructions", "k: 8 → 9 instructions", ratio=1.125)
    assert case_remarks.of_measurements(case, outcome, little) == (), "nobody asked for its time"
    timed = Outcome("c", "done", observations=Observations(timing=Timing("wall time", 0, (1.0,), 1.0, {}, 2)))
    same = TimingComparison("same", "time", "as fast as accepted")
    assert case_remarks.of_measurements(case, timed, same) == (
        "1 ms: the median of 1 samples, 1 to 1 ms, wall time; as fast as accepted",
    )
    fails = TimingComparison("slower", "time", "2 times slower than accepted", fails=True)
    assert case_remarks.of_measurements(case, outcome, fails) == (), "it is the case's reason"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


@pytest.fixture
def remarks(path: Path) -> Iterator[ToleranceRemarks]:
    with closing(ToleranceRemarks(path)) as remarks:
        yield remarks


def add(path: Path, *shares: float | None, revision: str = "3f2a", device: str = "cpu", first: int = 1) -> None:
    with History(path) as history:
        for number, share in enumerate(shares, first):
            case = verdict("a", "pass", device, tolerance_share=share, revision=revision)
            history.add(night(number, {}, verdicts=(case,)))


@pytest.mark.parametrize(
    ("share", "status", "expected"),
    [
        (0.93, "pass", ("93 % of its tolerance used",)),
        (1.0, "pass", ("100 % of its tolerance used",)),
        (0.8, "pass", ()),
        (0.93, "new", ("93 % of its tolerance used",)),
        (1.5, "differ", ()),
        (None, "pass", ()),
    ],
)
def test_a_case_near_its_limit(
    remarks: ToleranceRemarks, share: float | None, status: Status, expected: tuple[str, ...]
) -> None:
    assert remarks.remarks(verdict("a", status, tolerance_share=share)) == expected


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        (0.30, 0.62, "62 % of its tolerance used; 30 % in the previous run, R01"),
        (0.30, 0.59, ""),
        (0.04, 0.09, ""),  # noise
        (0.001, 0.10, "10 % of its tolerance used; under 1 % in the previous run, R01"),
        (0.0, 0.2, "20 % of its tolerance used; 0 % in the previous run, R01"),
        (None, 0.5, ""),
        (0.30, 0.95, "95 % of its tolerance used; 30 % in the previous run, R01"),
    ],
)
def test_a_use_that_doubled_since_the_previous_run(
    path: Path, remarks: ToleranceRemarks, before: float | None, now: float, text: str
) -> None:
    add(path, before)
    assert remarks.remarks(verdict("a", "pass", tolerance_share=now)) == ((text,) if text else ())


def test_a_slow_doubling_since_the_accepted_revision(path: Path, remarks: ToleranceRemarks) -> None:
    add(path, 0.2, revision="old")
    add(path, 0.3, 0.4, first=2)
    now = verdict("a", "pass", tolerance_share=0.45, baseline_revision="old")
    assert remarks.remarks(now) == ("45 % of its tolerance used; 20 % in the last run of the accepted revision, R01",)


def test_runs_on_other_devices_are_not_compared(path: Path, remarks: ToleranceRemarks) -> None:
    add(path, 0.1, device="cuda:0")
    assert remarks.remarks(verdict("a", "pass", tolerance_share=0.5)) == ()
    assert remarks.remarks(verdict("a", "pass", "cuda:1", tolerance_share=0.5)) != ()


def test_of_several_buffers_the_one_that_uses_most_is_named(remarks: ToleranceRemarks) -> None:
    buffers = tuple(
        BufferVerdict(
            name,
            "pass",
            comparisons=(Comparison(name, "baseline", "", same=True, identical=False, of=1, tolerance_share=share),),
        )
        for name, share in (("x", None), ("y", 0.9), ("z", 0.3))
    )
    now = verdict("a", "pass", tolerance_share=0.9, buffers=buffers)
    assert remarks.remarks(now) == ("90 % of its tolerance used by y",)


def test_a_damaged_history_hides_no_remark(path: Path, remarks: ToleranceRemarks) -> None:
    path.write_text("no database" * 1000)
    assert remarks.remarks(verdict("a", "pass", tolerance_share=0.9)) == ("90 % of its tolerance used",)
    assert path.read_text().startswith("no database")
