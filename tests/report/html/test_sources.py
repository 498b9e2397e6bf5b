"""The source lines of a failure, and the changes of the source since its baseline was accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.records import AcceptedBy, SourceLocation, SourceVersions
from gpuregress.gpu.records import replace
from gpuregress.report import html
from tests.report.html.parsed import Tag, tree
from tests.report.samples import summary, verdict

ACCEPTED = AcceptedBy("1.2", "aaaa", "2026-11-20T02:00:00Z", "Ada")
BEFORE = "int n;\nsum = a + b;\nreturn sum;\n"
NOW = BEFORE.replace("a + b", "a - b")


def shown(versions: SourceVersions, *, cases: int = 1, **changes: Any) -> Tag:
    """The page of some cases that differ, whose sources are given."""
    differ = replace(
        verdict("differ", job="k"),
        location=SourceLocation("/p/k.cu", 2, (SourceLocation("/p/main.cu", 1),)),
        source="bbbb",
        **{"accepted": ACCEPTED, **changes},
    )
    every = tuple(replace(differ, case=f"k/n={number}") for number in range(cases))

    def find(_entry: Mapping[str, Any]) -> SourceVersions:
        return versions

    return tree(html.render(replace(summary(), verdicts=every), versions=find))


def lines(root: Tag, kind: str) -> list[str]:
    return [span.text for span in root.all("span", class_=kind)]


def test_a_failure_has_its_source_line_and_the_call_that_it_is_inlined_into() -> None:
    root = shown(SourceVersions({"/p/k.cu": NOW, "/p/main.cu": "sum();\n"}))
    assert lines(root, "mark") == ["    2 > sum = a - b;", "    1 > sum();"]
    assert "called from main.cu:1" in root.text


def test_what_changed_since_the_baseline_is_shown_once_for_all_cases_of_a_source() -> None:
    root = shown(SourceVersions({"/p/k.cu": NOW}, {"/p/k.cu": BEFORE}, "8eb0c1f2b3"), cases=2)
    assert (lines(root, "removed"), lines(root, "added")) == (["-sum = a + b;"], ["+sum = a - b;"])
    assert "since revision 1.2, accepted 2026-11-20 by Ada, in commit 8eb0c1f" in root.text
    (link,) = [anchor for anchor in root.all("a") if anchor.text == "the same as of k/n=0"]
    assert link.attributes["href"] == "#c1"


def test_headers_that_came_and_went_are_named() -> None:
    root = shown(SourceVersions({"/p/k.cu": NOW, "/p/new.cuh": "x\n"}, {"/p/k.cu": NOW, "/p/old.cuh": "y\n"}))
    assert [text for text in lines(root, "hunk") if not text.startswith("@")] == [
        "new.cuh, which is new",
        "old.cuh, which is gone",
    ]


def test_an_unchanged_source_and_an_unknown_one_are_said() -> None:
    unchanged = shown(SourceVersions({"/p/k.cu": NOW}), accepted=replace(ACCEPTED, source="bbbb"))
    assert "The source is the accepted one: revision 1.2" in unchanged.text
    assert "whose text neither a run here nor git has: revision 1.2" in shown(SourceVersions({"/p/k.cu": NOW})).text
