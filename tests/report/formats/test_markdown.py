from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from gpuregress.foundation.records import Problem, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.report.entries import entries
from gpuregress.report.formats import markdown
from tests.report.formats.hostile import TEXT, runs
from tests.report.samples import summary, verdict

ROOT = Path("/p")
PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


def cells(text: str) -> list[list[str]]:
    """The rows of the rendered table, without its head."""
    rows = re.findall(r"<tr>(.*?)</tr>", PARSER.render(text), re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows[1:]]


def test_the_failures_are_a_table() -> None:
    text = markdown.render(summary(), ROOT)
    assert text.startswith("## ❌ gpuregress\n\n7 cases in 1.50 s on cpu: 1 pass")
    assert [row[0] for row in cells(text)] == ["differ", "new", "fault", "timeout", "error"]
    assert "the tail from element 5 on" in text


def test_a_green_run_is_one_line() -> None:
    green = replace(summary(), verdicts=(verdict("pass"),), notes=(), exit_code=0)
    text = "## ✅ gpuregress\n\n1 cases in 1.50 s on cpu: 1 pass (run 20261120T020000Z\\-3f2a)\n"
    assert markdown.render(green, ROOT).replace("\\(", "(").replace("\\)", ")") == text.replace("1 cases", "1 case")


def test_a_long_table_is_cut_and_says_so() -> None:
    many = tuple(verdict("differ", case=f"reduce/{number}", exit_code=1) for number in range(150))
    text = markdown.render(replace(summary(), verdicts=many), ROOT)
    assert len(cells(text)) == markdown.MOST_ROWS
    assert "… and 50 more (50 of reduce)" in text
    full = replace(summary(), verdicts=many, notes=tuple(f"note {number}" for number in range(30)))
    short = markdown.short(full, ROOT)
    assert len(short.splitlines()) == 40
    assert "… and 126 more (126 of reduce)" in short


def test_a_run_without_cases_says_why() -> None:
    lines = ("a.yaml:3: no kernel", "b.yaml:4: no buffer", "b.yaml:4: did you mean x")
    unchanged = replace(summary(), verdicts=(), notes=("no job is made of a changed file",), exit_code=0)
    for render in (markdown.short, markdown.render):
        assert render(unchanged, ROOT).endswith("\n- no job is made of a changed file\n")
    failed = replace(unchanged, notes=lines, exit_code=2)
    assert markdown.short(failed, ROOT).endswith("\n\n- b.yaml:4: no buffer\n- b.yaml:4: did you mean x\n")
    problems = tuple(Problem(line) for line in lines[:2])
    short = markdown.short(replace(failed, problems=problems), ROOT)
    assert [row[2] for row in cells(short)] == list(lines[:2])
    assert short.endswith("\n\n- b.yaml:4: did you mean x\n")


@settings(max_examples=40)
@given(runs())
def test_every_failure_has_a_row_whatever_the_texts_hold(run: RunSummary) -> None:
    found = [one for one in entries(run, ROOT) if one.level not in ("passed", "skipped")]
    assert [len(row) for row in cells(markdown.render(run, ROOT))] == [4] * len(found)


@given(TEXT)
def test_text_holds_no_markup(raw: str) -> None:
    rendered = PARSER.render(f"x {markdown.text(raw)} {markdown.code(raw)} x")
    assert re.sub(r"</?(p|code)>", "", rendered).count("<") == 0


@pytest.mark.parametrize("raw", ["*bold*", "<b>", "[a](b)", "`x`", "a|b", "![x](y)"])
def test_markup_is_shown_as_it_is(raw: str) -> None:
    rendered = PARSER.renderInline(markdown.text(raw))
    assert rendered == raw.replace("<", "&lt;").replace(">", "&gt;")
