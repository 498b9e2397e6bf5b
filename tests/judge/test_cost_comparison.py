"""Costs compared with the accepted ones: limits, lines that moved, and why nothing is compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuregress.foundation.records import (
    AcceptedTiming,
    Baseline,
    CaseSettings,
    Costs,
    DeviceInfo,
    InstructionCost,
    InstrumentReports,
    LineCost,
    MadeOf,
    Observations,
    Outcome,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import cost_comparison
from tests import fakes
from tests.judge.test_timing_comparison import CPU, H200

LIMITS = {"sectors": 1.05}


def _seen(path: Path, line: int, sectors: int, requests: int = 4) -> Costs:
    counts = {"sectors": sectors, "requests": requests, "instructions": requests, "bank_conflicts": sectors}
    return Costs((InstructionCost("k", str(path), line, 1, "ld.global.f32", "load.global", counts),))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.cu"
    path.write_text("first\n\nv = x[i];\n")
    return path


def _compare(
    seen: Costs | None,
    accepted: tuple[LineCost, ...] | None,
    limits: Mapping[str, float] = LIMITS,
    device: DeviceInfo = CPU,
) -> list[str]:
    case = replace(fakes.case(), settings=CaseSettings(cost=limits))
    outcome = Outcome(
        case.name, "done", device=device, observations=Observations(instruments=InstrumentReports(costs=seen))
    )
    before = None
    if accepted is not None:
        timings = {"cpu": AcceptedTiming("1.0", costs=accepted)}
        before = Baseline(case.name, "", "1.0", MadeOf("5eed"), {}, (), timings=timings)
    return [f"{one.fails} {one.message}" for one in cost_comparison.compare(case, outcome, before)]


def _line(line: int, sectors: int, text: str = "v = x[i];") -> LineCost:
    return LineCost("a.cu", line, text, {"sectors": sectors, "requests": 4, "instructions": 4})


def test_more_sectors_name_the_line(source: Path) -> None:
    (text,) = _compare(_seen(source, 3, 128), (_line(3, 16),))
    assert text == (
        "True a.cu:3: 4 → 32 sectors for each request; neighbouring threads no longer read neighbouring addresses "
        "(all sectors: 16 → 128, 8 times as many; `cost:` allows 1.05)"
    )


def test_a_line_that_moved_is_found_by_its_text(source: Path) -> None:
    accepted = (_line(2, 16), LineCost("a.cu", 3, "gone", {"sectors": 1}))
    (text,) = _compare(_seen(source, 3, 128), accepted)
    assert text.startswith("True a.cu:3: 4 → 32 sectors")


def test_a_new_line_is_told_with_its_requests(source: Path) -> None:
    (text,) = _compare(_seen(source, 3, 128), (_line(3, 16, "something(else, entirely)"), _line(9, 16, "too")))
    assert text.startswith("True a.cu:3: 0 → 128 sectors; the line is new, with 4 requests, each of 32 sectors (all ")


def test_a_cost_within_its_limit_does_not_fail(source: Path) -> None:
    assert _compare(_seen(source, 3, 16), (_line(3, 16),)) == ["False cost: 16 sectors as accepted"]
    assert _compare(_seen(source, 3, 16), (_line(3, 20),)) == ["False cost: sectors 20 → 16"]


def test_other_costs_have_words_of_their_own(source: Path) -> None:
    (text,) = _compare(_seen(source, 3, 31), (_line(3, 16),), {"bank_conflicts": 1})
    assert text.startswith("True a.cu:3: 0 → 31 bank conflicts; lanes of a warp want different words of one bank (")


def test_nothing_is_passed_over_in_silence(source: Path) -> None:
    seen = _seen(source, 3, 16)
    assert "no costs were accepted; `gpuregress accept" in _compare(seen, None)[0]
    assert "no costs were accepted" in _compare(seen, ())[0]
    assert "nothing was counted" in _compare(None, (_line(3, 16),))[0]
    assert "not all is counted: lost" in _compare(replace(seen, uncounted="lost"), (_line(3, 16),))[0]
    left_out = replace(seen, left_out=("sectors of bulk copies (a.cu:7)",))
    assert _compare(left_out, (_line(3, 16),))[1:] == ["False cost: compared without sectors of bulk copies (a.cu:7)"]
    assert "a GPU counts none" in _compare(seen, (_line(3, 16),), device=H200)[0]
    assert _compare(seen, None, {}) == []


def _grew(before: Mapping[str, int], now: Mapping[str, int], limits: Mapping[str, float], source: Path) -> list[str]:
    kind = "load.local" if now.get("sectors.local") else "load.global"
    seen = Costs((InstructionCost("k", str(source), 3, 1, "ld", kind, now),))
    return _compare(seen, (LineCost("a.cu", 3, "v = x[i];", before),), limits)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"sectors": 16}, {"sectors": 20, "bytes": 512}, "no longer begin at a multiple of 32 bytes"),
        ({"sectors": 16}, {"sectors": 40, "bytes": 512}, "no longer read neighbouring addresses"),
        ({"sectors": 16}, {"sectors": 40, "sectors.local": 30}, "4 → 10 sectors for each request; local memory: "),
        (
            {"sectors": 16},
            {"sectors": 32, "requests": 8},
            "16 → 32 sectors; 8 requests instead of 4, each of 4 ",
        ),
    ],
)
def test_the_reason_of_further_sectors(
    source: Path, before: Mapping[str, int], now: Mapping[str, int], told: str
) -> None:
    (text,) = _grew({"requests": 4, **before}, {"requests": 4, **now}, LIMITS, source)
    assert text.startswith("True a.cu:3: ")
    assert told in text


def test_another_schedule_counts_nothing() -> None:
    case = replace(fakes.case(), settings=CaseSettings(cost=LIMITS, schedules=("reverse",)))
    (found,) = cost_comparison.compare(case, Outcome(case.name, "done", device=CPU), None)
    assert (found.message, found.fails) == (
        "cost: not compared, because it is counted in the schedule forward only",
        False,
    )


def test_fewer_lanes_are_told_and_the_greatest_growth_comes_first(source: Path) -> None:
    before = {"instructions": 10, "thread_instructions": 320, "barriers": 1}
    now = {"instructions": 20, "thread_instructions": 320, "barriers": 3}
    first, second = _grew(before, now, {"instructions": 1.1, "barriers": 1}, source)
    assert "1 → 3 barriers; warps wait more often for their block" in first
    assert "10 → 20 instructions; 32 → 16 lanes take part in each" in second


def test_the_branch_that_parts_warps_is_named(source: Path) -> None:
    items = [
        InstructionCost("k", str(source), line, 1, "bra", "control", {"divergent_branches": count})
        for line, count in ((1, 40), (3, 80))
    ]
    before = (LineCost("a.cu", 1, "first", {}), LineCost("a.cu", 3, "v = x[i];", {"divergent_branches": 40}))
    (text,) = _compare(Costs(tuple(items)), before, {"divergent_branches": 1})
    assert text.startswith("True a.cu:1: 0 → 40 divergent branches")


def test_code_without_a_line_counts(source: Path) -> None:
    known = _seen(source, 3, 16).instructions
    rest = InstructionCost("k", "", 0, 9, "ld.global.f32", "load.global", {"sectors": 40, "requests": 4})
    (text,) = _compare(Costs((*known, rest)), (_line(3, 16),))
    assert text.startswith("True code without a source line: 0 → 40 sectors (all sectors: 16 → 56, ")
