from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.judging import parameter_spaces
from gpuregress.report import html
from tests.report.samples import summary, verdict


@given(st.text(), st.text())
def test_html_escapes_whatever_the_texts_hold(name: str, reason: str) -> None:
    run = dataclasses.replace(summary(), verdicts=(verdict("fault", case=f"<script>{name}", reason=f"<b>{reason}"),))
    tags: set[str] = set()

    class Collector(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.add(tag)

    Collector().feed(html.render(run))
    assert not tags & {"script", "b"}


def test_html_holds_every_case_and_nothing_from_elsewhere() -> None:
    page = html.render(summary())
    assert all(f"reduce/{status}" in page for status in ("pass", "differ", "new", "fault", "timeout"))
    assert "the tail from element 5 on" in page
    assert not re.search(r"(src|href)=|https?://", page)


def test_html_shows_what_is_wrong_first_with_its_elements() -> None:
    page = html.render(summary())
    assert "<h1>4 of 7 cases failed</h1>" in page
    wrong, every = page.index("What is wrong"), page.index("Every case")
    assert wrong < page.index("the tail from element 5 on") < every
    assert re.search(r"<td>worst</td><td>\[5\]</td><td>1.25</td><td>1.5</td>", page)
    assert "hello &lt;&amp;&gt;" in page


def test_of_many_failures_one_is_open_and_a_grid_shows_them_all() -> None:
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
    run = dataclasses.replace(summary(), verdicts=tuple(cases), spaces=parameter_spaces.summarize(cases))
    page = html.render(run)
    assert "<b>reduce</b>, 4 cases, fault: <b>every failing case has tile = 8</b>" in page
    first, folded = page.index('id="conv/tile=8,block=0"'), page.index("<summary>3 more like it")
    assert first < folded < page.index('id="conv/tile=8,block=1"')
    assert "<h2>Parameters</h2>\n<details open>" in page
    assert page.count(">1 fault</td>") == 4
    assert page.count(">1 pass</td>") == 8


def test_where_all_is_well_the_grid_is_folded() -> None:
    cases = [verdict("pass", case=f"c/{n}{m}", parameters={"n": n, "m": m}) for n in (1, 2) for m in (1, 2)]
    page = html.render(dataclasses.replace(summary(), verdicts=tuple(cases), spaces=parameter_spaces.summarize(cases)))
    assert "<h2>Parameters</h2>\n<details><summary>" in page
