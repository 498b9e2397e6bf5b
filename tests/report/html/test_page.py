"""The page of a run as a reader and a browser get it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import Missing, NightChanges, NightFailure, RunSummary, Verdict
from gpuregress.gpu.records import replace
from gpuregress.judge import parameter_spaces
from gpuregress.report import html, json_report
from tests.report.html import samples
from tests.report.html.parsed import Tag, tree
from tests.report.samples import summary, verdict

MOST_BYTES = 3_000_000


def hostile() -> RunSummary:
    text = samples.HOSTILE
    one = verdict("fault", job=text, case=text, reason=text, notes=(text,), changes=(text,), revision=text)
    run = replace(samples.drawn(text), job=text, case=text)
    return replace(
        summary(),
        verdicts=(one, replace(run, case=f"{text} "), verdict("new", job=text, case=f"{text}2")),
        notes=(text,),
        device=text,
        host=text,
        commit=text,
        branch=text,
        compiler=text,
        cut=text,
        missing=(Missing(text, (text,)),),
    )


def test_texts_from_outside_are_never_tags() -> None:
    page = html.render(hostile())
    root = tree(page)
    assert len(root.all("script")) == 1
    assert not root.all("img")
    assert not set(page) & set("\x1b\u202e")
    assert samples.HOSTILE[:25] in root.text


@settings(max_examples=30)
@given(st.text(), st.text())
def test_any_text_can_be_a_name_and_a_reason(name: str, reason: str) -> None:
    case = verdict("fault", case=f"<script>{name}", reason=f"<b>{reason}")
    root = tree(html.render(replace(summary(), verdicts=(case,))))
    assert len(root.all("script")) == 1
    assert len(root.first("table", id="cases").all("tr")) == 2


def test_nothing_comes_from_elsewhere_and_the_policy_allows_only_its_own_style_and_script() -> None:
    page = html.render(samples.many(5, 40))
    root = tree(page)
    assert not re.search(r"(?i)https?:|(?<!file:/)//[a-z]|@import|url\((?!#)", page)
    references = [str(one) for name in ("src", "href") for one in re.findall(rf'\b{name}="?([^\s">]*)', page)]
    assert references
    assert all(one.startswith(("#", "data:image/png;base64,", "file:///p/")) for one in references)
    policy = root.first("meta", http_equiv="Content-Security-Policy").attributes["content"]
    for name in ("style", "script"):
        (tag,) = root.all(name)
        digest = base64.b64encode(hashlib.sha256(tag.text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"\son[a-z]+=|\bstyle=", page.partition("<body>")[2].partition("<script>")[0])


def test_what_is_wrong_comes_before_the_table_of_every_case() -> None:
    page = html.render(summary())
    assert "<h1>4 of 7 cases failed, 1 skipped</h1>" in page
    wrong, every = page.index("What is wrong"), page.index("Every case")
    assert wrong < page.index("the tail from element 5 on") < every
    assert all(f"reduce/{status}" in page for status in ("pass", "differ", "new", "fault", "timeout"))
    assert "hello &lt;&amp;&gt;" in page


def test_each_reference_of_the_page_has_its_target_once() -> None:
    root = tree(html.render(samples.many(5, 40)))
    ids = [one for one in identifiers(root) if one]
    assert len(ids) == len(set(ids))
    for link in root.all("a"):
        target = link.attributes["href"]
        assert target.removeprefix("#") in ids or target.startswith("file:///p/")  # a dump
    for label in (
        one.attributes["aria-labelledby"]
        for name in ("section", "nav")
        for one in root.all(name)
        if "aria-labelledby" in one.attributes
    ):
        assert label in ids


def identifiers(tag: Tag) -> list[str]:
    below = [one for child in tag.children if isinstance(child, Tag) for one in identifiers(child)]
    return [tag.attributes.get("id", ""), *below]


def test_the_page_has_landmarks_and_headings_in_order() -> None:
    root = tree(html.render(samples.many(5, 40)))
    assert root.first("html").attributes["lang"] == "en"
    assert [len(root.all(name)) for name in ("header", "main", "nav", "footer", "h1")] == [1, 1, 1, 1, 1]
    levels = [int(level) for level in re.findall(r"<h([1-4])[ >]", html.render(samples.many(5, 40)))]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_the_first_line_of_a_night_tells_what_changed() -> None:
    failure = NightFailure("reduce/differ", "differ", "sum: 3 of 8 differ", "tail")
    run = replace(summary(), changes=NightChanges(new=(failure,), fixed=(NightFailure("x", "fault"),)))
    root = tree(html.render(run))
    assert root.first("h1").text == "1 new failure: reduce; 1 fixed"
    assert "4 of 7 cases failed" in root.first("header").text
    (link,) = root.first("section", aria_labelledby="changed").all("a")
    assert "reduce/differ" in root.first("div", id=link.attributes["href"][1:]).text


def test_failures_of_one_cause_are_one_group_with_few_cards() -> None:
    root = tree(html.render(samples.many(4, 36, jobs=1)))
    groups = [one for one in root.all("section") if one.attributes.get("class") == "group"]
    assert [" ".join(one.first("h3").text.split()) for one in groups] == [
        "kernel_0 differ: result (tail) 12 cases",
        "kernel_0 differ: result (factor) 12 cases",
        "kernel_0 differ: result (zeros) 12 cases",
    ]
    for number, group in enumerate(groups, 1):
        cards = [one for one in group.all("details") if "card" in one.attributes.get("class", "")]
        assert ["open" in card.attributes for card in cards] == [True, False, False]
        (more,) = [one for one in group.all("a") if "data-rows" in one.attributes]
        assert (more.text, more.attributes["href"]) == ("9 more like it, in the table", f"#rows-{number}")
        assert len(root.first("tbody", id=f"rows-{number}").all("tr")) == 12


def test_what_the_parameters_of_failures_share_is_said() -> None:
    cases = [
        verdict(
            "fault" if tile == 8 else "pass",
            case=f"conv/tile={tile},block={block}",
            reason="<trap>",
            parameters={"tile": tile, "block": block},
        )
        for tile in (2, 4, 8)
        for block in range(4)
    ]
    run = replace(summary(), verdicts=tuple(cases), spaces=parameter_spaces.summarize(cases))
    page = html.render(run)
    assert page.count("every failing case has tile = 8") == 1
    assert page.count(">1 fault</td>") == 4
    assert page.count(">1 pass</td>") == 8
    assert "open" in tree(page).first("section", aria_labelledby="parameters").first("details").attributes


def test_where_all_is_well_the_grid_is_folded() -> None:
    cases = [verdict("pass", case=f"c/{n}{m}", parameters={"n": n, "m": m}) for n in (1, 2) for m in (1, 2)]
    page = html.render(replace(summary(), verdicts=tuple(cases), spaces=parameter_spaces.summarize(cases)))
    assert "open" not in tree(page).first("section", aria_labelledby="parameters").first("details").attributes


@pytest.mark.slow
def test_ten_thousand_cases_of_which_nine_thousand_fail_are_small() -> None:
    run = samples.many(1000, 9000, jobs=40)
    page = html.render(run)
    assert len(page.encode()) < MOST_BYTES
    assert page.count("<tr class=") == 10_000
    for number in (0, 4999, 9999):
        case = run.verdicts[number].case
        assert f"<th scope=row>{case}<" in page or f">{case}</a><" in page


def test_long_names_and_reasons_leave_less_room_for_cards() -> None:
    run = samples.many(0, 9000, jobs=40)
    long = [replace(one, case=one.case + "x" * 60, reason=one.reason * 20) for one in run.verdicts]
    assert len(html.render(replace(run, verdicts=tuple(long))).encode()) < MOST_BYTES


def test_as_many_causes_as_failures_are_bounded_and_said() -> None:
    cases = [verdict("error", job=f"j{n}", case=f"j{n}", reason=f"line {n}") for n in range(500)]
    root = tree(html.render(replace(summary(), verdicts=tuple(cases))))
    assert len([one for one in root.all("section") if one.attributes.get("class") == "group"]) == 200
    assert "300 failures of 300 more causes, in the table" in root.text


def test_the_page_of_stored_results_is_that_of_the_run() -> None:
    run = samples.many(3, 5)
    assert html.page(json.loads(json_report.render(run))) == html.render(run)


def test_a_run_that_has_not_finished_says_so() -> None:
    page = html.render(replace(summary(), state="interrupted", exit_code=130))
    assert "<h1>Interrupted, 4 of 7 cases failed, 1 skipped</h1>" in page


def test_all_is_well_only_where_nothing_was_skipped_but_by_a_rule() -> None:
    passing = verdict("pass")
    infeasible = replace(verdict("skip", case="reduce/tile=4096"), infeasible=True)
    absent = verdict("skip", case="reduce/cuda", reason="no cuda on this host")

    def first_line(*verdicts: Verdict) -> str:
        run = replace(summary(), verdicts=verdicts, exit_code=0, missing=())
        return tree(html.render(run)).first("h1").text

    assert first_line(passing) == "All is well: 1 case"
    assert first_line(passing, infeasible) == "All is well: 1 case, and 1 that a rule leaves out"
    assert first_line(passing, infeasible, absent) == "1 of 3 cases passed, 1 skipped"


def test_a_command_can_be_copied_and_a_dump_opened() -> None:
    root = tree(html.render(summary()))
    buttons = [button for button in root.all("button") if "data-copy" in button.attributes]
    assert len(buttons) == 4
    assert all("hidden" in button.attributes for button in buttons)  # without scripts
    drawn = tree(html.render(replace(summary(), verdicts=(samples.drawn(),))))
    files = [anchor.attributes["href"] for anchor in drawn.all("a") if anchor.text.startswith("/p/out")]
    assert files == ["file:///p/out.2", "file:///p/out.1"]
