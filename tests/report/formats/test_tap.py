from __future__ import annotations

import re
from pathlib import Path

import yaml
from hypothesis import given, settings

from gpuregress.foundation.records import KnownFailing, RunSummary, SourceLocation
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries
from gpuregress.report.formats import tap
from tests.report.formats.hostile import runs
from tests.report.samples import summary, verdict

ROOT = Path("/p")
POINT = re.compile(r"(?P<word>ok|not ok) (?P<number>\d+) - (?P<name>(?:[^\\#]|\\.)*?)(?: # (?P<directive>.*))?")


def parsed(text: str) -> list[tuple[bool, str, str, dict[str, object]]]:
    """The test points of a TAP 14 text: ok, name, directive, YAML block; anything else is an error."""
    version, plan, *lines = text.removesuffix("\n").split("\n")
    assert version == "TAP version 14"
    points: list[tuple[bool, str, str, dict[str, object]]] = []
    while lines:
        match = POINT.fullmatch(lines.pop(0))
        assert match is not None
        assert int(match["number"]) == len(points) + 1
        block: dict[str, object] = {}
        if lines[:1] == ["  ---"]:
            end = lines.index("  ...")
            block = yaml.safe_load("\n".join(lines[1:end]))
            lines = lines[end + 1 :]
        name = re.sub(r"\\([\\#])", r"\1", match["name"])
        points.append((match["word"] == "ok", name, match["directive"] or "", block))
    assert plan == f"1..{len(points)}"
    return points


def test_each_case_is_a_test_point() -> None:
    points = parsed(tap.render(summary(), ROOT))
    assert [(is_ok, name) for is_ok, name, _, _ in points] == [
        (True, "reduce/pass"),
        (False, "reduce/differ"),
        (False, "reduce/new"),
        (False, "reduce/fault"),
        (False, "reduce/timeout"),
        (False, "broken/<&>"),
        (True, "other"),
    ]
    assert points[-1][2] == "SKIP its job runs on cuda only"
    assert points[1][3]["message"] == "sum: 3 of 8 differ"


def test_a_location_and_a_known_failure() -> None:
    known = verdict(
        "skip",
        known=KnownFailing("2026-12-24", "why", "differ"),
        reason="until # December",
        location=SourceLocation("/p/k.cu", 3),
    )
    ((is_ok, _, directive, block),) = parsed(tap.render(replace(summary(), verdicts=(known,), exit_code=0), ROOT))
    assert (is_ok, directive, block["at"]) == (False, "TODO until \\# December", {"file": "k.cu", "line": 3})


@settings(max_examples=40)
@given(runs())
def test_tap_is_tap_whatever_the_texts_hold(run: RunSummary) -> None:
    points = parsed(tap.render(run, ROOT))
    expected = entries(run, ROOT)
    assert [is_ok for is_ok, *_ in points] == [one.level in ("passed", "skipped") for one in expected]
    assert [block.get("message", one.message) for (*_, block), one in zip(points, expected, strict=True)] == [
        one.message for one in expected
    ]
