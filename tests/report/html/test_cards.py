"""The card of a case: how to reproduce it, where it ran, its trend, its buffers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import PastResult
from gpuregress.gpu.records import replace
from gpuregress.report.html import cards
from tests.report import samples as plain
from tests.report.html import samples
from tests.report.html.parsed import Tag, tree
from tests.report.html.test_trend import past
from tests.report.samples import summary, verdict

RUN = {
    "run": "4",
    "device": "cpu",
    "commit": "8eb0c1f2b3c4d5e6",
    "branch": "main",
    "host": "alpha",
    "compiler": "nvrtc 13.5",
}


def facts(found: Sequence[PastResult] = ()) -> cards.RunFacts:
    return cards.RunFacts(RUN, lambda _case, _device: found)


def card(entry: dict[str, Any], found: Sequence[PastResult] = ()) -> Tag:
    return tree(cards.card(entry, "c1", facts(found), is_open=True))


def test_the_facts_of_case_and_run() -> None:
    root = card(samples.entry(verdict("differ", revision="1.5", baseline_revision="1.4")))
    pairs = [one.text for one in root.first("dl").all("div")]
    assert pairs == [
        "revision1.5",
        "baseline1.4",
        "commit8eb0c1f2b3c4 (main)",
        "hostalpha",
        "devicecpu",
        "compilernvrtc 13.5",
        "time0.250 s",
    ]


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), min_size=1))
def test_the_command_runs_this_case_and_no_other(case: str) -> None:
    entry = samples.entry(verdict("differ", case=case))
    assert shlex.split(cards.command(entry, facts())) == ["gpuregress", "run", case, "--device", "cpu"]


def test_a_case_that_ran_elsewhere_names_its_device_and_host() -> None:
    entry = {**samples.entry(verdict("differ")), "device": "cuda:1", "host": "beta"}
    assert cards.command(entry, facts()).endswith("--device cuda:1")
    assert "hostbeta" in card(entry).first("dl").text


def test_the_trend_is_that_of_the_history() -> None:
    root = card(samples.entry(verdict("differ")), past("pass", "pass", "differ", "differ"))
    assert "last 4 runs: 2 pass, then 2 differ (since 2026-11-03)" in root.text
    assert any(one.attributes.get("class") == "times" for one in root.all("details"))
    assert "last" not in card(samples.entry(verdict("differ"))).text


def test_the_id_is_inside_the_folded_part_so_that_a_browser_unfolds_it_without_scripts() -> None:
    root = card(samples.entry(verdict("differ")))
    (details,) = root.all("details")
    assert details.all("div", id="c1")
    assert not details.first("summary").all("div", id="c1")


def test_times_tolerance_and_retries() -> None:
    timing = {"status": "slower", "message": "1.4 times as long"}
    others = {"timing_comparison": timing, "tolerance_share": 0.93, "retried": ["the device was lost"]}
    text = card({**samples.entry(verdict("differ")), **others}).text
    assert "Time: slower: 1.4 times as long" in text
    assert "tolerance93 % used" in text
    assert "Run again: the device was lost" in text


def test_a_fault_has_its_details_and_the_output() -> None:
    fault = next(one for one in summary().verdicts if one.status == "fault")
    text = card(samples.entry(fault)).text
    assert "a\\x00b\nstack" in text
    assert "hello <&>" in text


def test_the_lines_of_a_compiler_stay_as_they_are() -> None:
    root = card(samples.entry(verdict("error", notes=("k.cu(3): error", "    x = ;", "        ^"))))
    assert "    x = ;\n        ^" in [one.text for one in root.all("pre")][-1]


def test_a_case_of_a_night_on_several_devices_runs_and_is_looked_up_by_its_own_name() -> None:
    asked: list[tuple[str, str]] = []

    def trends(case: str, device: str) -> Sequence[PastResult]:
        asked.append((case, device))
        return ()

    of_night = cards.RunFacts({**RUN, "device": "cpu, cuda:0"}, trends)
    entry = {**samples.entry(verdict("differ", case="line/n=1 [cuda]")), "device": "cuda:0"}
    tree(cards.card(entry, "c1", of_night, is_open=True))
    assert cards.command(entry, of_night) == "gpuregress run line/n=1 --device cuda:0"
    assert cards.command({**entry, "device": ""}, of_night) == "gpuregress run line/n=1 --device cuda"
    of_night.past({**entry, "device": ""})
    assert asked == [("line/n=1", "cuda:0"), ("line/n=1", "cuda")]


def test_a_commit_is_not_blamed_for_changes_of_the_work_tree() -> None:
    of_run = cards.RunFacts({**RUN, "dirty": True}, lambda _case, _device: ())
    assert of_run.commit({}) == "8eb0c1f2b3c4 (main), with changes"


def shown_buffer(verdict: object = None, **changes: object) -> Tag:
    entry = samples.entry(samples.drawn(**changes) if verdict is None else verdict)["buffers"][0]  # type: ignore[arg-type]
    return tree(cards.buffer(entry, "reduce/differ"))


def test_elements_have_the_indices_of_the_buffer() -> None:
    root = shown_buffer()
    assert root.first("th", scope="row").text == "[1,0] worst"
    assert "the worst at [1,0], block 0, thread 2" in root.text
    heads = [one.text for one in root.first("table").all("th", scope="col")]
    assert heads == ["element", "baseline", "now", "absolute", "relative", "ulp"]


def test_the_same_comparison_is_told_once() -> None:
    root = shown_buffer()
    assert "out (reference): the same as against the baseline" in root.text
    assert len(root.all("figure")) == 1


def test_an_equal_picture_is_drawn_once() -> None:
    verdict = samples.drawn()
    (buffer,) = verdict.buffers
    first, second = buffer.comparisons
    other = replace(buffer, comparisons=(first, replace(second, differing=2)))
    root = shown_buffer(replace(verdict, buffers=(other,)))
    assert len(root.all("figure")) == 1
    assert "the picture is the same as against the baseline" in root.text


def test_the_histogram_and_the_description_of_the_picture() -> None:
    root = shown_buffer()
    assert "3-4" in root.first("details", class_="ulp").text
    assert "it looks like: the tail from element 5 on" in root.first("desc").text


def test_without_a_picture_an_index_is_flat() -> None:
    root = shown_buffer(plain.summary().verdicts[1])
    assert [one.text for one in root.all("th", scope="row")] == ["[5] worst"]
    assert not root.all("figure")


def test_each_range_has_a_bar_as_long_as_its_count() -> None:
    root = tree(cards.histogram([("1", 10), ("3-4", 5), ("2097153-4194304", 1)], 100))
    rows = [[cell.text for cell in row.children if not isinstance(cell, str)] for row in root.all("tr")][1:]
    assert rows == [["1", "10", "", "10 %"], ["3-4", "5", "", "5 %"], ["2^21-2^22", "1", "", "1 %"]]
    assert [bar.attributes["width"] for bar in root.all("rect")] == ["120.0", "60.0", "12.0"]
    assert [head.attributes["scope"] for head in root.all("th")] == ["col"] * 4 + ["row"] * 3


def test_nothing_without_errors_in_ulp() -> None:
    assert not cards.histogram((), 10)
