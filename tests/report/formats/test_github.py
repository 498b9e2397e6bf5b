from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings

from gpuregress.foundation.records import RunSummary, SourceLocation
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries
from gpuregress.report.formats import github
from tests.report.formats.hostile import runs
from tests.report.samples import summary, verdict

ROOT = Path("/p")
COMMAND = re.compile(r"::(?P<word>error|notice) (?P<properties>(?:\w+=[^:,]*)(?:,\w+=[^:,]*)*)::(?P<data>.*)")


def decoded(text: str) -> str:
    for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands as the runner reads them, one a line."""
    found = []
    for line in text.removesuffix("\n").split("\n") if text else []:
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        pairs = (pair.split("=", 1) for pair in match["properties"].split(","))
        found.append((match["word"], {name: decoded(value) for name, value in pairs}, decoded(match["data"])))
    return found


def test_a_failure_is_an_annotation_at_its_line() -> None:
    fault = verdict("fault", reason="trap: a, b: 100%", location=SourceLocation("/p/k,1:2.cu", 7), exit_code=3)
    text = github.render(replace(summary(), verdicts=(fault,)), ROOT)
    assert text == "::error file=k%2C1%3A2.cu,line=7,title=fault reduce/fault::trap: a, b: 100%25\n"


def test_only_failures_are_annotated() -> None:
    found = commands(github.render(summary(), ROOT))
    assert [properties["title"] for _, properties, _ in found] == [
        "differ reduce/differ",
        "new reduce/new",
        "fault reduce/fault",
        "timeout reduce/timeout",
        "error broken/<&>",
    ]
    assert "looks like: the tail from element 5 on" in found[0][2]


def test_of_many_failures_each_job_has_one() -> None:
    many = [verdict("differ", job="a", case=f"a/{number}", exit_code=1) for number in range(30)]
    last = verdict("differ", job="z", case="z", exit_code=1)
    found = commands(github.render(replace(summary(), verdicts=(*many, last)), ROOT))
    assert len(found) == github.MOST_ANNOTATIONS
    assert found[1][1]["title"] == "differ z"
    assert found[-1][2].startswith("… and 22 more failures: 31 cases")


def test_a_long_summary_is_short(monkeypatch: object) -> None:
    huge = tuple(verdict("error", case=f"c{number}", reason="x" * 90_000, exit_code=4) for number in range(90))
    text = github.step_summary(replace(summary(), verdicts=huge), ROOT)
    assert len(text.encode()) < github.MOST_SUMMARY_BYTES
    assert "too long" in text


@settings(max_examples=40)
@given(runs())
def test_each_command_is_one_line_whatever_the_texts_hold(run: RunSummary) -> None:
    found = commands(github.render(run, ROOT))
    expected = entries(run, ROOT)
    assert len(found) == sum(one.level not in ("passed", "skipped") for one in expected)
    for (_, _, data), one in zip(found, [*filter(lambda one: one.is_failure, expected)], strict=False):
        assert data.startswith(one.message)
